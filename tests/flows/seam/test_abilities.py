"""What a flow can do besides asking: begin early, read what is written, note, tell the time, call."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flows.seam.lives import Lives, a, b, begun_again, c, cut, finished, log_of, pass_over, steps_of
from leadhand import RunStatus, UsageError, Worker, tool
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, Retry, StepFailed, flow
from leadhand.testing.scripted_model import fails, gives, says
from leadhand.verify.material import calls_of, found_out


class Sections(BaseModel):
    sections: list[str]


planner = Worker("planner", "Plan.", output=Sections, loop="reply")


@flow
async def early(run: FlowContext, most: int = 9) -> Any:
    """Research begins while the plan is being written."""
    async with run.asking(planner, elements="sections", topic=run.request) as reply:
        async for section in reply:
            run.begin(a, section=section)
        plan = await reply.result()
    found = await run.gather(run.ask(a, section=each) for each in plan.value.sections[:most])
    return await run.ask(b, found=found)


class Planner:
    """Writes plans slowly, one after the other."""

    def __init__(self, *plans: Any) -> None:
        self.plans = [*plans]

    def __call__(self, worker: str, given: dict[str, Any]) -> Any:
        if worker == "Plan":
            plan = self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
            return gives({"sections": plan}).slowly(0.1) if isinstance(plan, list) else plan
        return says(f"{worker} {given.get('section')}")


async def test_what_begins_early_is_claimed_by_the_first_equal_ask(tmp_path: Path) -> None:
    lives = Lives(tmp_path, Planner(["one", "two", "three"]))
    async with lives.life(early) as lead:
        run, answer = await finished(lead, early)
        log = await log_of(lead, run.run_id)
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.new() == ["Plan", "A", "A", "A", "B"]
    kinds = [(each.event.type, each.event.subject.partition("/")[0]) for each in log]
    assert kinds.index(("step_issued", "a")) < kinds.index(("step_settled", "planner"))


async def test_a_call_begins_early_and_is_claimed(tmp_path: Path) -> None:
    made: list[str] = []

    @tool
    def look(town: str) -> str:
        """Look up a town."""
        made.append(town)
        return f"seen {town}"

    @flow
    async def looks(run: FlowContext) -> str:
        for town in ("Oslo", "Rome"):
            run.begin("look", town=town)
        await run.ask(b)
        return str(await run.call("look", town="Oslo"))

    async with Lives(tmp_path, tools=[look]).life(looks) as lead:
        run, answer = await finished(lead, looks)
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, "seen Oslo")
    assert sorted(made) == ["Oslo", "Rome"]
    assert state.finished is not None
    assert state.finished.left_out == ("look-2",)


async def test_what_began_early_and_nobody_claims_is_left_out(tmp_path: Path) -> None:
    lives = Lives(tmp_path, Planner(["one", "two", "three"]))
    async with lives.life(early) as lead:
        run, answer = await finished(lead, early, most=2)
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert (answer.status, answer.gaps) == (RunStatus.SUCCEEDED, ())
    assert state.finished is not None
    assert state.finished.left_out == ("a-3",)


async def test_what_began_for_an_element_that_is_then_written_otherwise_is_left_out(tmp_path: Path) -> None:
    lives = Lives(tmp_path, Planner(["one", "two", "six"], ["one", "three", "six"]))

    @flow
    async def checked(run: FlowContext) -> Any:
        def only_three(value: Any, given: Any) -> None:
            if "two" in value.sections:
                raise Retry("not two")

        strict = Worker("planner", "Plan.", output=Sections, loop="reply", validate=only_three)
        async with run.asking(strict, elements="sections") as reply:
            async for section in reply:
                run.begin(a, section=section)
            plan = await reply.result()
        return str(await run.gather(run.ask(a, section=each) for each in plan.value.sections))

    async with lives.life(checked) as lead:
        run, answer = await finished(lead, checked)
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert answer.status is RunStatus.SUCCEEDED
    assert [given["section"] for worker, given in lives.asked if worker == "A"] == ["one", "two", "three", "six"]
    assert state.finished is not None
    assert len(state.finished.left_out) == 1


async def test_reading_an_answer_that_fails_ends_with_the_failure(tmp_path: Path) -> None:
    @flow
    async def reading(run: FlowContext) -> str:
        seen: list[str] = []
        async with run.asking(planner, elements="sections") as reply:
            async for section in reply:
                seen += [section]
            try:
                await reply.result()
            except StepFailed as failed:
                return f"{seen} {failed.result.key}"
        return "never"

    async with Lives(tmp_path, Planner(fails("rejected", "refused", "no"))).life(reading) as lead:
        _, answer = await finished(lead, reading)
    assert answer.text == "[] planner"


async def test_a_note_is_written_once_whatever_the_passes(tmp_path: Path) -> None:
    @flow
    async def noting(run: FlowContext) -> Any:
        run.note("it begins")
        found = await run.gather(run.ask(a, n=n) for n in range(2))
        for _ in range(2):
            run.note("twice")
        run.note(f"found {len(found)}")
        return await run.ask(b, of=found)

    lives = Lives(tmp_path)
    async with lives.life(noting) as lead:
        run, _ = await finished(lead, noting)
        await run.retry(["a"])
        await run.answer()
        log = await log_of(lead, run.run_id)
        await cut(lead, log[: len(log) // 2], "cut")
        await (await lead.resume("cut")).answer()
        again = await log_of(lead, "cut")
    for entries in (log, again):
        noted = [each.event.message for each in entries if each.event.type == "note_emitted"]
        assert noted == ["it begins", "twice", "twice", "found 2"]


async def test_time_and_random_numbers_are_the_same_in_each_pass(tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []

    @flow
    async def stable(run: FlowContext) -> Any:
        before, rolled = run.now(), run.random()
        first = await run.ask(a, at=before, roll=rolled)
        seen.append((before, rolled, run.now(), run.random(), run.today))
        return await run.ask(b, of=first, at=run.now(), roll=run.random(), day=run.today)

    lives = Lives(tmp_path)
    async with lives.life(stable) as lead:
        run, _ = await finished(lead, stable)
        log = await log_of(lead, run.run_id)
        _, bound = pass_over(stable, replay(run.run_id, log))
        bound.close()
    assert seen[0] == seen[1]
    before, rolled, after, _, today = seen[0]
    assert before < after
    assert 0 <= rolled < 1
    assert today == datetime.now(UTC).date()


ROWS = [{"row": number, "text": "x" * 50} for number in range(200)]


@tool
def rows() -> list[dict[str, Any]]:
    """Return many rows."""
    return ROWS


async def test_large_results_are_loaded_before_the_function_gets_them(tmp_path: Path) -> None:
    sizes: list[Any] = []

    async def fetched() -> list[dict[str, Any]]:
        return ROWS

    @flow
    async def large(run: FlowContext) -> Any:
        called = await run.call("rows")
        done = await run.do(fetched)
        (ordered,) = await run.order("look", [{"name": "rows", "tool": "rows", "args": {}}])
        text = await run.ask(a, rows=called, done=done)
        sizes.append((len(called.raw), len(done.value), len(ordered.raw), len(text.text)))
        return await run.ask(b, of=called.raw[7]["row"])

    lives = Lives(tmp_path, lambda worker, given: says("y" * 30_000 if worker == "A" else "done"), tools=[rows])
    async with lives.life(large) as lead:
        run, answer = await finished(lead, large)
        assert answer.status is RunStatus.SUCCEEDED, answer.document["failure"]
        log = await log_of(lead, run.run_id)
        await cut(lead, log[:-3], "cut")
        assert (await (await lead.resume("cut")).answer()).status is RunStatus.SUCCEEDED
        assert not begun_again(await log_of(lead, "cut"))
    assert {*sizes} == {(200, 200, 200, 30_000)}
    shown = next(given for worker, given in lives.asked if worker == "A")
    assert shown["rows"]["raw"] == ROWS
    assert shown["done"] == ROWS


async def test_a_function_of_a_flow_is_among_what_was_done_since_it_may_have_done_anything(tmp_path: Path) -> None:
    async def notify(whom: str) -> str:
        return f"told {whom}"

    @flow
    async def notifying(run: FlowContext) -> Any:
        await run.do(notify, whom="Ann")
        return await run.ask(b)

    lives = Lives(tmp_path, lambda worker, given: says("Ann was told."))
    async with lives.life(notifying) as lead:
        run, answer = await finished(lead, notifying)
        assert [(each["tool"], each["ok"]) for each in answer.document["done"]] == [("notify", True)]
        state = replay(run.run_id, await log_of(lead, run.run_id))
    assert [*calls_of(state)] == [{"tool": "notify", "effect": "unknown", "ok": True}]
    assert found_out(state)


async def test_a_flow_that_changes_its_default_options_gets_them_anew_in_each_pass(tmp_path: Path) -> None:
    @flow
    async def popping(run: FlowContext, names: list[str] = ["one", "two", "three"]) -> Any:  # noqa: B006
        found: list[Any] = []
        while names:
            found.append(await run.ask(a, name=names.pop()))
        return await run.ask(b, found=found)

    lives = Lives(tmp_path)
    async with lives.life(popping) as lead:
        for _ in range(2):
            run, _ = await finished(lead, popping)
            assert len(lives.new()) == 4
        log = await log_of(lead, run.run_id)
        await run.retry(["a-2"])
        await run.answer()
        await cut(lead, log[: len(log) // 2], "cut")
        await (await lead.resume("cut")).answer()
        assert steps_of(await log_of(lead, "cut")).keys() == steps_of(log).keys()


async def test_an_answer_that_is_not_accepted_goes_back_to_its_worker(tmp_path: Path) -> None:
    class Number(BaseModel):
        n: int

    def check(value: Number, given: Any) -> None:
        if value.n < 3:
            raise Retry(f"{value.n} is less than {given.input['least']}")

    counter = Worker("counter", "Count.", output=Number, loop="reply", validate=check)

    @flow
    async def counts(run: FlowContext) -> str:
        found = await run.ask(counter, least=3)
        return f"{type(found.value).__name__} {found.value.n}"

    numbers = iter([1, 2, 5])
    lives = Lives(tmp_path, lambda *_: gives({"n": next(numbers)}))
    async with lives.life(counts) as lead:
        run, answer = await finished(lead, counts)
        assert answer.text == "Number 5"
        assert len(steps_of(await log_of(lead, run.run_id))) == 1
    assert "2 is less than 3" in str(lives.requests[-1].messages)


async def test_instructions_may_be_a_function_of_what_a_worker_is_given(tmp_path: Path) -> None:
    speaker = Worker("speaker", lambda given: f"Speak {given.input['language']}.")

    @flow
    async def speaks(run: FlowContext) -> Any:
        found = await run.gather(run.ask(speaker, language=each) for each in ("French", "Dutch", "French"))
        return " ".join(map(str, found))

    rng = random.Random(1)
    lives = Lives(tmp_path, lambda worker, given: says(f"{worker} {rng.random()}"))
    async with lives.life(speaks) as lead:
        run, answer = await finished(lead, speaks)
        assert answer.status is RunStatus.SUCCEEDED, answer.document["failure"]
        log = await log_of(lead, run.run_id)
        await cut(lead, log[:-1], "cut")
        assert (await (await lead.resume("cut")).answer()).text == answer.text
    assert sorted(lives.new()) == ["Speak Dutch", "Speak French", "Speak French"]


async def test_two_workers_with_one_name_are_refused_unless_one_is_a_version_of_the_other(tmp_path: Path) -> None:
    @flow
    async def twins(run: FlowContext, versions: bool = False) -> Any:
        other = a.version(instructions="B.") if versions else Worker("a", "B.")
        return f"{await run.ask(a, n=1)} {await run.ask(other, n=2)}"

    lives = Lives(tmp_path, lambda worker, given: says(worker))
    async with lives.life(twins) as lead:
        _, refused = await finished(lead, twins)
        assert "'a'" in refused.document["failure"]["message"]
        _, answer = await finished(lead, twins, versions=True)
    assert answer.text == "A B"


async def test_the_model_and_the_tools_of_an_ask_belong_to_its_identity(tmp_path: Path) -> None:
    @flow
    async def votes(run: FlowContext) -> Any:
        found = await run.gather(run.ask(c, q=1, tools=each) for each in ([], ["rows"], []))
        return " ".join(each.key for each in found)

    lives = Lives(tmp_path, tools=[rows])
    async with lives.life(votes) as lead:
        run, answer = await finished(lead, votes)
        steps = replay(run.run_id, await log_of(lead, run.run_id)).steps
    assert answer.text == "c c-2 c-3"
    assert steps["c"].step.digest == steps["c-3"].step.digest != steps["c-2"].step.digest


@flow
async def part(run: FlowContext, n: int = 1) -> Any:
    """A flow that others use."""
    return await run.ask(a, n=n)


async def test_a_flow_is_a_part_of_another_one_when_it_is_called(tmp_path: Path) -> None:
    @flow
    async def outer(run: FlowContext) -> Any:
        found = await run.gather([part(run, n=1), part(run, n=2)])
        return await run.ask(b, found=found)

    lives = Lives(tmp_path)
    async with lives.life(outer) as lead:
        _, answer = await finished(lead, outer)
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.new() == ["A", "A", "B"]


async def test_options_are_checked_like_any_arguments(tmp_path: Path) -> None:
    async with Lives(tmp_path).life(part) as lead:
        for options in ({"n": "many"}, {"m": 1}):
            with pytest.raises(UsageError):
                await lead.start("go", flow="part", **options)
    with pytest.raises(UsageError):

        @flow
        async def reserved(run: FlowContext, request: str = "") -> None:
            pass

    with pytest.raises(UsageError):

        @flow
        def plain(run: FlowContext) -> None:  # type: ignore[type-var]
            pass


async def test_a_flow_may_not_have_the_name_of_another_one(tmp_path: Path) -> None:
    for name in ("report", "work-order", "part"):
        with pytest.raises(UsageError, match=name):
            async with Lives(tmp_path).life(part, flow(name=name)(part.function)) as lead:
                await lead.start("go", flow=name)
