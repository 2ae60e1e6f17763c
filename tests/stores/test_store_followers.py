"""Followers: prompt, complete, and free of charge when there are none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from stores.contract import next_of, pauses, started

from leadhand.core.errors import NoSuchRun, StoreError
from leadhand.stores import followers
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        yield store


@pytest.fixture
async def other(store: SqlContextStore, url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(url)) as store:
        yield store


def followed(store: SqlContextStore) -> set[str]:
    return set(store._followers._of_run)


async def test_a_cancelled_follower_is_forgotten(store: SqlContextStore) -> None:
    async def follow() -> None:
        async with aclosing(store.follow("run-1")) as following:  # type: ignore[type-var]
            async for _ in following:
                pass

    waiting = asyncio.create_task(follow())
    await asyncio.sleep(0.05)
    assert followed(store) == {"run-1"}
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert followed(store) == set()


async def test_a_gap_left_by_another_process_is_filled_before_going_on(
    store: SqlContextStore, other: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "POLL_S", 3_600)  # as if it had not looked yet
    following: Any = store.follow("run-1")
    await next_of(following)
    await other.append("run-1", pauses("foreign", "foreign"))
    await store.append("run-1", pauses("mine"))
    received = [*await next_of(following)]
    while received[-1].seq < 4:
        received += await next_of(following)
    await following.aclose()
    assert [entry.seq for entry in received] == [2, 3, 4]


async def test_what_is_held_for_a_slow_follower_is_bounded(
    store: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "MOST_HELD", 10)
    monkeypatch.setattr(followers, "PAGE", 7)
    following: Any = store.follow("run-1")
    await next_of(following)
    ((follower,),) = store._followers._of_run.values()
    for number in range(50):
        await store.append("run-1", pauses(f"{number}"))
        assert len(follower._held) <= 10
    received: list[int] = []
    while not received or received[-1] < 51:
        received += [entry.seq for entry in await next_of(following)]
    await following.aclose()
    assert received == list(range(2, 52))


async def test_closing_the_store_ends_its_followers_with_an_error(url: str) -> None:
    store = await open_store(url)
    await store.create("run-1", started())
    following = store.follow("run-1", after=1)
    waiting = asyncio.create_task(next_of(following))
    await asyncio.sleep(0.02)
    await store.aclose()
    with pytest.raises(StoreError):
        await waiting


async def test_a_run_that_disappears_ends_its_followers(
    store: SqlContextStore, other: SqlContextStore, url: str, run_sql: Any
) -> None:
    following = store.follow("run-1", after=1)
    waiting = asyncio.create_task(next_of(following))
    await asyncio.sleep(0.02)
    run_sql(url, "DELETE FROM events WHERE run_id = ?", "run-1")
    run_sql(url, "DELETE FROM runs WHERE run_id = ?", "run-1")
    with pytest.raises(NoSuchRun):
        await waiting
