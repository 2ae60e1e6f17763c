"""How a flow ends: with an answer, with gaps, without what failed, at its limits, or because it is cancelled."""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from pydantic import BaseModel

from flows.seam.lives import Lives, a, b, c, finished, log_of
from leadhand import FailureClass, RunStatus, Worker, tool
from leadhand.core.evolve import replay
from leadhand.core.run import Gap
from leadhand.flows import FlowAnswer, FlowContext, StepFailed, flow
from leadhand.testing.scripted_model import fails, gives, says


def refusing(worker: str, given: dict[str, Any]) -> Any:
    """Refuses what is given an odd number."""
    return fails("rejected", "refused", "no") if given.get("n", 0) % 2 else says(f"{worker} {given.get('n', '')}")


async def ended(home: Path, function: Any, answer: Any = refusing, **settings: Any) -> Any:
    made = flow(function)
    async with Lives(home, answer, **settings).life(made) as lead:
        _, found = await finished(lead, made)
        return found


async def test_text_without_a_step_is_an_answer(tmp_path: Path) -> None:
    async def hello(run: FlowContext) -> str:
        return f"Hello, {run.request}"

    found = await ended(tmp_path, hello)
    assert (found.status, found.text, found.gaps) == (RunStatus.SUCCEEDED, "Hello, go", ())


async def test_an_optional_step_that_fails_is_a_result_that_is_not_ok_and_no_gap(tmp_path: Path) -> None:
    async def optional(run: FlowContext) -> str:
        found = await run.ask(a, n=1, optional=True)
        assert found.failure is not None
        return f"{found.ok} {found.failure.type} {found.text!r}"

    found = await ended(tmp_path, optional)
    assert (found.status, found.text, found.gaps) == (RunStatus.SUCCEEDED, "False refused ''", ())


@pytest.mark.parametrize("waives", [True, False])
async def test_a_failed_step_that_is_caught_is_a_gap_unless_it_is_waived(waives: bool, tmp_path: Path) -> None:
    async def catches(run: FlowContext) -> Any:
        try:
            return await run.ask(a, n=1)
        except StepFailed as failed:
            if waives:
                failed.waive()
            return await run.ask(b, instead=failed.failure.type if failed.failure else "", of=failed.result.key)

    found = await ended(tmp_path, catches)
    assert found.text == "B"
    assert [gap.step for gap in found.gaps] == ([] if waives else ["a"])
    assert found.status is (RunStatus.SUCCEEDED if waives else RunStatus.PARTIAL)


async def test_a_failed_step_that_is_not_caught_ends_the_run_with_what_is_finished(tmp_path: Path) -> None:
    async def uncaught(run: FlowContext) -> str:
        first = await run.ask(b, n=0)
        await run.ask(a, n=1, about=first)
        return "never"

    found = await ended(tmp_path, uncaught)
    assert found.status is RunStatus.PARTIAL
    assert "B 0" in found.text
    assert [(gap.step, gap.class_) for gap in found.gaps] == [("a", FailureClass.REJECTED)]


async def test_a_gather_waits_for_all_and_raises_the_first_failure_in_order(tmp_path: Path) -> None:
    async def several(run: FlowContext) -> str:
        try:
            await run.gather(run.ask(a, n=n) for n in range(4))
        except StepFailed as failed:
            return f"{failed.result.key} {sorted(run.state.steps)}"
        return "never"

    found = await ended(tmp_path, several)
    assert found.text == "a-2 ['a', 'a-2', 'a-3', 'a-4']"
    assert sorted(gap.step for gap in found.gaps) == ["a-2", "a-4"]


async def test_a_gather_with_return_failures_gives_results_that_are_not_ok_in_order(tmp_path: Path) -> None:
    async def several(run: FlowContext) -> str:
        async def branch(n: int) -> Any:
            return await run.ask(a, n=n)

        found = await run.gather([run.ask(a, n=0), run.ask(a, n=1), branch(3), branch(2)], return_failures=True)
        return " ".join(str(each.ok) for each in found)

    found = await ended(tmp_path, several)
    assert found.text == "True False False True"
    assert (found.status, len(found.gaps)) == (RunStatus.PARTIAL, 2)


async def test_a_bug_in_a_branch_ends_the_run_also_with_return_failures(tmp_path: Path) -> None:
    async def several(run: FlowContext) -> str:
        async def branch() -> Any:
            raise KeyError("oops")

        await run.gather([branch(), run.ask(a, n=0)], return_failures=True)
        return "never"

    found = await ended(tmp_path, several)
    assert found.document["failure"]["type"] == "flow_error"
    assert "A 0" in found.text


async def test_a_flow_may_name_its_evidence_and_further_gaps(tmp_path: Path) -> None:
    async def narrow(run: FlowContext) -> FlowAnswer:
        used, _ = await run.gather([run.ask(a, n=0), run.ask(b, n=2)])
        gap = Gap(name="the rest", class_=FailureClass.UNAVAILABLE, reason="nobody knows")
        return FlowAnswer(f"It is {used}.", uses=[used], gaps=[gap], value={"n": 0})

    found = await ended(tmp_path, narrow)
    assert (found.status, found.text) == (RunStatus.PARTIAL, "It is A 0.")
    assert [gap.name for gap in found.gaps] == ["the rest"]
    assert found.value == {"n": 0}


class Weather(BaseModel):
    town: str
    warm: bool = False


async def test_a_pydantic_instance_and_a_typed_result_are_answers_as_data(tmp_path: Path) -> None:
    reporter = Worker("reporter", "Report.", output=Weather, loop="reply")

    async def instance(run: FlowContext) -> Weather:
        found = await run.ask(reporter, town="Oslo")
        assert isinstance(found.value, Weather)
        return found.value.model_copy(update={"warm": True})

    async def typed(run: FlowContext) -> Any:
        return await run.ask(reporter, town="Oslo")

    for function, warm in ((instance, True), (typed, False)):
        found = await ended(tmp_path / function.__name__, function, lambda *_: gives({"town": "Oslo"}))
        assert found.status is RunStatus.SUCCEEDED
        assert found.value["town"] == "Oslo"
        assert found.value.get("warm", False) is warm


async def test_a_typed_answer_of_the_run_is_made_from_what_the_flow_returns(tmp_path: Path) -> None:
    @flow
    async def plain(run: FlowContext) -> Any:
        return await run.ask(a, n=0)

    def answer(worker: str, given: dict[str, Any]) -> Any:
        return says("warm in Oslo") if worker == "A" else gives({"town": "Oslo", "warm": True})

    async with Lives(tmp_path, answer).life(plain) as lead:
        found = await lead.run("go", flow="plain", output=Weather)
    assert found.status is RunStatus.SUCCEEDED
    assert found.value == Weather(town="Oslo", warm=True)


@pytest.mark.parametrize("made", [{1, 2}, FlowAnswer(5), object()], ids=["set", "number", "object"])  # type: ignore[arg-type]
async def test_what_is_no_answer_is_a_bug_that_a_retry_continues_once_it_is_fixed(made: Any, tmp_path: Path) -> None:
    returned = [made]

    @flow
    async def returns(run: FlowContext) -> Any:
        await run.ask(a, n=0)
        return returned[0]

    lives = Lives(tmp_path, refusing)
    async with lives.life(returns) as lead:
        run, found = await finished(lead, returns)
        assert (found.status, found.document["failure"]["type"]) == (RunStatus.PARTIAL, "flow_error")
        returned[0] = "fine"
        await run.retry()
        found = await run.answer()
    assert (found.status, found.text) == (RunStatus.SUCCEEDED, "fine")
    assert lives.new() == ["A"]


async def test_what_is_asked_for_and_never_awaited_is_noted_and_no_gap(tmp_path: Path) -> None:
    @flow
    async def forgetful(run: FlowContext) -> str:
        run.ask(a, n=0)
        return f"{await run.ask(b, n=0)}"

    answer = lambda worker, given: says(worker).after(5.0 if worker == "A" else 0.0)  # noqa: E731
    async with Lives(tmp_path, answer).life(forgetful) as lead:
        run, found = await finished(lead, forgetful)
        log = await log_of(lead, run.run_id)
    assert (found.status, found.text) == (RunStatus.SUCCEEDED, "B")
    (note,) = [each.event.message for each in log if each.event.type == "note_emitted"]
    assert "a was asked for" in note
    assert f"{forgetful.function.__code__.co_firstlineno + 2} of test_endings.py" in note


# --- limits ----------------------------------------------------------------------------------------------------------


async def digest(run: FlowContext) -> Any:
    """Find out as much as the limits allow, and write the answer with what is held back for it."""
    found = await run.gather((run.ask(a, n=2 * n) for n in range(10)), return_failures=True)
    return await run.ask(c, found=[each for each in found if each.ok], final=True)


async def test_a_flow_at_the_end_of_its_requests_still_writes_its_final_step(tmp_path: Path) -> None:
    found = await ended(tmp_path, digest, max_requests=6, max_workers=1)
    assert found.text == "C"
    assert found.status is RunStatus.PARTIAL
    assert {gap.class_ for gap in found.gaps} == {FailureClass.EXHAUSTED}
    assert 4 <= 10 - len(found.gaps) <= 5


async def test_a_flow_at_the_end_of_its_time_still_writes_its_final_step(tmp_path: Path) -> None:
    answer = lambda worker, given: says(worker).after(60 if given.get("n", 0) > 4 else 0)  # noqa: E731
    found = await ended(tmp_path, digest, answer, timeout=2.0)
    assert found.text == "C"
    assert found.status is RunStatus.PARTIAL
    assert {gap.class_ for gap in found.gaps} == {FailureClass.EXHAUSTED}


async def test_a_step_that_is_asked_for_when_the_limits_are_used_up_fails_at_once(tmp_path: Path) -> None:
    async def goes_on(run: FlowContext) -> Any:
        for n in range(100):
            found = await run.ask(a, n=2 * n, optional=True)
            if not found.ok:
                assert found.failure is not None
                return await run.ask(c, asked=n, because=found.failure.class_, final=True)
        return "never"

    found = await ended(tmp_path, goes_on, max_requests=6)
    assert found.text == "C"
    assert found.document["usage"]["requests"] <= 6


# --- cancelling ------------------------------------------------------------------------------------------------------


async def test_a_flow_that_catches_everything_is_cancelled_all_the_same(tmp_path: Path) -> None:
    cleaned: list[str] = []

    @flow
    async def stubborn(run: FlowContext) -> Any:
        try:
            await run.ask(a, n=0)
        except BaseException:
            cleaned.append("caught")
            await run.ask(b, n=2)
        finally:
            cleaned.append("finally")
            await run.ask(c, n=4)
        return "never"

    lives = Lives(tmp_path, lambda worker, given: says(worker).after(60))
    async with lives.life(stubborn) as lead:
        run = await lead.start("go", flow="stubborn")
        await lives.until_asked()
        await run.cancel()
        found = await run.answer()
        state = replay(run.run_id, await log_of(lead, run.run_id))
    gc.collect()
    assert found.status is RunStatus.CANCELLED
    assert cleaned[0] == "caught"
    assert [*state.steps] == ["a"]
    assert lives.new() == ["A"]


ENDLESS = """
import asyncio, gc, sys
from leadhand import Leadhand, Worker
from leadhand.flows import flow
from leadhand.testing.scripted_model import ScriptedModel, says

a = Worker("a", "A.")


@flow
async def endless(run):
    while True:
        try:
            await run.ask(a)
        except BaseException:
            continue


@flow
async def leaving(run):
    try:
        await run.ask(a)
    finally:
        raise SystemExit(3)


async def main():
    models = ScriptedModel().on(lambda _: True, always=says("x").after(60))
    async with Leadhand(flows=[endless, leaving], models=models, home=sys.argv[1], check="off") as lead:
        for name in ("endless", "leaving"):
            run = await lead.start("go", flow=name)
            while not models.requests:
                await asyncio.sleep(0.01)
            models.requests.clear()
            await run.cancel()
            print((await run.answer()).status.value)
        del run
        gc.collect()


asyncio.run(main())
"""


def test_flows_that_refuse_to_end_are_cancelled_and_keep_no_process_from_its_end(tmp_path: Path) -> None:
    program = tmp_path / "endless.py"
    program.write_text(ENDLESS)
    done = processes.run([sys.executable, str(program), str(tmp_path / "home")], timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["cancelled", "cancelled"]), done.stderr


async def test_a_paused_run_continues_in_the_same_process(tmp_path: Path) -> None:
    @flow
    async def pausing(run: FlowContext) -> Any:
        return await run.ask(b, of=await run.ask(a, n=0))

    lives = Lives(tmp_path, lambda worker, given: says(worker).after(0.2))
    async with lives.life(pausing) as lead:
        run = await lead.start("go", flow="pausing")
        await lives.until_asked()
        await run.pause()
        assert (await run.answer()).status is RunStatus.PAUSED
        found = await (await lead.resume(run.run_id)).answer()
    assert (found.status, found.text) == (RunStatus.SUCCEEDED, "B")


async def test_a_note_after_the_last_await_is_in_the_log(tmp_path: Path) -> None:
    @flow
    async def noting(run: FlowContext) -> str:
        run.note("one")
        await run.ask(a, n=1)
        run.note("two")
        return "done"

    async with Lives(tmp_path).life(noting) as lead:
        run, _ = await finished(lead, noting)
        notes = [entry.event.message for entry in await log_of(lead, run.run_id) if entry.event.type == "note_emitted"]
    assert notes == ["one", "two"]


async def test_an_answer_is_kept_if_the_run_ends_while_it_is_judged(tmp_path: Path) -> None:
    asked = asyncio.Event()

    class Waiting:
        async def verify(self, *_: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

    @tool
    def pieces() -> int:
        """Count the pieces."""
        return 7

    @flow
    async def counting(run: FlowContext) -> str:
        found = await run.call("pieces")
        return f"There are {found.value} pieces, as was counted."

    async with Lives(tmp_path).life(counting, check="judge", verifier=Waiting(), tools=[pieces]) as lead:
        run = await lead.start("go", flow=counting.name)
        async with asyncio.timeout(30):
            await asked.wait()
            await run.cancel()
            answer = await run.answer()
    assert (answer.status, answer.text) == (RunStatus.CANCELLED, "There are 7 pieces, as was counted.")
