"""Money and time for the review and the answer are held back from the start, and a run that ran out can go on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.app.runtime.clock import LATE_S, TICK_S, SleepWatch, SystemClock
from leadhand.app.settings import reserves
from leadhand.core.errors import FailureClass
from leadhand.core.events import RunChanged, RunStatusSet, StepRequested
from leadhand.core.limits import Limits, Usage
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.work_result import Check, ClaimVerdict
from leadhand.engine.controller import Controller
from leadhand.ports.models import ModelProfile

PRICED = ModelProfile(name="fake", input_nanousd=1, output_nanousd=10)


def many(count: int, tool: str = "measure") -> dict[str, Any]:
    return plan(*(ask(f"s{number}", tool, n=number) for number in range(count)))


def limited(limits: Limits, check: Check = "off") -> dict[str, Any]:
    """What a run with these limits holds back, as the runtime decides it."""
    return {"limits": limits, "check": check, **reserves(limits, 2 + (check == "judge"))}


def done(state: RunState) -> list[str]:
    return [key for key, each in state.steps.items() if each.counts and each.data is not None]


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [Limits(max_requests=20), Limits(max_tokens=300_000), Limits(budget=0.0015)],
    ids=["requests", "tokens", "money"],
)
@pytest.mark.parametrize("check", ["off", "judge"])
async def test_what_was_done_when_the_allowance_ran_out_is_reviewed_and_in_the_answer_and_judged(
    open_world: Any, limits: Limits, check: Check
) -> None:
    models = FakeModels(many(160), profile=PRICED, usage=Usage(input_tokens=300, output_tokens=1_700))
    world: World = open_world(
        models, [Bench().measure], worker_calls="always", clock=SystemClock(), **limited(limits, check)
    )
    state = await world.run()

    finished = done(state)
    assert 0 < len(finished) < 160
    accepted = [key for key in finished if state.steps[key].accepted]
    assert accepted == finished, "what was done was not reviewed"
    assert models.requests("compose"), "nothing was left for the answer"
    assert {gap.class_ for gap in state.finished.gaps} == {FailureClass.EXHAUSTED}
    assert len(state.finished.gaps) == 160 - len(finished)
    if check == "judge":
        assert state.finished.judgement.judged_by == "fake"
        assert {claim.verdict for claim in state.finished.judgement.claims} == {ClaimVerdict.CONFIRMED}


async def test_what_was_done_when_the_time_ran_out_is_reviewed_and_in_the_answer(open_world: Any) -> None:
    """One subtask of three hangs, and one has not begun; the time that is held back goes to the review."""
    hanging = asyncio.Event()

    async def hold(request: Any) -> None:
        if any(call.arguments == {"n": 2} for said in request.messages[2:3] for call in said.tool_calls):
            hanging.set()
            await asyncio.Event().wait()

    models = FakeModels(many(3), hold=hold)
    limits = Limits(timeout=100.0, max_workers=1)
    world: World = open_world(models, [Bench().measure], worker_calls="always", **limited(limits))
    run_id = await world.start()
    driving = world.driving(run_id)
    await asyncio.wait_for(hanging.wait(), 60)
    await world.until(lambda state: len(done(state)) == 2)
    world.clock.advance(81.0)  # of 100, of which 20 are held back
    await world.append(run_id, StepRequested(what="retry", by="me", steps=("wo-001.9",)))  # wakes the controller
    state = await driving

    assert state.finished.failure is None
    assert [key for key in done(state) if state.steps[key].accepted] == ["wo-001.0", "wo-001.1"]
    assert len(models.requests("compose")) == 1
    (gap,) = state.finished.gaps
    assert (gap.class_, gap.step) == (FailureClass.EXHAUSTED, "wo-001.2")
    assert "80 of 100 s" in gap.reason
    assert "timeout" in gap.next_action


async def test_a_time_that_passes_between_a_decision_and_the_wait_for_it_is_not_missed(
    open_world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run would wait for the end of all its time, and have none for the review of what was done."""
    hanging, seconds_left, waits = asyncio.Event(), Controller._seconds_left, list[float | None]()

    async def hold(request: Any) -> None:
        if len(request.messages) > 2:  # the first call of the worker was made
            hanging.set()
            await asyncio.Event().wait()

    def creeping(controller: Controller) -> float | None:
        if hanging.is_set() and not waits:
            world.clock.advance(81.0)  # of 100, of which 20 are held back
            waits.append(seconds_left(controller))
            return waits[0]
        return seconds_left(controller)

    monkeypatch.setattr(Controller, "_seconds_left", creeping)
    world: World = open_world(
        FakeModels(many(1), hold=hold), [Bench().measure], worker_calls="always", **limited(Limits(timeout=100.0))
    )
    run_id = await world.start()
    driving = world.driving(run_id)
    await asyncio.wait_for(hanging.wait(), 60)
    await world.append(run_id, StepRequested(what="retry", by="me", steps=("wo-001.9",)))  # wakes the controller
    state = await driving
    assert waits == [0.0]
    (gap,) = state.finished.gaps
    assert "80 of 100 s" in gap.reason


@pytest.mark.parametrize(
    ("passed_s", "gap", "left_s"),
    [(79.0, None, 1.0), (80.0, "80 of 100 s", 20.0), (99.0, "80 of 100 s", 1.0), (100.0, "100 s is used up", None)],
)
async def test_times_are_up_when_they_are_reached(
    open_world: Any, monkeypatch: pytest.MonkeyPatch, passed_s: float, gap: str | None, left_s: float | None
) -> None:
    """Of 100 s, 20 are held back. Until the next time is reached, the run waits for it, and not in a busy loop."""
    hanging, go_on, passed, waits = asyncio.Event(), asyncio.Event(), False, set[float | None]()
    seconds_left = Controller._seconds_left

    async def hold(request: Any) -> None:
        if any(call.arguments == {"n": 1} for said in request.messages[2:3] for call in said.tool_calls):
            hanging.set()
        if hanging.is_set():
            await go_on.wait()

    def noted(controller: Controller) -> float | None:
        left = seconds_left(controller)
        if passed:
            waits.add(left)
        return left

    monkeypatch.setattr(Controller, "_seconds_left", noted)
    world: World = open_world(
        FakeModels(many(2), hold=hold),
        [Bench().measure],
        worker_calls="always",
        **limited(Limits(timeout=100.0, max_workers=1)),
    )
    run_id = await world.start()
    driving = world.driving(run_id)
    await asyncio.wait_for(hanging.wait(), 60)
    world.clock.advance(passed_s)
    passed = True
    await world.append(run_id, StepRequested(what="retry", by="me", steps=("wo-001.9",)))  # wakes the controller
    await world.until(lambda state: not state.pending_requests and state.seq > 1 and (waits or state.finished))
    go_on.set()
    state = await driving
    reasons = [each.reason for each in state.finished.gaps] + [
        str(state.finished.failure and state.finished.failure.message)
    ]
    assert any(gap in each for each in reasons) if gap else reasons == ["None"]
    assert waits == ({left_s} if left_s else set())


async def test_a_run_that_ran_out_goes_on_with_more_and_does_again_only_what_is_open(open_world: Any) -> None:
    models = FakeModels(many(40))
    world: World = open_world(models, [Bench().measure], worker_calls="always", **limited(Limits(max_requests=20)))
    run_id = await world.start()
    first = await world.drive(run_id)
    finished, before = done(first), len(models.requests("work"))
    assert 0 < len(finished) < 40

    more = Limits(max_requests=200)
    await world.append(
        run_id,
        RunChanged(by="me", limits=more, held_back=reserves(more, 2)["held_back"]),
        StepRequested(what="retry", by="me"),
    )
    await world.store.claim(run_id, ended=True)
    state = await world.drive(run_id)

    assert state.status is RunStatus.SUCCEEDED
    assert not state.finished.gaps
    assert len(models.requests("work")) - before == 40 - len(finished), "finished work was done again"


@pytest.mark.parametrize("worker", ["plan", "review", "compose"])
async def test_a_thought_that_ran_out_is_done_when_there_is_more(open_world: Any, worker: str) -> None:
    limits = {"plan": Limits(max_tokens=1), "review": Limits(max_requests=1), "compose": Limits(max_requests=2)}

    def judge_apart(_request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        verdicts = [{"subtask": each["subtask"], "verdict": "accept"} for each in facts["subtasks"]]
        return {"verdicts": verdicts, "complete": True, "missing": [], "cannot": []}

    models = FakeModels(many(2, "look"), review=judge_apart)
    world: World = open_world(models, [Bench().look], limits=limits[worker])
    run_id = await world.start()
    first = await world.drive(run_id)
    assert not models.requests(worker)
    assert first.status in (RunStatus.FAILED, RunStatus.PARTIAL, RunStatus.SUCCEEDED)

    await world.append(run_id, RunChanged(by="me", limits=Limits()), StepRequested(what="retry", by="me"))
    await world.store.claim(run_id, ended=True)
    state = await world.drive(run_id)

    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert len(models.requests(worker)) == 1
    assert all(state.steps[key].accepted for key in done(state))
    assert len(done(state)) == 2
    assert len(models.requests("plan")) == 1, "what was planned was planned again"


async def test_time_in_which_the_process_slept_is_not_counted(open_world: Any) -> None:
    now = [0.0]
    watch = SleepWatch(lambda: now[0])
    now[0] += TICK_S + LATE_S  # as late as a busy machine may be
    assert watch.asleep_s() == 0
    now[0] += 28.0
    assert watch.asleep_s() == 28.0
    now[0] -= 3_600.0
    assert watch.asleep_s() == 28.0
    now[0] += TICK_S
    assert watch.asleep_s() == 28.0


async def test_a_run_whose_process_slept_past_its_deadline_goes_on(open_world: Any) -> None:
    slept = [0.0]
    stopped = asyncio.Event()
    go_on = asyncio.Event()

    async def hold(request: Any) -> None:
        if request.output is None and not stopped.is_set():
            stopped.set()
            await go_on.wait()

    models = FakeModels(many(2), hold=hold)
    world: World = open_world(models, [Bench().measure], worker_calls="always", **limited(Limits(timeout=25.0)))
    run_id = await world.start()
    driving = asyncio.ensure_future(world.drive(run_id, asleep=lambda: slept[0]))
    await asyncio.wait_for(stopped.wait(), 60)
    world.clock.advance(28.0)
    slept[0] += 28.0
    go_on.set()
    state = await driving

    assert state.status is RunStatus.SUCCEEDED
    (event,) = [each for each in await world.events(RunStatusSet) if each.slept_s]
    assert event.slept_s == 28.0
