"""What is kept beside the log: payloads, gates, cached answers, keys and artifacts."""

from __future__ import annotations

import asyncio
import hashlib
import time

import pytest

from leadhand.core.errors import Fenced
from leadhand.core.secret import Secret
from leadhand.ports import ContextStore
from leadhand.stores.records import Record
from leadhand.stores.sql_store import SqlContextStore

from .samples import Contract, pauses, started

TOKEN = Secret("sec_1", "mcp:mail", "login", '"tok-1"')
ODD = Secret("sec_2", "mcp:fetch\na.example", "", '{"a":["\\u0000 ? %s \'; パリ"]}')


class KeepingContract(Contract):
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

    async def test_a_secret_is_kept_with_the_event_that_refers_to_it_and_of_its_run_only(
        self, store: ContextStore
    ) -> None:
        await store.create("run-1", started(), secrets=[TOKEN])
        await store.create("run-2", started())
        later = TOKEN._replace(tool="another", value='"other"')
        await store.append("run-1", pauses("a"), secrets=[ODD, later, TOKEN._replace(origin="mcp:board")])
        with pytest.raises(Fenced):
            await store.append("run-1", pauses("b"), epoch=7, secrets=[TOKEN._replace(secret_id="sec_3")])
        assert {*await store.secrets("run-1")} == {TOKEN, ODD, TOKEN._replace(origin="mcp:board")}
        assert [*await store.secrets("run-2"), *await store.secrets("nowhere")] == []

    async def test_a_gate_opens_once_an_interval_for_all_processes_together(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        began_at = time.monotonic()
        waits = await asyncio.gather(*(each.pass_gate("osm", 5.0) for _ in range(3) for each in (store, second_store)))
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

    @pytest.mark.parametrize("content", [b"", b"a", bytes(range(256)) * 4_000], ids=["empty", "short", "binary"])
    async def test_content_comes_back_by_its_digest(
        self, store: ContextStore, second_store: ContextStore, content: bytes
    ) -> None:
        digests = await asyncio.gather(*(store.put_blob(content) for _ in range(20)))
        digest = digests[0]
        assert {*digests} == {digest}
        assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert await store.blob(digest) == await second_store.blob(digest) == content
        assert await store.keep_blobs([digest]) == {digest}

    @pytest.mark.parametrize(
        "digest",
        ["", "sha256:", "sha256:" + "0" * 64, "sha256:" + "A" * 64, "sha256:../../etc/passwd", "md5:00", "../x"],
    )
    async def test_an_unknown_digest_is_a_key_error(self, store: ContextStore, digest: str) -> None:
        await store.put_blob(b"another")
        with pytest.raises(KeyError):
            await store.blob(digest)


class SharedKeepingContract(Contract):
    """What one process stores, every process reads."""

    async def test_what_one_process_keeps_all_have(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", pauses("a"), blobs={"digest-1": b"x"}, secrets=[TOKEN])
        assert await second_store.secrets("run-1") == [TOKEN]
        assert second_store.secret_key == store.secret_key
        await second_store.append("run-1", pauses("b"), blobs={"digest-1": b"x"})
        assert await second_store.blob("digest-1") == b"x"
        await store.cache("paris", {"lat": 48.85}, 60)
        assert await second_store.cached("paris") == {"lat": 48.85}
        await store.hold_gate("model", 5.0)
        assert 0.0 < await second_store.pass_gate("model", 0.0) <= 5.0


class RecordContract(Contract):
    """The records of a store in a database. Provide ``store`` and ``second_store``."""

    async def test_a_record_is_kept_as_it_was_given(self, store: SqlContextStore) -> None:
        assert isinstance(store, SqlContextStore)
        assert await store.records("api_key") == []
        one = Record("api_key", "1", '{"name": "Ann\'s; DROP TABLE %s ? "}', "Ann's; DROP TABLE 'records' %s ?")
        other = Record("api_key", "2", "{}")
        for record in (other, one, Record("webhook", "1", "[]")):
            assert await store.write_record(record)
        assert await store.records("api_key") == [one, other]
        assert await store.records("api_key", "2") == [other]
        assert await store.records("api_key", "") == []
        await store.delete_record("api_key", "1")
        await store.delete_record("api_key", "nowhere")
        assert await store.records("api_key") == [other]
        assert len(await store.records("webhook")) == 1

    @pytest.mark.parametrize("same", [{"key": "1"}, {"name": "Ann"}], ids=["key", "name"])
    async def test_a_key_and_a_name_are_used_once(self, store: SqlContextStore, same: dict[str, str]) -> None:
        first = Record("api_key", "1", "{}", "Ann")
        assert await store.write_record(first)
        second = Record("api_key", "2", "[]", "Bob")._replace(**same)
        assert not await store.write_record(second)
        assert await store.records("api_key") == [first]
        assert await store.write_record(first._replace(name=None), instead_of=first)
        assert await store.write_record(second) is ("name" in same), "its name is free again"

    async def test_of_several_processes_one_replaces_what_it_read(
        self, store: SqlContextStore, second_store: SqlContextStore
    ) -> None:
        read = Record("api_key", "1", "0", "Ann")
        assert await store.write_record(read)
        changes = (
            each.write_record(read._replace(body=f"{number}"), instead_of=read)
            for number, each in enumerate((store, second_store) * 5, start=1)
        )
        written = await asyncio.gather(*changes)
        assert sorted(written) == [False] * 9 + [True]
        (now,) = await second_store.records("api_key")
        assert now.body == f"{written.index(True) + 1}"
        assert not await store.write_record(now, instead_of=read)

    async def test_a_new_answer_takes_the_place_of_an_expired_one_only(self, store: SqlContextStore) -> None:
        assert await store.cache_new("oslo", "gone", 0)
        assert await store.cache_new("oslo", "back", 60)
        assert not await store.cache_new("oslo", "again", 60)

    async def test_of_several_processes_one_caches_an_answer(
        self, store: SqlContextStore, second_store: SqlContextStore
    ) -> None:
        taken = await asyncio.gather(*(each.cache_new("oslo", 1, 60) for each in (store, second_store) * 5))
        assert sorted(taken) == [False] * 9 + [True]
