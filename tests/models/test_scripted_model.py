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
from leadhand.flows.work_order.roles import Plan
from leadhand.ports import ModelError
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import (
    ScriptedModel,
    ScriptError,
    all_confirmed,
    calls,
    calls_all,
    fails,
    gives,
    judges,
    plans,
    reviews,
    says,
    subtask,
    worker_of,
)

WORK = asking({"task": "work", "subtask": {"name": "n"}}, tools=[spec(WEATHER)])
COMPOSE = asking({"task": "compose", "results": [{"summary": "a"}, {"summary": "b"}]})


async def test_takes_the_steps_in_order_and_records_the_requests() -> None:
    with ScriptedModel([plans(subtask("check", "weather_tool", location="Paris")), says("18 °C")]) as model:
        plan = Plan.model_validate((await model.ask(planning("weather in Paris"))).value)
        assert plan.subtasks[0].args == {"location": "Paris"}
        assert (await model.ask(COMPOSE)).message.text == "18 °C"
    assert [worker_of(request) for request in model.requests] == ["plan", "compose"]


async def test_takes_the_steps_of_each_worker_whatever_comes_first() -> None:
    with ScriptedModel(plan=[plans()], work=[calls("weather_tool", location="Paris")], compose=[says("done")]) as model:
        assert (await model.ask(COMPOSE)).message.text == "done"
        assert (await model.ask(WORK)).message.tool_calls[0].arguments == {"location": "Paris"}
        await model.ask(planning("x"))
    assert len(model.asked("work")) == 1


def test_a_worker_without_an_output_is_known_by_its_name() -> None:
    assert worker_of(asking({"task": "x", "draft": "y"}).evolve(worker="writer")) == "writer"


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


async def test_calls_have_ids_of_their_own_and_may_have_arguments_gone_wrong() -> None:
    model = ScriptedModel([calls_all(("a", {"x": 1}), ("b", '{"y":'))])
    good, bad = (await model.ask(WORK)).message.tool_calls
    assert good.id != bad.id
    assert (bad.arguments, bad.raw) == (None, '{"y":')


async def test_text_is_streamed_in_pieces_and_json_is_not() -> None:
    heard: list[str] = []
    model = ScriptedModel([says("one two  three"), gives({"goal": "g"})])
    await model.ask(COMPOSE, heard.append)
    await model.ask(planning("x"), heard.append)
    assert "".join(heard) == "one two  three"
    assert len(heard) == 4


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


async def test_a_step_later_than_the_deadline_is_a_time_out_at_the_deadline() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    model = ScriptedModel([says("late").after(9.0)], sleep=sleep)
    with pytest.raises(ModelError, match="2 s") as caught:
        await model.ask(asking({}, deadline_s=2.0))
    assert slept == [2.0]
    assert (caught.value.failure.class_, caught.value.failure.type) == ("transient", "timeout")


async def test_a_failure_may_come_in_the_middle_of_what_it_says() -> None:
    heard: list[str] = []
    model = ScriptedModel([fails("transient", "cut_stream", after_saying="half an")])
    with pytest.raises(ModelError):
        await model.ask(asking({}), heard.append)
    assert heard == ["half ", "an"]


def test_a_run_says_what_its_script_lacks(tmp_path: Path) -> None:
    lead = Leadhand(models=ScriptedModel(), tools=[], home=tmp_path)
    answer = lead.run_sync("Hello", worker=Worker("greeter", "Greet."))
    assert answer.failure is not None or answer.gaps
    said = str(answer)
    assert "the script has no reply to call 1, of greeter" in said
    assert "add a reply to the script" in said
    assert "report this" not in said
