"""Limits that several processes share on one database: never too many at once, nobody starves, the dead free theirs."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from contextlib import aclosing
from typing import Any

import pytest
from store_processes import process, until

from leadhand.app.runtime.clock import SystemClock
from leadhand.core.limits import SharedLimit
from leadhand.engine.calls.limiter import Limiter
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore

THREE = SharedLimit(scope="the tool `x`", most=3)

PREAMBLE = """
import time
from leadhand.core.limits import SharedLimit
from leadhand.app.runtime.clock import SystemClock
from leadhand.engine.calls.limiter import Limiter
THREE = SharedLimit(scope="the tool `x`", most=3)
"""

CALLS = (
    PREAMBLE
    + """
async def main():
    store = await open_store(url)
    limits, done = Limiter(store, SystemClock()), []
    async def call(n):
        async with limits.permit(THREE, f"run-{n % 5}"):
            began = time.monotonic()
            await asyncio.sleep(0.002)
            done.append((began, time.monotonic()))
    say("ready")
    await asyncio.to_thread(input)
    await asyncio.gather(*(call(n) for n in range(500)))
    for began, ended in done:
        say(began, ended)
    await limits.aclose()
    await store.aclose()

asyncio.run(main())
"""
)

HOLDS = (
    PREAMBLE
    + """
async def main():
    store = await open_store(url, heartbeat_limit_s=1.0)
    limits, free = Limiter(store, SystemClock()), asyncio.Event()
    async def call(n):
        async with limits.permit(THREE, "run"):
            say("holds")
            await free.wait()
        say("left")
    calls = [asyncio.ensure_future(call(n)) for n in range(3)]
    await asyncio.to_thread(input)
    free.set()
    await asyncio.gather(*calls)
    await asyncio.to_thread(input)

asyncio.run(main())
"""
)


def most_at_once(spans: list[tuple[float, float]]) -> int:
    """The most calls that were under way at the same moment."""
    changes = sorted([(began, 1) for began, _ in spans] + [(ended, -1) for _, ended in spans])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


@pytest.mark.slow
async def test_a_thousand_calls_of_two_processes_are_never_more_than_three_at_once_and_none_starves(url: str):
    async with process(url, CALLS) as one, process(url, CALLS) as other:
        assert await one.heard() == await other.heard() == ["ready"]
        await asyncio.gather(one.tell(), other.tell())
        said = await asyncio.gather(one.rest(), other.rest())
    mine, its = ([(float(began), float(ended)) for began, ended in map(str.split, lines)] for lines in said)
    assert len(mine) == len(its) == 500
    assert most_at_once([*mine, *its]) <= 3
    # While both had calls left, neither process was kept waiting by the other.
    both = min(max(ended for _, ended in mine), max(ended for _, ended in its))
    shares = [sum(ended <= both for _, ended in spans) for spans in (mine, its)]
    assert min(shares) >= 100, shares


async def held_soon(limits: Limiter, limit: SharedLimit = THREE, patience_s: float = 30.0) -> None:
    """Hold a place for a moment."""
    async with asyncio.timeout(patience_s), limits.permit(limit, "run"):
        pass


async def test_a_killed_process_frees_its_places(url: str):
    async with process(url, HOLDS) as holder, aclosing(await open_store(url)) as store:
        for _ in range(3):
            assert await holder.heard() == ["holds"]
        limits = Limiter(store, SystemClock())
        waiting = asyncio.ensure_future(held_soon(limits))
        await until(lambda: waits(store, 1))
        assert not waiting.done()
        await holder.kill()
        await waiting
        await until(lambda: waits(store, 0))


async def waits(store: SqlContextStore, count: int) -> bool:
    """Whether so many places are waited for."""
    return await counted(store, "wanted") == count


async def counted(store: Any, column: str) -> int:
    """How many places the processes have (``held``) or wait for (``wanted``)."""
    ((count,),) = await store._rows(f"SELECT coalesce(sum({column}), 0) FROM places WHERE name = ?", THREE.scope)
    return count


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_suspended_holder_on_a_server_loses_its_places_and_does_not_free_those_of_others_later(
    postgres_tables_url: str,
):
    async with process(postgres_tables_url, HOLDS) as holder, aclosing(await open_store(postgres_tables_url)) as store:
        for _ in range(3):
            assert await holder.heard() == ["holds"]
        limits, free = Limiter(store, SystemClock()), asyncio.Event()
        held: list[int] = []

        async def call(n: int) -> None:
            async with limits.permit(THREE, "run"):
                held.append(n)
                await free.wait()

        holder.signal(signal.SIGSTOP)
        await holder.stopped()
        calls = [asyncio.ensure_future(call(n)) for n in range(5)]
        await until(lambda: has(held, 3), 30)
        holder.signal(signal.SIGCONT)
        await holder.tell()
        for _ in range(3):
            assert await holder.heard() == ["left"]
        assert (await counted(store, "held"), len(held)) == (3, 3)
        free.set()
        await asyncio.gather(*calls)


async def has(held: list[int], count: int) -> bool:
    return len(held) == count


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_suspended_holder_on_one_machine_keeps_its_places(sqlite_url: str):
    """Its calls may still be going on, and nobody can tell."""
    async with process(sqlite_url, HOLDS) as holder, aclosing(await open_store(sqlite_url)) as store:
        for _ in range(3):
            assert await holder.heard() == ["holds"]
        holder.signal(signal.SIGSTOP)
        await holder.stopped()
        waiting = asyncio.ensure_future(held_soon(Limiter(store, SystemClock())))
        await until(lambda: waits(store, 1))
        await asyncio.sleep(1.5)  # longer than the interval of checks for the dead
        assert not waiting.done()
        holder.signal(signal.SIGCONT)
        await holder.tell()
        await waiting


async def test_a_call_that_no_longer_waits_keeps_no_place_from_others(url: str):
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as second:
        limits, others, free = Limiter(store, SystemClock()), Limiter(second, SystemClock()), asyncio.Event()
        held: list[int] = []

        async def call(n: int, of: Limiter) -> None:
            async with of.permit(THREE, "run"):
                held.append(n)
                await free.wait()

        holding = [asyncio.ensure_future(call(n, limits)) for n in range(3)]
        await until(lambda: has(held, 3))
        waiting = [asyncio.ensure_future(call(n, others)) for n in range(10)]
        await until(lambda: waits(store, 3))  # a process queues for no more places than there are
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await until(lambda: waits(store, 0))
        free.set()
        await asyncio.gather(*holding)
        await until(lambda: used(store, 0))
        await held_soon(others)


async def used(store: SqlContextStore, count: int) -> bool:
    return await counted(store, "held") == count


async def test_a_place_given_to_a_call_that_was_cancelled_meanwhile_is_given_back(url: str):
    async with aclosing(await open_store(url)) as store:
        limits = Limiter(store, SystemClock())
        for pause in (0.0, 0.0005, 0.001, 0.002, 0.004, 0.01, 0.02):
            calls = [asyncio.ensure_future(held_soon(limits)) for _ in range(5)]
            await asyncio.sleep(pause)
            for each in calls:
                each.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.gather(*(held_soon(limits) for _ in range(5)))
        await until(lambda: used(store, 0))


async def test_a_run_takes_no_more_places_than_its_own_limit_allows(url: str):
    async with aclosing(await open_store(url)) as store:
        limits, free, held = Limiter(store, SystemClock()), asyncio.Event(), list[str]()

        async def call(run_id: str, most: int) -> None:
            async with limits.permit(THREE, run_id, most):
                held.append(run_id)
                await free.wait()

        calls = [asyncio.ensure_future(call("narrow", 1)) for _ in range(3)]
        calls += [asyncio.ensure_future(call("wide", 5)) for _ in range(2)]
        await until(lambda: has([*range(len(held))], 3))
        assert Counter(held) == {"narrow": 1, "wide": 2}
        free.set()
        await asyncio.gather(*calls)
