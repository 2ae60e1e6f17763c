"""People and clocks steer a run: limits of time, cancelling, pausing, and handing over to another process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest
from memory_store import MemoryStore

from engine.fakes import FakeModels, FixedClock
from engine.tools import Bench
from engine.worlds import PATIENCE_S, World, ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.errors import FailureClass, Fenced, StoreError
from leadhand.core.events import (
    AttemptReturned,
    Entry,
    Observation,
    Request,
    RunRequested,
    RunStatusSet,
)
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.tool import ToolReturn
from leadhand.tools.decorator import tool


class Gate:
    """A tool that answers when it is let through; ``made`` lists its calls, ``stopped`` those that were cut off."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.made: list[int] = []
        self.stopped: list[int] = []

    @property
    def tool(self) -> Any:
        @tool(timeout=10 * PATIENCE_S)  # it is never stopped by its own time
        async def wait(n: int) -> ToolReturn:
            """Wait to be let through."""
            self.made.append(n)
            try:
                await self.open.wait()
            except asyncio.CancelledError:
                self.stopped.append(n)
                raise
            return ToolReturn(raw=n, summary=f"through {n}")

        return wait


def half_done(bench: Bench, gate: Gate) -> tuple[FakeModels, list[Any]]:
    """Two subtasks, one of which is soon done; the other waits at a gate."""
    return FakeModels(plan(ask("a", "look", n=1), ask("b", "wait", n=2))), [bench.look, gate.tool]


async def until_half_done(world: World, gate: Gate) -> None:
    await world.until(lambda state: "wo-001.0" in state.steps and state.steps["wo-001.0"].data and gate.made)


async def test_when_its_time_is_used_up_a_run_answers_with_what_it_has(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools, limits=Limits(timeout=0.6), clock=SystemClock())
    state = await world.run()

    assert state.status in (RunStatus.PARTIAL, RunStatus.FAILED)
    assert state.finished.failure.class_ is FailureClass.EXHAUSTED
    assert "0.6 s" in state.finished.failure.message
    assert "saw 1" in state.finished.answer
    assert "b" in {gap.name for gap in state.finished.gaps}
    await world.until(lambda _: gate.stopped == [2])  # and the worker was not left running


async def test_waits_between_tries_end_at_the_runs_deadline(open_world: Any):
    bench = Bench()
    world = open_world(
        FakeModels(plan(ask("a", "flaky", n=1))), [bench.flaky(9, retries=9)], limits=Limits(timeout=3.0)
    )
    state = await world.run()

    assert world.clock.time - state.created_at <= timedelta(seconds=3)
    (gap,) = state.finished.gaps
    assert gap.class_ is FailureClass.EXHAUSTED
    assert all(each in gap.reason for each in ("the line is dead", "3 s"))


async def test_a_cancelled_run_stops_at_once_and_shows_what_it_has(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.append(run_id, RunRequested(what="cancel", by="me"))
    state = await driving

    assert state.status is RunStatus.CANCELLED
    assert "saw 1" in state.finished.answer
    assert "b" in {gap.name for gap in state.finished.gaps}
    await world.until(lambda _: gate.stopped == [2])
    assert len(models.asked) == 1


async def test_a_paused_run_keeps_what_is_done_and_goes_on_with_the_rest_when_it_is_resumed(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.append(run_id, RunRequested(what="pause", by="me", reason="lunch"))
    state = await driving
    assert state.status is RunStatus.PAUSED
    assert [event.reason for event in await world.events(RunStatusSet)] == ["lunch"]
    await world.until(lambda _: gate.stopped == [2])

    gate.open.set()
    await world.append(run_id, RunRequested(what="resume", by="me"))
    state = await world.take_over(run_id)
    assert state.status is RunStatus.SUCCEEDED
    assert bench.made == [("look", 1)], "what was finished was done again"
    assert gate.made == [2, 2]
    assert len(models.requests("plan")) == 1
    assert state.steps["wo-001.1"].failures == (), "being paused counted as a failure"


async def test_a_paused_run_that_another_process_takes_over_stays_paused(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.append(run_id, RunRequested(what="pause", by="me"))
    await driving
    calls_before = len(bench.made) + len(gate.made)

    assert (await world.take_over(run_id)).status is RunStatus.PAUSED
    assert len(bench.made) + len(gate.made) == calls_before


async def test_a_pause_does_not_use_up_the_time_of_the_run(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools, limits=Limits(timeout=60))
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.append(run_id, RunRequested(what="pause", by="me"))
    await driving
    world.clock.advance(3_600)
    gate.open.set()
    await world.append(run_id, RunRequested(what="resume", by="me"))

    assert (await world.take_over(run_id)).status is RunStatus.SUCCEEDED


async def test_a_pause_and_a_resume_in_one_breath_lose_no_attempt(open_world: Any):
    class Eager(MemoryStore):
        """Somebody resumes the run in the very moment it is paused."""

        def append(self, run_id: str, events: Any, **more: Any) -> Any:
            written = super().append(run_id, events, **more)
            if any(isinstance(event, RunStatusSet) and event.status is RunStatus.PAUSED for event in events):
                super().append(run_id, [RunRequested(what="resume", by="me")])
            return written

    made: list[int] = []

    @tool(retries=2)
    async def flaky(n: int) -> ToolReturn:
        """Fail once, while the run is being paused."""
        made.append(n)
        if len(made) == 1:
            await store.append("run_1", [RunRequested(what="pause", by="me")])
            raise ConnectionError("the line is dead")
        return ToolReturn(raw=n, summary="at last")

    clock = FixedClock()
    store = Eager(clock)
    world = open_world(FakeModels(plan(ask("a", "flaky", n=1))), [flaky], clock=clock, store=store)
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert made == [1, 1]


async def test_when_its_process_dies_another_goes_on_with_what_is_left(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    driving.cancel()
    gate.open.set()
    state = await world.take_over(run_id)

    assert state.status is RunStatus.SUCCEEDED
    assert state.epoch == 2
    assert bench.made == [("look", 1)]
    (lost,) = [each for each in await world.events(AttemptReturned) if each.lost]
    assert (lost.attempt, lost.failure.type, lost.failure.class_) == ("wo-001.1/a1", "process_died", "lost")
    assert len(models.requests("plan")) == 1


async def test_a_process_that_lost_its_run_is_told_so_and_writes_no_decision(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.store.release(run_id, 1)
    await world.store.claim(run_id)
    gate.open.set()

    with pytest.raises(Fenced):
        await driving
    decided = [entry for entry in await world.entries() if not isinstance(entry.event, (Observation, Request))]
    assert all(entry.epoch == 1 for entry in decided if entry.seq < 9)
    assert (await world.state()).finished is None


async def test_a_decision_is_refused_although_its_process_has_not_read_yet_that_it_lost_its_run(open_world: Any):
    class OneByOne(MemoryStore):
        """Yields every entry in a batch of its own."""

        async def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
            async for batch in super().follow(run_id, after):
                for entry in batch:
                    yield [entry]

    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    clock = FixedClock()
    world = open_world(models, tools, clock=clock, store=OneByOne(clock))
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.append(run_id, RunRequested(what="pause", by="me"))
    await world.store.release(run_id, 1)
    await world.store.claim(run_id)

    with pytest.raises(Fenced):
        await driving
    assert await world.events(RunStatusSet) == []


@pytest.mark.parametrize("decides", [True, False])
async def test_a_process_that_lost_its_run_stops_its_workers(open_world: Any, decides: bool):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    await world.store.release(run_id, 1)
    await world.store.claim(run_id)
    if decides:
        await world.append(run_id, RunRequested(what="pause", by="me"))
    with pytest.raises(Fenced):
        await driving

    await world.until(lambda _: gate.stopped == [2])  # or two processes would carry out the same subtask


async def test_a_late_result_of_a_lost_attempt_does_not_count(open_world: Any):
    bench, gate = Bench(), Gate()
    models, tools = half_done(bench, gate)
    world = open_world(models, tools)
    run_id = await world.start()
    driving = world.driving(run_id)
    await until_half_done(world, gate)
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    await world.dispatcher.aclose()
    again = asyncio.ensure_future(world.take_over(run_id))
    await world.until(lambda state: len(gate.made) == 2)
    lost = next(each for each in await world.events(AttemptReturned) if each.lost)
    await world.append(run_id, AttemptReturned(attempt="wo-001.1/a1", failure=lost.failure))
    gate.open.set()
    state = await again

    assert state.status is RunStatus.SUCCEEDED
    assert gate.made == [2, 2]


async def test_nobody_waits_for_people_while_there_is_work_to_do(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("pay", "send", amount=1), *(ask(f"s{n}", "look", n=n) for n in range(4))))
    world = open_world(models, [bench.send(), bench.look], limits=Limits(batch_size=1))
    state = await world.run()

    assert state.status is RunStatus.WAITING
    assert [event.reason.split()[0] for event in await world.events(RunStatusSet)] == ["1"]


async def test_a_follower_sees_every_event_in_order_without_gap_or_repeat(open_world: Any):
    bench = Bench()
    world = open_world(FakeModels(plan(*(ask(f"s{n}", "look", n=n) for n in range(20)))), [bench.look])
    run_id = await world.start()
    driving = world.driving(run_id)
    seen: list[int] = []
    async with asyncio.timeout(60):
        async for batch in world.store.follow(run_id):
            seen += [entry.seq for entry in batch]
            if batch[-1].event.type == "run_finished":
                break
    await driving

    assert seen == list(range(1, len(seen) + 1))


async def test_a_log_that_cannot_be_written_ends_the_driving_and_not_in_silence(open_world: Any):
    class Full(MemoryStore):
        """A disk that is full for a while."""

        full = True

        def append(self, run_id: str, events: Any, **more: Any) -> Any:
            if self.full and any(isinstance(event, AttemptReturned) for event in events):
                raise StoreError("the disk is full", "Make room.")
            return super().append(run_id, events, **more)

    clock = FixedClock()
    store = Full(clock)
    world = open_world(FakeModels(plan(ask("a", "look", n=1))), [Bench().look], clock=clock, store=store)
    run_id = await world.start()
    with pytest.raises(StoreError, match="the disk is full"):
        await world.drive(run_id)

    store.full = False
    await world.store.release(run_id, 1)
    await world.store.claim(run_id)
    assert (await world.drive(run_id)).status is RunStatus.SUCCEEDED, "this process never drives that run again"


async def test_two_runs_at_once_have_nothing_to_do_with_each_other(open_world: Any):
    gate = Gate()
    bench = Bench()
    models = FakeModels(
        lambda request, facts: plan(ask("a", "wait" if facts["request"] == "slow" else "look", n=1)),
    )
    world = open_world(models, [bench.look, gate.tool], limits=Limits(max_workers=1))
    slow, quick = await world.start("slow"), await world.start("quick")
    driving = world.driving(slow)
    await world.until(lambda state: gate.made, slow)
    assert (await world.drive(quick)).status is RunStatus.SUCCEEDED
    await world.append(slow, RunRequested(what="cancel", by="me"))

    assert (await driving).status is RunStatus.CANCELLED
    assert [entry.seq for entry in await world.entries(quick)] == list(range(1, len(await world.entries(quick)) + 1))
