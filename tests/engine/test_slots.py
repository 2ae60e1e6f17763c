"""Slots: the runs of a process share them fairly, and none gets lost."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.engine.calls.permits import Bounded, Queue, TimeIsUp, outside
from leadhand.engine.threads import Threads
from leadhand.ports.models import ModelProfile


async def turns(count: int = 20) -> None:
    """Let other tasks go on."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_small_run_does_not_wait_behind_a_large_one() -> None:
    slots, done = Queue(2), list[str]()

    async def work(run_id: str) -> None:
        async with slots.slot(run_id, 100):
            await turns(2)
            done.append(run_id)

    large = [asyncio.create_task(work("large")) for _ in range(50)]
    await turns()
    before = len(done)
    await asyncio.gather(*(work("small") for _ in range(3)))
    assert done[before:].count("large") < 20, "the small run waited for the large one"
    await asyncio.gather(*large)


async def test_an_attempt_cancelled_while_it_waits_to_take_its_slot_again_leaves_no_slot_behind() -> None:
    slots, released = Queue(1), asyncio.Event()

    async def waits_outside() -> None:
        async with slots.slot("a"), outside():
            await released.wait()

    waiting = asyncio.create_task(waits_outside())
    await turns()
    async with slots.slot("b"):
        released.set()
        await turns()  # it wants its slot back, which is taken
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        second = asyncio.create_task(waits_outside())
        await turns()
        assert not second.done()
        third = asyncio.ensure_future(slots.slot("c").__aenter__())
        await turns()
        assert not third.done(), "there is a slot too many"
        third.cancel()
        second.cancel()
        await asyncio.gather(second, third, return_exceptions=True)
    async with asyncio.timeout(60), slots.slot("d"):
        pass


async def test_an_attempt_cancelled_as_it_is_given_a_slot_passes_it_on() -> None:
    slots = Queue(1)
    holder = slots.slot("a")
    await holder.__aenter__()
    first = asyncio.ensure_future(slots.slot("b").__aenter__())
    await turns()
    await holder.__aexit__(None, None, None)  # the slot is given to the first, which has not run yet
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    async with asyncio.timeout(60), slots.slot("c"):
        pass


async def test_parallel_waits_take_no_time_of_an_attempt() -> None:
    async def wait(seconds: float) -> None:
        async with outside():
            await asyncio.sleep(seconds)

    late = False
    try:
        async with Bounded(0.1):
            await asyncio.gather(wait(0.01), wait(0.4))
    except TimeoutError:
        late = True
    assert not late


async def test_a_call_that_begins_to_wait_while_another_takes_the_slot_back_takes_no_second_one() -> None:
    slots, events = Queue(1), [asyncio.Event() for _ in range(4)]
    first_ends, second_begins, other_ends, second_ends = events

    async def first() -> None:
        async with outside():
            await first_ends.wait()

    async def second() -> None:
        await second_begins.wait()
        async with outside():
            await second_ends.wait()

    async def attempt() -> None:
        async with slots.slot("a"):
            await asyncio.gather(first(), second())

    async def other() -> None:
        async with slots.slot("b"):
            await other_ends.wait()

    tasks = [asyncio.create_task(attempt())]
    await turns()
    tasks.append(asyncio.create_task(other()))
    for event in (first_ends, second_begins, other_ends):
        await turns()
        event.set()
    await turns()
    assert slots.in_use == 0, "the attempt waits, and holds the slot that its first call took back"
    second_ends.set()
    async with asyncio.timeout(10):
        await asyncio.gather(*tasks)
    assert (slots.in_use, slots._runs) == (0, {})


async def test_a_task_that_outlives_its_attempt_takes_no_slot_and_stops_no_clock() -> None:
    slots, ended, tasks = Queue(1), asyncio.Event(), list[asyncio.Task[None]]()

    async def abandoned() -> None:
        await ended.wait()
        async with outside():
            await asyncio.sleep(0)

    async with slots.slot("a"), Bounded(60):
        async with Bounded(30):
            tasks.append(asyncio.create_task(abandoned()))
        ended.set()
        await asyncio.gather(*tasks)
        ended.clear()
        tasks.append(asyncio.create_task(abandoned()))
    ended.set()
    await asyncio.gather(*tasks)
    assert (slots.in_use, slots._runs) == (0, {})


@pytest.mark.slow
async def test_three_hundred_subtasks_are_all_done(open_world: Any):
    bench = Bench()
    world = open_world(
        FakeModels(plan(*(ask(f"s{n}", "look", n=n) for n in range(300)))), [bench.look], clock=SystemClock()
    )
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert sorted(n for _, n in bench.made) == list(range(300))
    assert bench.most_at_once <= state.definition.limits.max_workers


@pytest.mark.parametrize("most", [1, 2, 7])
async def test_no_more_workers_run_at_once_than_allowed_and_all_come_to_their_turn(open_world: Any, most: int):
    bench = Bench()
    models = FakeModels(plan(*(ask(f"s{n}", "measure", n=n) for n in range(20))))
    world = open_world(models, [bench.measure], limits=Limits(max_workers=most))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.most_at_once <= most
    assert models.most_at_once <= most


async def test_a_place_is_given_back_by_whoever_is_cancelled_at_the_gate():
    slots = Queue(1)

    async def gated() -> None:
        async with slots.slot(), outside():
            await asyncio.sleep(60)

    async def quick() -> str:
        async with slots.slot():
            return "quick"

    waiting = asyncio.ensure_future(gated())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(60):
        assert await asyncio.gather(quick(), quick()) == ["quick", "quick"]


async def _times_out_when_cancelled() -> None:
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        raise TimeoutError("what the end of the time led to") from None


async def test_a_time_out_of_its_own_is_told_from_one_that_the_block_raises():
    with pytest.raises(TimeIsUp):
        async with Bounded(0.01):
            await asyncio.sleep(1)
    with pytest.raises(TimeoutError) as raised:
        async with Bounded(1):
            raise TimeoutError("not ours")
    assert not isinstance(raised.value, TimeIsUp)
    with pytest.raises(TimeIsUp):
        async with Bounded(0.01):
            await _times_out_when_cancelled()


async def test_blocking_calls_run_on_threads_of_our_own_so_many_at_once():
    threads = Threads(2, "leadhand-test")
    running: list[int] = []
    most: list[int] = []

    def call(number: int) -> int:
        running.append(number)
        most.append(len(running))
        time.sleep(0.01)
        running.remove(number)
        return number

    assert await asyncio.gather(*(threads.run(partial(call, n)) for n in range(6))) == list(range(6))
    assert max(most) <= 2


@pytest.mark.slow
async def test_an_order_of_many_shards_is_reviewed_in_parallel(open_world: Any):
    wide = ModelProfile(name="fake", free=True, window=200_000)
    models = FakeModels(plan(*(ask(f"s{n}", "look", n=n) for n in range(330))), profile=wide)
    world = open_world(models, [Bench().look])
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert len(models.requests("review")) == 4, "each shows a hundred results that code has verified"
    assert models.most_at_once > 1, "the blocks are not reviewed side by side"
    assert len(models.facts("compose")[0]["results"]) == 330
