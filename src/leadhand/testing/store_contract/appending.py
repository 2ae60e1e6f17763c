"""Creating runs and appending to them: order, atomicity, and what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadhand.domain.errors import Fenced, NoSuchRun, UsageError
from leadhand.domain.events import AnyEvent, Entry, ToolCallReturned
from leadhand.domain.limits import Limits
from leadhand.domain.run import RunStatus
from leadhand.ports import AllowanceRefused, ContextStore

from .fixtures import OneStore, TwoStores
from .samples import ATTEMPT, began, pauses, reasons, started, tokens, tokens_left


class AppendingContract(OneStore):
    """A run is a sequence of entries, written whole or not at all."""

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

    async def test_what_an_append_returns_is_what_is_read(self, store: ContextStore) -> None:
        entries = [await store.create("run-1", started())]
        entries += await store.append("run-1", pauses("a", "b"))
        assert await store.read("run-1") == entries

    async def test_the_order_of_calls_is_the_order_of_the_log(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        calls = [store.append("run-1", pauses(f"{number}")) for number in range(200)]
        entries = await asyncio.gather(*reversed(calls))
        assert [entry.seq for (entry,) in reversed(entries)] == list(range(2, 202))
        assert reasons(await store.read("run-1")) == [f"{number}" for number in range(200)]

    async def test_an_append_is_written_whole_or_not_at_all(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        too_much: list[AnyEvent] = [began("c1", tokens(60)), *pauses("a"), began("c2", tokens(60))]
        with pytest.raises(AllowanceRefused):
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

    async def test_every_method_that_names_a_run_says_when_there_is_none(self, store: ContextStore) -> None:
        calls: list[Callable[[], Awaitable[object]]] = [
            lambda: store.append("nowhere", pauses("a")),
            lambda: store.read("nowhere"),
            lambda: anext(store.follow("nowhere")),
            lambda: store.claim("nowhere"),
            lambda: store.release("nowhere", 1),
            lambda: store.run("nowhere"),
            lambda: store.runs(before="nowhere"),
            lambda: store.save_snapshot("nowhere", 1, "schema", b""),
            lambda: store.snapshot("nowhere", "schema"),
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
        event = ToolCallReturned(attempt=ATTEMPT, call_id="c", tool="weather_tool", ok=True, summary="\n\t€", raw=raw)
        entries = await store.append("run-1", [event])
        assert await store.read("run-1", after=1) == entries
        assert entries[0].event == event


class SharedAppendingContract(TwoStores):
    """Processes append to one run, and read what others wrote."""

    async def test_every_store_is_a_host_of_its_own(self, store: ContextStore, second_store: ContextStore) -> None:
        assert store.host
        assert store.host != second_store.host

    async def test_an_id_is_one_run_s_alone_among_all_processes(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        outcomes = await asyncio.gather(
            *(each.create("run-1", started()) for each in (store, second_store)), return_exceptions=True
        )
        assert sorted(map(str, map(type, outcomes))) == sorted(map(str, [Entry, UsageError]))
        assert len(await store.read("run-1")) == 1

    async def test_what_an_append_returns_is_what_every_process_reads(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        entries = [await store.create("run-1", started())]
        entries += await store.append("run-1", pauses("a", "b"))
        assert await store.read("run-1") == entries
        assert await second_store.read("run-1") == entries

    async def test_appends_of_two_processes_share_one_sequence(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        calls = [each.append("run-1", pauses(f"{n}")) for n in range(50) for each in (store, second_store)]
        await asyncio.gather(*calls)
        entries = await store.read("run-1")
        assert [entry.seq for entry in entries] == list(range(1, 102))
        assert sorted(reasons(entries)) == sorted(f"{n}" for n in range(50) for _ in range(2))

    async def test_half_a_character_is_replaced_and_not_an_error(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        """A model that is cut off inside an emoji leaves one surrogate behind, which no database can hold."""
        await store.create("run-1", started())
        event = ToolCallReturned(
            attempt=ATTEMPT, call_id="c", tool="t", ok=True, raw={"\ud83d": ["ab\ud83d", "\ud83c\udf88"]}
        )
        entries = await store.append("run-1", [event])
        assert await second_store.read("run-1", after=1) == entries
        assert entries[0].event == event.evolve(raw={"�": ["ab�", "🎈"]})
