"""Slots: the runs of a process share them fairly, and none gets lost."""

from __future__ import annotations

import asyncio

from leadhand.engine.calls.permits import Bounded, Queue, outside


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


async def test_a_run_of_a_higher_priority_gets_the_next_free_slots() -> None:
    slots, done = Queue(2), list[str]()

    async def work(run_id: str, priority: int) -> None:
        async with slots.slot(run_id, 100, priority):
            await turns(2)
            done.append(run_id)

    usual = [asyncio.create_task(work("usual", 0)) for _ in range(10)]
    await turns(1)
    urgent = [asyncio.create_task(work("urgent", 5)) for _ in range(4)]
    await asyncio.gather(*usual, *urgent)
    assert done[:6] == ["usual"] * 2 + ["urgent"] * 4


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
