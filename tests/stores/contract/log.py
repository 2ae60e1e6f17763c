"""The log of a run: appending to it, the fences that refuse what comes too late, reading, and following."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadhand.core import events as ev
from leadhand.core.errors import BudgetRefused, Fenced, NoSuchRun, StaleAttempt, StoreError, UsageError
from leadhand.core.events import StepRequested
from leadhand.core.ids import step_of
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.tool import Effect
from leadhand.core.value import DEEPEST, LARGEST, Json
from leadhand.ports import ContextStore

from .samples import ATTEMPT, Contract, began, collected, lost, next_of, pauses, reasons, started, tokens, tokens_left


class LogContract(Contract):
    """Entries are written whole or not at all, in order, unless a fence refuses them; followers see each once."""

    async def test_a_new_run_is_owned_by_its_host_under_epoch_1(self, store: ContextStore) -> None:
        entry = await store.create("run-1", started())
        assert (entry.seq, entry.epoch, entry.event) == (1, 1, started())
        listing = await store.run("run-1")
        assert (listing.owner, listing.epoch, listing.orphan) == (store.host, 1, False)

    async def test_an_id_is_one_run_s_alone(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        with pytest.raises(UsageError, match="run-1"):
            await store.create("run-1", started("another"))
        assert [entry.event for entry in await store.read("run-1")] == [started()]

    async def test_entries_are_numbered_without_a_gap_and_dated_in_utc(self, store: ContextStore) -> None:
        before = datetime.now(UTC)
        await store.create("run-1", started())
        entries = await store.append("run-1", pauses("a", "b"), epoch=1)
        entries += await store.append("run-1", pauses("c"))
        assert [entry.seq for entry in entries] == [2, 3, 4]
        assert reasons(entries) == ["a", "b", "c"]
        assert all(entry.epoch == 1 for entry in entries)
        slack = timedelta(seconds=1)
        assert all(before - slack <= entry.at <= datetime.now(UTC) + slack for entry in entries)
        assert all(entry.at.utcoffset() == timedelta(0) for entry in entries)

    async def test_what_an_append_returns_is_what_is_read(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        entries = [await store.create("run-1", started())]
        entries += await store.append("run-1", pauses("a", "b"))
        assert await store.read("run-1") == await second_store.read("run-1") == entries

    async def test_the_deepest_and_longest_values_can_be_read_back(self, store: ContextStore) -> None:
        deep: Json = 0
        for level in range(DEEPEST):
            deep = [deep] if level % 2 else {"a": deep}
        await store.create("run-1", started())
        values: list[Json] = [deep, "x" * (LARGEST // 10), 10**4_000]
        for value in values:
            await store.append("run-1", [StepRequested(what="supply", steps=("wo-001.0",), summary="x", raw=value)])
        read = [entry.event for entry in await store.read("run-1", after=1)]
        assert [event.raw for event in read if isinstance(event, StepRequested)] == values

    async def test_the_order_of_calls_is_the_order_of_the_log(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        calls = [store.append("run-1", pauses(f"{number}")) for number in range(200)]
        entries = await asyncio.gather(*reversed(calls))
        assert [entry.seq for (entry,) in reversed(entries)] == list(range(2, 202))
        assert reasons(await store.read("run-1")) == [f"{number}" for number in range(200)]

    async def test_an_append_is_written_whole_or_not_at_all(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        too_much: list[ev.AnyEvent] = [began("c1", tokens(60)), *pauses("a"), began("c2", tokens(60))]
        with pytest.raises(BudgetRefused):
            await store.append("run-1", too_much, blobs={"d1": b"x"})
        assert len(await store.read("run-1")) == 1
        assert (await store.run("run-1")).status is RunStatus.RUNNING
        assert await tokens_left(store, "run-1") == 100
        with pytest.raises(KeyError):
            await store.blob("d1")

    async def test_a_refused_append_disturbs_none_beside_it(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        calls = [
            store.append("run-1", pauses("a"), epoch=1),
            store.append("run-1", pauses("b"), epoch=7),
            store.append("nowhere", pauses("c")),
            store.append("run-1", pauses("d"), epoch=1),
        ]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(outcomes[1], Fenced)
        assert isinstance(outcomes[2], NoSuchRun)
        assert reasons(await store.read("run-1")) == ["a", "d"]

    async def test_giving_up_waiting_does_not_take_an_append_back(self, store: ContextStore) -> None:
        await store.create("run-1", started())

        async def append() -> None:
            await store.append("run-1", pauses("a"))

        waiting = asyncio.create_task(append())
        await asyncio.sleep(0)
        waiting.cancel()
        await store.append("run-1", pauses("b"))
        assert reasons(await store.read("run-1")) == ["a", "b"]

    async def test_an_append_of_no_events_keeps_its_blobs(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        assert await store.append("run-1", [], blobs={"d1": b"x"}) == []
        assert await store.blob("d1") == b"x"

    async def test_every_method_that_names_a_run_refuses_an_unknown_run(self, store: ContextStore) -> None:
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.append("nowhere", pauses("a")),
            lambda: store.read("nowhere"),
            lambda: anext(store.follow("nowhere")),
            lambda: store.claim("nowhere"),
            lambda: store.release("nowhere", 1),
            lambda: store.run("nowhere"),
            lambda: store.runs(before="nowhere"),
        ]
        for call in calls:
            with pytest.raises(NoSuchRun, match="nowhere"):
                await call()

    async def test_what_tools_return_comes_back_as_it_was(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        raw: dict[str, Any] = {
            "text": "Grüße, 世界 🎈 \0\x1e\x1f\x7f\u2028 \"quoted\" \\ 'single'; DROP TABLE events; %s ? {}",
            "numbers": [0, -1, 1.5, 1e300, 2**53, 2**70],
            "nested": {"": None, "a.b": [[], {}, True, False]},
        }
        event = ev.ToolCallReturned(
            attempt=ATTEMPT, call_id="c", tool="weather_tool", ok=True, summary="\n\t€", raw=raw
        )
        entries = await store.append("run-1", [event])
        assert await store.read("run-1", after=1) == entries
        assert entries[0].event == event

    async def test_a_decision_under_another_epoch_is_refused(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert await second_store.claim("run-1") == 2
        for each in (store, second_store):
            with pytest.raises(Fenced, match="run-1"):
                await each.append("run-1", pauses("stale"), epoch=1)
        await second_store.append("run-1", pauses("mine"), epoch=2)
        assert reasons(await store.read("run-1")) == ["mine"]

    async def test_observations_and_requests_pass_under_every_epoch(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        await store.claim("run-1")
        (entry,) = await store.append("run-1", [ev.RunRequested(what="cancel", by="a person")])
        assert entry.epoch == 2

    @pytest.mark.parametrize(
        "ended",
        [ev.StepSettled(step=step_of(ATTEMPT), attempt=ATTEMPT, ok=True, final=True), lost()],
        ids=lambda e: e.type,
    )
    async def test_a_once_call_of_an_attempt_that_is_over_does_not_begin(
        self, store: ContextStore, ended: ev.AnyEvent
    ) -> None:
        await store.create("run-1", started())
        call = ev.ToolCallBegan(attempt=ATTEMPT, call_id="c", tool="book", args={}, effect=Effect.ONCE)
        other = call.evolve(attempt="wo-001.0/a2")
        await store.append("run-1", [call], current=ATTEMPT)
        outcomes = await asyncio.gather(
            store.append("run-1", [ended]),
            store.append("run-1", [call], current=ATTEMPT),  # in the same moment
            store.append("run-1", [other], current=other.attempt),
            return_exceptions=True,
        )
        assert isinstance(outcomes[1], StaleAttempt)
        with pytest.raises(StaleAttempt):
            await store.append("run-1", [call], current=ATTEMPT)  # and ever after
        await store.append("run-1", [call])  # only those who ask for the fence are fenced
        assert [entry.event for entry in await store.read("run-1", after=1)] == [call, ended, other, call]

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
        await following.aclose()

    async def test_following_does_not_end_with_the_run(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        following = store.follow("run-1", after=1)
        await store.append("run-1", [ev.RunFinished(status=RunStatus.SUCCEEDED, answer="42")])
        await next_of(following)
        late = await store.append("run-1", [ev.RunRequested(what="cancel")])
        assert await next_of(following) == late
        await following.aclose()


class SharedLogContract(Contract):
    """Processes append to one run, and read and follow what others commit."""

    async def test_every_store_is_a_host_of_its_own(self, store: ContextStore, second_store: ContextStore) -> None:
        assert store.host
        assert store.host != second_store.host

    async def test_an_id_is_one_run_s_alone_among_all_processes(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        outcomes = await asyncio.gather(
            *(each.create("run-1", started()) for each in (store, second_store)), return_exceptions=True
        )
        assert sorted(map(str, map(type, outcomes))) == sorted(map(str, [ev.Entry, UsageError]))
        assert len(await store.read("run-1")) == 1

    async def test_appends_of_two_processes_share_one_sequence(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        calls = [each.append("run-1", pauses(f"{n}")) for n in range(50) for each in (store, second_store)]
        await asyncio.gather(*calls)
        entries = await store.read("run-1")
        assert [entry.seq for entry in entries] == list(range(1, 102))
        assert sorted(reasons(entries)) == sorted(f"{n}" for n in range(50) for _ in range(2))

    async def test_half_a_character_is_refused_and_stops_no_other(self, store: ContextStore) -> None:
        """No database can hold one; what models and tools return is checked before."""
        await store.create("run-1", started())
        with pytest.raises(StoreError, match="run_status_set"):
            await store.append("run-1", pauses("ab\ud83d"))
        await store.append("run-1", pauses("🎈"))
        assert reasons(await store.read("run-1")) == ["🎈"]

    async def test_an_attempt_is_over_for_every_process(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        call = ev.ToolCallBegan(attempt=ATTEMPT, call_id="c", tool="book", args={}, effect=Effect.ONCE)
        await store.append("run-1", [lost()])
        with pytest.raises(StaleAttempt):
            await second_store.append("run-1", [call], current=ATTEMPT)

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
        await following.aclose()
        # On a busy machine one or the other is late; it is the store that must not be slow.
        assert sorted(taken)[len(taken) // 2] <= 0.1

    async def test_followers_see_every_entry_of_every_process_once(
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
