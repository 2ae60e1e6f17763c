"""What is stored beside the log: payloads, snapshots, gates and cached answers."""

from __future__ import annotations

import asyncio
import time

import pytest

from leadhand.ports import ContextStore

from .fixtures import OneStore, TwoStores
from .samples import pauses, started


class KeepingContract(OneStore):
    """Blobs stay; the rest may expire."""

    async def test_a_blob_is_kept_with_the_events_that_refer_to_it(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        body = bytes(range(256)) * 100
        await store.append("run-1", pauses("a"), blobs={"digest-1": body, "digest-2": b""})
        await store.append("run-1", pauses("b"), blobs={"digest-1": body})
        assert await store.blob("digest-1") == body
        assert await store.blob("digest-2") == b""
        with pytest.raises(KeyError):
            await store.blob("digest-3")

    async def test_the_latest_snapshot_is_kept(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        assert await store.snapshot("run-1", "v1") is None
        await store.save_snapshot("run-1", 10, "v1", b"\0ten")
        await store.save_snapshot("run-1", 20, "v1", b"twenty")
        await store.save_snapshot("run-1", 15, "v1", b"late")
        assert await store.snapshot("run-1", "v1") == (20, b"twenty")
        assert await store.snapshot("run-1", "v2") is None
        await store.save_snapshot("run-1", 12, "v2", b"another release")
        assert await store.snapshot("run-1", "v2") == (12, b"another release")

    async def test_a_gate_opens_once_an_interval(self, store: ContextStore) -> None:
        began_at = time.monotonic()
        waits = await asyncio.gather(*(store.pass_gate("osm", 5.0) for _ in range(3)))
        taken = time.monotonic() - began_at
        for place, wait in enumerate(sorted(waits)):
            assert place * 5.0 - taken - 0.01 <= wait <= place * 5.0 + 0.01
        assert await store.pass_gate("another", 5.0) == 0.0

    async def test_a_gate_that_was_left_alone_is_open(self, store: ContextStore) -> None:
        assert await store.pass_gate("osm", 0.02) == 0.0
        await asyncio.sleep(0.05)
        assert await store.pass_gate("osm", 0.02) == 0.0

    async def test_a_gate_that_is_held_stays_closed_and_holds_do_not_add_up(self, store: ContextStore) -> None:
        await store.hold_gate("model", 5.0)
        await store.hold_gate("model", 3.0)
        assert 0.0 < await store.pass_gate("model", 0.0) <= 5.0

    async def test_an_answer_is_kept_until_it_expires(self, store: ContextStore) -> None:
        assert await store.cached("paris") is None
        await store.cache("paris", {"lat": 48.85, "names": ["Paris", "パリ", "\0"]}, 60)
        assert await store.cached("paris") == {"lat": 48.85, "names": ["Paris", "パリ", "\0"]}
        await store.cache("paris", [1], 60)
        assert await store.cached("paris") == [1]
        await store.cache("oslo", "soon gone", 0.02)
        await store.cache("rome", "gone", 0)
        await asyncio.sleep(0.05)
        assert await store.cached("oslo") is None
        assert await store.cached("rome") is None
        await store.cache("for ever", True, float("inf"))
        assert await store.cached("for ever") is True


class SharedKeepingContract(TwoStores):
    """What one process stores, every process reads."""

    async def test_what_one_process_keeps_all_have(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", pauses("a"), blobs={"digest-1": b"x"})
        await second_store.append("run-1", pauses("b"), blobs={"digest-1": b"x"})
        assert await second_store.blob("digest-1") == b"x"
        await store.save_snapshot("run-1", 2, "v1", b"two")
        assert await second_store.snapshot("run-1", "v1") == (2, b"two")
        await store.cache("paris", {"lat": 48.85}, 60)
        assert await second_store.cached("paris") == {"lat": 48.85}
        await store.hold_gate("model", 5.0)
        assert 0.0 < await second_store.pass_gate("model", 0.0) <= 5.0

    async def test_a_gate_opens_once_an_interval_for_all_processes_together(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        began_at = time.monotonic()
        waits = await asyncio.gather(*(each.pass_gate("osm", 5.0) for _ in range(3) for each in (store, second_store)))
        taken = time.monotonic() - began_at
        for place, wait in enumerate(sorted(waits)):
            assert place * 5.0 - taken - 0.01 <= wait <= place * 5.0 + 0.01
        assert await store.pass_gate("another", 5.0) == 0.0
