"""The pace at which a model is asked: it grows, gives way, and keeps away when told to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from memory_store import MemoryStore

from engine.fakes import FakeModels, FixedClock, down
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.errors import FailureClass
from leadhand.core.events import ModelCallBegan, ModelCallReturned, NoteEmitted
from leadhand.core.limits import Limits, Usage
from leadhand.core.run import RunStatus
from leadhand.engine.calls.model_calls import MOST_INTERRUPTED
from leadhand.engine.calls.pace import Pace
from leadhand.engine.calls.permits import Queue
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest
from leadhand.testing.steps import worker_of


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def pace(clock: FixedClock) -> Pace:
    return Pace("m", MemoryStore(clock), clock)


async def crowd(pace: Pace, count: int) -> int:
    """Take ``count`` turns together; how many were under way at once, at the most."""
    now = most = 0

    async def one() -> None:
        nonlocal now, most
        async with pace.queue.permit():
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)  # a step of the loop and no time: how many meet does not depend on the machine
            now -= 1
            pace.answered()

    await asyncio.gather(*(one() for _ in range(count)))
    return most


async def test_no_more_calls_are_made_at_once_than_the_server_has_slots_and_each_gets_its_turn(clock: FixedClock):
    pace = Pace("m", MemoryStore(clock), clock, slots=30)
    assert await crowd(pace, 90) == 30
    assert pace.limit == 30


async def test_a_refusal_halves_the_pace_once_for_all_calls_that_were_under_way_together(pace: Pace):
    together = asyncio.Barrier(40)

    async def refused() -> None:
        async with pace.queue.permit():
            await together.wait()
            await pace.refused(0, None)

    await asyncio.gather(*(refused() for _ in range(40)))
    assert pace.limit == 20
    assert await crowd(pace, 100) <= 22, "it grew back at a bound"


async def test_nobody_asks_while_the_server_wants_to_be_left_alone_here_or_in_another_process(clock: FixedClock):
    store = MemoryStore(clock)
    here, elsewhere = Pace("m", store, clock), Pace("m", store, clock)
    await here.rest()
    await here.refused(here.round, 42.0)

    await elsewhere.rest()
    assert clock.slept == [42.0]
    await here.rest()
    assert clock.slept == [42.0]


async def test_a_wait_for_a_rate_limit_is_recorded_once_for_all_who_wait(open_world: Any):
    models = FakeModels(plan(*(ask(f"s{n}", "measure", n=n) for n in range(20))), work="measured")
    world = open_world(models, [Bench().measure], worker_calls="always")
    run_id = await world.start()
    await world.store.hold_gate("model fake", 30)
    await world.drive(run_id)

    note, end = await world.events(NoteEmitted)
    assert all(each in note.message for each in ("30 s", "model fake"))
    assert (note.waits_for, end.waits_s) == (end.waits_for, None)


async def test_no_more_calls_are_made_at_once_than_the_server_has_slots_and_the_queue_costs_no_attempt_its_time(
    open_world: Any,
):
    async def hold(_request: Any) -> None:
        await asyncio.sleep(0.4)

    profile = ModelProfile(name="fake", free=True, slots=2, server="http://127.0.0.1:1/v1")
    subtasks = [{**ask(f"s{n}", "measure", n=n), "expected_output": "a number"} for n in range(10)]
    models = FakeModels(plan(*subtasks), work="measured", profile=profile, hold=hold)
    world = open_world(models, [Bench().measure], worker_calls="always", limits=Limits(attempt_timeout=1.5))
    state = await world.run()

    assert models.most_at_once == 2
    assert {each.attempts for each in state.steps.values()} == {1}
    assert all(each.ok for each in state.steps.values())


async def test_a_cancelled_call_gives_the_slot_of_the_model_server_back(clock: FixedClock) -> None:
    server, slots = Pace("m", MemoryStore(clock), clock, slots=1), Queue(1)
    first_ends, other_ends = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with server.queue.permit():
            await first_ends.wait()

    async def call() -> None:
        async with slots.slot("a"), server.queue.permit():
            await asyncio.Event().wait()

    async def other() -> None:
        async with slots.slot("b"):
            await other_ends.wait()

    tasks: list[asyncio.Task[None]] = []
    for each in (first, call, other):  # the call waits for the server, and the other takes its slot meanwhile
        tasks.append(asyncio.create_task(each()))
        await asyncio.sleep(0.01)
    first_ends.set()
    await asyncio.sleep(0.01)  # the call has the server, and waits for its slot
    tasks[1].cancel()
    other_ends.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    taken = asyncio.create_task(first())
    done, _ = await asyncio.wait({taken}, timeout=0.3)
    taken.cancel()
    await asyncio.gather(taken, return_exceptions=True)
    assert done


async def test_calls_that_hang_keep_nobody_from_finding_out_whether_their_server_is_back(clock: FixedClock) -> None:
    pace, at_once, tried = Pace("m", MemoryStore(clock), clock, slots=2), Counter[str](), list[str]()
    queue, gone = pace.queue, down("gone", "transient", "connection").failure

    async def call(name: str) -> None:
        while True:
            queue = pace.queue
            async with queue.permit():
                if queue is not pace.queue:
                    continue
                at_once["now"] += 1
                if pace.failure is not None:
                    at_once["most"] = max(at_once["most"], at_once["now"])
                await pace.rest(clock.now() + timedelta(hours=1))
                await asyncio.sleep(0)
                at_once["now"] -= 1
                tried.append(name)
                if len(tried) < 3:
                    pace.away(queue, gone)
                    continue
                pace.back()
                return

    async with queue.permit(), queue.permit():  # calls that hang
        calls = [asyncio.create_task(call(name)) for name in "abcd"]
        await asyncio.sleep(0)
        assert queue.waits
        pace.away(queue, gone)
        async with asyncio.timeout(10):
            await asyncio.gather(*calls)
        assert clock.slept[:3] == [1.0, 2.0, 4.0]
    assert (at_once["most"], pace.queue.in_use, pace.failure) == (1, 0, None), "one at a time while it was away"
    assert len(tried) == 6


async def test_calls_that_fail_together_lengthen_the_wait_for_their_server_once(pace: Pace, clock: FixedClock) -> None:
    queue = pace.queue
    for _ in range(20):
        pace.away(queue, down("gone", "transient", "connection").failure)
    await pace.rest(clock.now() + timedelta(hours=1))
    assert clock.slept == [1.0]


async def test_calls_of_a_run_that_are_refused_together_halve_the_pace_once(open_world: Any) -> None:
    together, refused = asyncio.Barrier(20), 0

    async def hold(request: ModelRequest) -> None:
        if worker_of(request) == "work" and refused < 20:
            await together.wait()

    def work(*_: object) -> Any:
        nonlocal refused
        refused += 1
        return down("too many requests", "rate_limited", "http_429") if refused <= 20 else "measured"

    models = FakeModels(plan(*(ask(f"s{n}", "measure", n=n) for n in range(20))), work=work, hold=hold)
    world = open_world(models, [Bench().measure], worker_calls="always", limits=Limits(max_workers=20))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    (pace,) = world.dispatcher._host._models._paces.values()
    assert 10 <= pace.limit < 20


@pytest.mark.parametrize(("workers", "slots"), [(1, None), (40, 1)])
async def test_one_refused_key_is_one_call_and_every_subtask_says_why(open_world: Any, workers: int, slots: int | None):
    bench = Bench()
    refusal = down("the key was refused")
    subtasks = [ask(f"s{n}", "measure", n=n) for n in range(40)]
    profile = ModelProfile(name="fake", free=True, slots=slots, server="http://127.0.0.1:1/v1" if slots else "")
    models = FakeModels(plan(*subtasks), work=refusal, profile=profile)
    world = open_world(models, [bench.measure], worker_calls="always")
    world.limits = world.limits.evolve(max_workers=workers)
    state = await world.run()

    calls = [event for event in await world.events(ModelCallReturned) if event.failure is not None]
    assert len(calls) == 1
    assert bench.counts["measure"] == 40, "tools do not need the model"
    assert {subtask.failure.message for subtask in state.steps.values() if subtask.counts} == {"the key was refused"}


async def test_a_lead_whose_model_is_unavailable_fails_the_run_at_once(open_world: Any):
    world = open_world(FakeModels(down("no such model")))
    state = await world.run()

    assert state.status is RunStatus.FAILED
    assert "no such model" in state.finished.failure.message
    assert len(await world.events(ModelCallBegan)) == 1


REFUSED = down("no connection: refused", "transient", "connection")
SUBTASKS = 20


class AbsentModels(FakeModels):
    """Models whose server is away for workers from the first ``begins`` calls on, until ``back_at`` in seconds."""

    def __init__(self, clock: FixedClock, begins: int, back_at: float, failure: ModelError = REFUSED, **how: Any):
        super().__init__(plan(*(ask(f"s{n}", "measure", n=n) for n in range(SUBTASKS))), work="measured", **how)
        self._clock, self._began, self._left = clock, clock.now(), begins
        self._back_at, self._failure = back_at, failure
        self.probes: list[float] = []

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if worker_of(request) != "plan":
            self._left -= 1
            now = (self._clock.now() - self._began).total_seconds()
            if self._left < 0 and now < self._back_at:
                self.probes.append(now)
                raise self._failure
        return await super().ask(request, on_text)


def open_absent(open_world: Any, *how: Any, patience_s: float = 300.0) -> tuple[Any, AbsentModels]:
    clock = FixedClock()
    models = AbsentModels(clock, *how)
    return open_world(models, [Bench().measure], clock=clock, limits=Limits(model_patience=patience_s)), models


@pytest.mark.parametrize("type_", ["connection", "http_502", "http_503", "http_529", "overloaded"])
async def test_a_server_that_is_away_is_waited_for_and_no_attempt_is_used_up(open_world: Any, type_: str):
    world, models = open_absent(open_world, 0, 100.0, down("gone", "transient", type_))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert {each.attempts for each in state.steps.values()} == {1}
    together = models.probes.count(0)
    assert models.probes[together:] == [1, 3, 7, 15, 31, 61, 91], "one at a time, after 1, 2, 4 … 30 s"
    away, back = (note.message for note in await world.events(NoteEmitted))
    assert all(each in away for each in ("fake", "300 s", "gone", "check that the server runs"))
    assert back.startswith("no longer waiting for fake")


async def test_a_server_that_does_not_come_back_is_one_failure_with_its_cause_and_next_step(open_world: Any):
    world, models = open_absent(open_world, 0, 10_000.0, patience_s=10.0)
    state = await world.run()

    failed = [each.failure for each in state.steps.values() if not each.ok]
    assert {each.attempts for each in state.steps.values()} == {1}
    assert {each.class_ for each in failed} == {FailureClass.TRANSIENT}
    assert all(each in failed[0].message for each in ("fake", "10 s", "refused"))
    assert len({each.message for each in failed}) == 1
    assert failed[0].next_action.endswith("retry the run")
    assert models.probes[models.probes.count(0) :] == [1, 3, 7, 10], "and nobody asks once the patience has ended"


async def test_a_call_that_crashes_its_server_is_not_made_for_ever(open_world: Any):
    world, models = open_absent(open_world, 0, 10_000.0, ModelError(REFUSED.failure, usage=None))
    state = await world.run()

    assert state.status is not RunStatus.SUCCEEDED
    tries = sum(each.attempts for key, each in state.steps.items() if not key.startswith("plan"))
    assert len(models.probes) <= (MOST_INTERRUPTED + 1) * tries


async def test_a_budget_that_is_used_up_does_not_say_that_the_server_is_back(open_world: Any):
    clock = FixedClock()
    models = AbsentModels(clock, 0, 10_000.0, ModelError(REFUSED.failure, usage=Usage()))
    world = open_world(models, [Bench().measure], clock=clock, limits=Limits(model_patience=300.0, max_requests=8))
    await world.run()

    assert 0 < models.probes[-1] < 300, "it is given up for want of budget, and not of patience"
    assert [note.message for note in await world.events(NoteEmitted) if "answers again" in note.message] == []
