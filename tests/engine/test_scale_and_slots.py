"""Many hands: all of them work, no more than allowed at once, and waiting costs nobody a place."""

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
