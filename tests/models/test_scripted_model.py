"""A scripted model does what it is told, once, and tells when more or less was asked of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from asking import WEATHER, asking, planning, spec

from leadhand import Leadhand, Worker
from leadhand.core.errors import FailureClass
from leadhand.core.limits import Usage
from leadhand.core.work_result import Review
from leadhand.ports import ModelError
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import (
    ScriptedModel,
    ScriptError,
    all_confirmed,
    calls,
    fails,
    judges,
    plans,
    reviews,
    says,
    subtask,
)

WORK = asking({"task": "work", "subtask": {"name": "n"}}, tools=[spec(WEATHER)])
COMPOSE = asking({"task": "compose", "results": [{"summary": "a"}, {"summary": "b"}]})


async def test_takes_the_steps_of_each_worker_whatever_comes_first() -> None:
    with ScriptedModel(plan=[plans()], work=[calls("weather_tool", location="Paris")], compose=[says("done")]) as model:
        assert (await model.ask(COMPOSE)).message.text == "done"
        assert (await model.ask(WORK)).message.tool_calls[0].arguments == {"location": "Paris"}
        await model.ask(planning("x"))
    assert len(model.asked("work")) == 1


async def test_a_predicate_comes_before_the_workers() -> None:
    model = ScriptedModel(work=[says("usual")]).on(lambda request: request.key == "wo-001.1/t0", says("special"))
    with model:
        assert (await model.ask(WORK.evolve(key="wo-001.1/t0"))).message.text == "special"
        assert (await model.ask(WORK)).message.text == "usual"


async def test_one_function_may_answer_every_call_of_a_worker() -> None:
    async def slow(request: ModelRequest) -> str:
        await asyncio.sleep(0)
        return f"worked on {request.key}"

    with ScriptedModel(work=slow, compose=says("always")) as model:
        assert (await model.ask(WORK.evolve(key="k"))).message.text == "worked on k"
        assert (await model.ask(COMPOSE)).message.text == (await model.ask(COMPOSE)).message.text == "always"


async def test_a_call_nobody_expected_fails_even_if_its_error_is_swallowed() -> None:
    model = ScriptedModel([says("one")])
    await model.ask(COMPOSE)
    with pytest.raises(ScriptError, match=r"2.*work"):
        await model.ask(WORK)
    with pytest.raises(ScriptError, match="work"):
        model.assert_done()


async def test_a_step_nobody_asked_for_fails() -> None:
    with pytest.raises(ScriptError, match=r"2 .*review.* 1 "), ScriptedModel([says("x")], review=["", ""]):
        pass
    with pytest.raises(ScriptError):
        ScriptedModel().on(lambda _: False, always=says("x")).assert_done()


async def test_an_error_inside_the_context_is_not_hidden_by_what_was_left() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedModel([says("x")]):
        raise ZeroDivisionError


async def test_a_failure_is_raised_with_its_class() -> None:
    model = ScriptedModel([fails("rate_limited", retry_after_s=2.5), fails("transient", "timeout").costing(nanousd=7)])
    with pytest.raises(ModelError) as first:
        await model.ask(WORK)
    assert (first.value.failure.class_, first.value.failure.retry_after_s) == (FailureClass.RATE_LIMITED, 2.5)
    assert first.value.usage is None
    with pytest.raises(ModelError) as second:
        await model.ask(WORK)
    assert second.value.failure.type == "timeout"
    assert second.value.usage == Usage(requests=1, nanousd=7)


async def test_a_review_is_written_by_the_keys_of_its_subtasks() -> None:
    step = reviews(
        accept=["wo-001.0"],
        retry=["wo-001.1"],
        drop={"wo-001.2": "hopeless"},
        replan={"wo-001.3": subtask("other", "weather_tool")},
    )
    review = Review.model_validate((await ScriptedModel([step]).ask(asking({}, output="review"))).value)
    assert [verdict.verdict for verdict in review.verdicts] == ["accept", "retry", "replan", "drop"]
    assert not review.complete
    done = reviews(accept=["wo-001.0"], answer="18 °C")
    assert Review.model_validate((await ScriptedModel([done]).ask(asking({}, output="review"))).value).complete


async def test_a_judge_confirms_each_claim_unless_a_doubt_is_about_words_in_it() -> None:
    claims = [{"n": n, "text": text} for n, text in ((1, "Paris: 12 °C"), (2, "Lyon: 20 °C"))]
    request = asking({"request": "weather", "claims": claims, "evidence": {}, "calls": []}, output="judge")
    about = {"part": "12 °C", "why": "it is warmer", "evidence": "wo-001.0", "quote": "21 °C"}
    missing = {"part": "Nice", "request": "weather"}
    with ScriptedModel(judge=[all_confirmed, judges(about, verdict="derived", missing=[missing])]) as model:
        assert (await model.ask(request)).value["verdicts"] == {"1": "confirmed", "2": "confirmed"}
        reply = (await model.ask(request)).value
    assert reply["verdicts"] == {"1": "contradicted", "2": "derived"}
    assert (reply["doubts"], reply["missing"]) == ([{**about, "claim": 1}], [missing])
    assert (await ScriptedModel(lenient=True).ask(request)).value["verdicts"] == {"1": "confirmed", "2": "confirmed"}


async def test_a_delay_waits_on_the_clock_it_was_given() -> None:
    waits: list[float] = []
    release = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await release.wait()

    model = ScriptedModel(work=says("x").after(3.0), sleep=sleep)
    tasks = [asyncio.create_task(model.ask(WORK)) for _ in range(5)]
    for _ in range(5):
        await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*tasks)
    assert waits == [3.0] * 5
    assert model.most_at_once == 5


async def test_lenient_it_reviews_and_composes_what_is_not_scripted() -> None:
    brief = {
        "subtasks": [
            {"subtask": "wo-001.0", "status": "completed", "result": {"summary": "18 °C"}},
            {"subtask": "wo-001.1", "status": "failed", "result": None},
        ],
        "accepted": [{"summary": "earlier"}],
        "compose": True,
    }
    with ScriptedModel(lenient=True, work=says("x")) as model:
        review = Review.model_validate((await model.ask(asking(brief, output="review"))).value)
        assert [verdict.verdict for verdict in review.verdicts] == ["accept", "drop"]
        assert (review.complete, review.answer) == (True, "earlier\n18 °C")
        assert (await model.ask(COMPOSE)).message.text == "a\nb"
        with pytest.raises(ScriptError):
            await model.ask(planning("x"))
        model._unexpected.clear()


def test_a_run_says_what_its_script_lacks(tmp_path: Path) -> None:
    lead = Leadhand(models=ScriptedModel(), tools=[], home=tmp_path)
    answer = lead.run_sync("Hello", worker=Worker("greeter", "Greet."))
    assert answer.failure is not None or answer.gaps
    said = str(answer)
    assert "the script has no reply to call 1, of greeter" in said
    assert "add a reply to the script" in said
    assert "report this" not in said
