"""Reading a log, and following it while it grows."""

from __future__ import annotations

import asyncio
import time

import pytest

from leadhand.domain.events import CancelRequested, RunFinished
from leadhand.domain.run import RunStatus
from leadhand.ports import ContextStore

from .fixtures import OneStore, TwoStores
from .samples import closed, collected, next_of, pauses, started


class FollowingContract(OneStore):
    """Followers see every entry once, in order."""

    async def test_reading_begins_after_a_sequence_and_stops_at_a_limit(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", pauses(*(f"{number}" for number in range(2, 2_502))))
        assert [entry.seq for entry in await store.read("run-1")] == list(range(1, 2_502))
        assert [entry.seq for entry in await store.read("run-1", after=2)] == list(range(3, 2_502))
        assert [entry.seq for entry in await store.read("run-1", after=2, limit=2)] == [3, 4]
        assert [entry.seq for entry in await store.read("run-1", limit=1_500)] == list(range(1, 1_501))
        assert await store.read("run-1", limit=0) == []
        assert await store.read("run-1", after=2_501) == []

    async def test_following_begins_with_what_is_there(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", pauses(*(f"{number}" for number in range(2, 1_202))))
        entries = await collected(store.follow("run-1", after=3), until=1_201)
        assert [entry.seq for entry in entries] == list(range(4, 1_202))

    async def test_what_this_process_commits_comes_at_once(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        following = store.follow("run-1", after=1)
        waiting = asyncio.create_task(next_of(following))
        await asyncio.sleep(0.02)
        entries = await store.append("run-1", pauses("a"))
        assert await waiting == entries
        await closed(following)

    async def test_every_follower_sees_every_entry_once(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        followers = [asyncio.create_task(collected(store.follow("run-1"), until=201)) for _ in range(3)]
        for number in range(100):
            await asyncio.gather(*(store.append("run-1", pauses(f"{number}")) for _ in range(2)))
        for follower in followers:
            assert [entry.seq for entry in await follower] == list(range(1, 202))

    async def test_a_slow_follower_misses_nothing(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        following = store.follow("run-1")
        await next_of(following)
        for _ in range(10):
            await store.append("run-1", pauses(*("x" * 500)))
        entries = await collected(following, until=5_001)
        assert [entry.seq for entry in entries] == list(range(2, 5_002))

    async def test_followers_of_one_run_hear_nothing_of_another(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.create("run-2", started())
        following = store.follow("run-1", after=1)
        waiting = asyncio.create_task(next_of(following))
        await store.append("run-2", pauses("other"))
        entries = await store.append("run-1", pauses("mine"))
        assert await waiting == entries
        await closed(following)

    async def test_following_does_not_end_with_the_run(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        following = store.follow("run-1", after=1)
        await store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="42")])
        await next_of(following)
        late = await store.append("run-1", [CancelRequested()])
        assert await next_of(following) == late
        await closed(following)

    async def test_a_follower_can_be_cancelled_at_any_time(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        waiting = asyncio.create_task(collected(store.follow("run-1"), until=99))
        await asyncio.sleep(0.02)
        waiting.cancel()
        async with asyncio.timeout(1):
            with pytest.raises(asyncio.CancelledError):
                await waiting


class SharedFollowingContract(TwoStores):
    """Followers see what other processes commit."""

    async def test_what_others_commit_comes_within_100_ms(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        following = store.follow("run-1")
        await next_of(following)
        taken: list[float] = []
        for number in range(10):
            waiting = asyncio.create_task(next_of(following))
            await asyncio.sleep(0.01)
            entries = await second_store.append("run-1", pauses(f"{number}"))
            committed = time.perf_counter()
            assert await waiting == entries
            taken.append(time.perf_counter() - committed)
        await closed(following)
        # On a busy machine one or the other is late; it is the store that must not be slow.
        assert sorted(taken)[len(taken) // 2] <= 0.1

    async def test_followers_see_every_entry_once_whoever_commits(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        followers = [
            asyncio.create_task(collected(each.follow("run-1"), until=401)) for each in (store, second_store, store)
        ]

        async def write(each: ContextStore) -> None:
            for number in range(100):
                await asyncio.gather(*(each.append("run-1", pauses(f"{number}")) for _ in range(2)))

        await asyncio.gather(write(store), write(second_store))
        for follower in followers:
            assert [entry.seq for entry in await follower] == list(range(1, 402))
