"""What a person does again, supplies or skips: exactly what depends on it is new."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from flows.seam.lives import Lives, a, b, begun_again, c, cut, finished, log_of, steps_of
from leadhand import RunStatus, UsageError
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, StepFailed, flow
from leadhand.testing.scripted_model import fails, says


@flow
async def shift(run: FlowContext, n: int = 6) -> str:
    """Equal steps in branches, one of which goes on without its first step if that fails."""

    async def branch(i: int) -> Any:
        try:
            own = await run.ask(a, mine=i)
        except StepFailed:
            own = None
        dice = await run.ask(b)
        return await run.ask(c, of=own, dice=dice)

    return " ".join(map(str, await run.gather(branch(i) for i in range(n))))


@flow
async def same(run: FlowContext) -> Any:
    """What follows uses the text of a step, or another one in its place."""
    found = await run.gather([run.ask(a, mine=i) for i in range(3)], return_failures=True)
    written = await run.ask(b, of=[str(each) if each.ok else "own 0" for each in found])
    return await run.ask(c, of=written)


@flow
async def chain(run: FlowContext) -> Any:
    """Three steps, each of which uses the one before, and one of its own."""
    own = run.ask(c, own=1)
    first = await run.ask(a)
    second = await run.ask(b, of=first)
    await own
    return await run.ask(c, of=second)


class Model:
    """Answers with numbers; the first step of the first branch is refused while it is ``broken``."""

    def __init__(self) -> None:
        self.broken, self.rng, self.fixed = True, random.Random(1), dict[str, str]()

    def __call__(self, worker: str, given: dict[str, Any]) -> Any:
        if worker == "A" and "mine" in given:
            if given["mine"] == 0 and self.broken:
                return fails("rejected", "refused", "no")
            return says(f"own {given['mine']}").after(0.05 if given["mine"] == 0 else 0.02)
        return says(self.fixed.get(worker) or f"{worker} {self.rng.randrange(10**6)}")


async def test_the_retry_of_a_failed_step_makes_it_and_what_depends_on_it_new_and_nothing_else(tmp_path: Path) -> None:
    model = Model()
    lives = Lives(tmp_path, model)
    async with lives.life(shift) as lead:
        run, first = await finished(lead, shift)
        assert first.status is RunStatus.PARTIAL
        assert [gap.step for gap in first.gaps] == ["a"]
        assert len(lives.new()) == 18
        model.broken = False
        await run.retry()
        again = await run.answer()
        assert again.status is RunStatus.SUCCEEDED
        assert lives.new() == ["A", "C"]
        assert not begun_again(await log_of(lead, run.run_id))
        document = await run.document()
    assert not document["gaps"]


async def test_a_retry_with_the_text_that_stood_in_its_place_repeats_nothing_else(tmp_path: Path) -> None:
    model = Model()
    lives = Lives(tmp_path, model)
    async with lives.life(same) as lead:
        run, _ = await finished(lead, same)
        lives.new()
        model.broken = False
        await run.retry(["a"])
        assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert lives.new() == ["A"]


@pytest.mark.parametrize("changes", [True, False])
async def test_a_completed_step_is_done_again_with_what_depends_on_it_if_its_text_is_another(
    tmp_path: Path, changes: bool
) -> None:
    model = Model()
    model.fixed = {} if changes else {"A": "always the same"}
    lives = Lives(tmp_path, model)
    async with lives.life(chain) as lead:
        run, first = await finished(lead, chain)
        lives.new()
        await run.retry(["a"])
        again = await run.answer()
        left_out = replay(run.run_id, await log_of(lead, run.run_id)).finished.left_out  # type: ignore[union-attr]
    assert lives.new() == (["A", "B", "C"] if changes else ["A"])
    assert (again.text == first.text) is not changes
    assert left_out == (("b", "c-2") if changes else ())


async def test_a_completed_step_is_done_again_while_the_run_goes_on(tmp_path: Path) -> None:
    lives = Lives(tmp_path, lambda worker, given: says(f"{worker} {len(lives.asked)}").after(0.3 * (worker == "B")))
    async with lives.life(chain) as lead:
        run = await lead.start("go", flow="chain")
        async for entry in run:
            if entry.event.type == "step_issued" and entry.event.step.step_id == "b":
                break
        await run.retry(["a"])
        answer = await run.answer()
        log = await log_of(lead, run.run_id)
        state = replay(run.run_id, log)
    assert answer.status is RunStatus.SUCCEEDED
    assert state.finished is not None
    assert state.finished.left_out == ("b",)
    asked = lives.new()
    assert (sorted(asked[:2]), asked[2:]) == (["A", "C"], ["B", "A", "B", "C"])


async def test_the_result_of_a_step_is_supplied_and_only_what_depends_on_it_is_new(tmp_path: Path) -> None:
    model = Model()
    lives = Lives(tmp_path, model)
    async with lives.life(shift) as lead:
        run, _ = await finished(lead, shift)
        lives.new()
        await run.supply("a", "own 0, by hand")
        answer = await run.answer()
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.new() == ["C"]


async def test_a_step_that_is_skipped_is_a_gap_and_the_function_sees_its_failure(tmp_path: Path) -> None:
    lives = Lives(tmp_path, lambda worker, given: fails("rejected", "refused", "no") if worker == "A" else says("ok"))

    @flow
    async def skipping(run: FlowContext) -> str:
        try:
            await run.ask(a)
        except StepFailed as failed:
            return f"without: {failed.failure.type if failed.failure else ''}"
        return "with"

    async with lives.life(skipping) as lead:
        run, first = await finished(lead, skipping)
        assert first.text == "without: refused"
        await run.skip("a", "it is not needed")
        again = await run.answer()
    assert again.text == "without: skipped"
    (gap,) = again.gaps
    assert (again.status, gap.step, gap.class_) == (RunStatus.PARTIAL, "a", "rejected")
    assert gap.reason.endswith("it is not needed")


BROKEN = [True]


@flow
async def buggy(run: FlowContext, catches: bool = False) -> str:
    """A function with a bug, until somebody fixes it."""
    found = await run.ask(a, n=1)
    if BROKEN[0]:
        raise ValueError("oops")
    return f"{found} and {await run.ask(b, of=found)}"


async def test_a_bug_in_the_function_ends_the_run_with_its_line_and_a_retry_continues_it_once_it_is_fixed(
    tmp_path: Path,
) -> None:
    BROKEN[0] = True
    lives = Lives(tmp_path)
    async with lives.life(buggy) as lead:
        run, first = await finished(lead, buggy)
        failure = first.document["failure"]
        line = buggy.function.__code__.co_firstlineno + 5
        assert first.status is RunStatus.PARTIAL
        assert failure["type"] == "flow_error"
        assert f"ValueError at line {line} of test_retries.py: oops" in failure["message"]
        assert lives.new() == ["A"]
        with pytest.raises(UsageError):
            await run.retry(["b"])
        await run.retry()
        assert (await run.answer()).document["failure"]["type"] == "flow_error"  # it is not fixed yet
        BROKEN[0] = False
        await run.retry()
        answer = await run.answer()
        assert not begun_again(await log_of(lead, run.run_id))
    assert answer.status is RunStatus.SUCCEEDED
    assert lives.new() == ["B"]


async def test_a_bug_before_the_first_step_fails_the_run_and_a_retry_continues_it(tmp_path: Path) -> None:
    broken = [True]

    @flow
    async def early(run: FlowContext) -> str:
        return f"{1 / (not broken[0])} {await run.ask(a)}"

    lives = Lives(tmp_path)
    async with lives.life(early) as lead:
        run, first = await finished(lead, early)
        assert (first.status, first.document["failure"]["type"]) == (RunStatus.FAILED, "flow_error")
        broken[0] = False
        await run.retry()
        assert (await run.answer()).status is RunStatus.SUCCEEDED
    assert lives.new() == ["A"]


@flow
async def forked(run: FlowContext, n: int = 3) -> Any:
    """A fan-out, and a round."""
    found = await run.gather(run.ask(a, mine=i) for i in range(n))
    draft = await run.ask(b, found=found)
    verdict = await run.ask(c, of=draft)
    return await run.ask(b, found=found, draft=draft, verdict=verdict)


async def test_a_fork_at_any_event_keeps_what_was_finished_before_it_and_does_the_rest(tmp_path: Path) -> None:
    lives = Lives(tmp_path, lambda worker, given: says(f"{worker} {sorted(given)}"))
    async with lives.life(forked) as lead:
        run, whole = await finished(lead, forked)
        log = await log_of(lead, run.run_id)
        lives.new()
        for at in range(1, len(log)):
            done = {key for key, step in replay(run.run_id, log[:at]).steps.items() if step.closed}
            other = await lead.fork(run.run_id, at)
            answer = await other.answer()
            assert (answer.status, answer.text) == (whole.status, whole.text), f"forked at {at}"
            theirs = await log_of(lead, other.run_id)
            assert steps_of(theirs).keys() == steps_of(log).keys(), f"forked at {at}"
            assert not begun_again(theirs), f"forked at {at}"
            answered = [each for each in log[:at] if each.event.type == "model_call_returned"]
            assert len(lives.new()) == 6 - len(answered), f"forked at {at}"
            assert len(answered) >= len(done)


async def test_a_step_that_was_under_way_begins_again_only_when_the_function_asks_for_it(tmp_path: Path) -> None:
    lives = Lives(tmp_path)
    async with lives.life(chain) as lead:
        run, _ = await finished(lead, chain)
        log = await log_of(lead, run.run_id)
        at = next(each.seq for each in log if each.event.type == "attempt_started" and each.event.attempt == "b/a1")
        await cut(lead, log[:at], "cut")
    lives.new()

    async def changed(run: FlowContext) -> Any:
        own = run.ask(c, own=1)
        first = await run.ask(a)
        second = await run.ask(b, of=first, style="short")
        await own
        return await run.ask(c, of=second)

    async with lives.life(flow(name="chain")(changed)) as lead:
        answer = await (await lead.resume("cut")).answer()
        log = await log_of(lead, "cut")
        state = replay("cut", log)
    assert answer.status is RunStatus.SUCCEEDED
    assert [worker for worker in lives.new() if worker != "C"] == ["B"]
    assert state.finished is not None
    assert state.finished.left_out == ("b",)
    assert steps_of(log)["b"] == 1
