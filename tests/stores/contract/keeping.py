"""What is kept beside the log: payloads, gates, cached answers, keys and artifacts."""

from __future__ import annotations

import asyncio
import hashlib
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadhand.core.errors import UsageError
from leadhand.ports import ContextStore, DatabaseStore
from leadhand.ports.access import ApiKey, Scope

from .samples import Contract, pauses, started

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)


async def check_gate(*stores: ContextStore) -> None:
    began_at = time.monotonic()
    waits = await asyncio.gather(*(store.pass_gate("osm", 5.0) for _ in range(3) for store in stores))
    taken = time.monotonic() - began_at
    for place, wait in enumerate(sorted(waits)):
        assert place * 5.0 - taken - 0.01 <= wait <= place * 5.0 + 0.01
    assert await stores[0].pass_gate("another", 5.0) == 0.0


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

    async def test_a_gate_opens_once_an_interval(self, store: ContextStore) -> None:
        await check_gate(store)

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
    async def test_content_comes_back_by_its_digest(self, store: ContextStore, content: bytes) -> None:
        digest = await store.put_blob(content)
        assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert await store.blob(digest) == content
        assert await store.keep_blobs([digest]) == {digest}

    async def test_equal_content_is_kept_once_and_stays(self, store: ContextStore) -> None:
        digests = await asyncio.gather(*(store.put_blob(b"the same") for _ in range(20)))
        assert len(set(digests)) == 1
        assert await store.blob(digests[0]) == b"the same"

    async def test_different_contents_do_not_disturb_each_other(self, store: ContextStore) -> None:
        contents = [f"{number}".encode() for number in range(50)]
        digests = await asyncio.gather(*map(store.put_blob, contents))
        assert await asyncio.gather(*map(store.blob, digests)) == contents

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
        await store.append("run-1", pauses("a"), blobs={"digest-1": b"x"})
        await second_store.append("run-1", pauses("b"), blobs={"digest-1": b"x"})
        assert await second_store.blob("digest-1") == b"x"
        await store.cache("paris", {"lat": 48.85}, 60)
        assert await second_store.cached("paris") == {"lat": 48.85}
        await store.hold_gate("model", 5.0)
        assert 0.0 < await second_store.pass_gate("model", 0.0) <= 5.0

    async def test_a_gate_opens_once_an_interval_for_all_processes_together(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await check_gate(store, second_store)

    async def test_every_process_reads_what_another_has_put(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        assert await second_store.blob(await store.put_blob(b"shared")) == b"shared"


def api_key(key_id: str = "0a1b2c3d", **more: Any) -> ApiKey:
    """A stored key."""
    return ApiKey.model_validate(
        {
            "key_id": key_id,
            "name": f"Ann's laptop; DROP TABLE 'keys' %s ? {key_id}",
            "prefix": "lh_1a2b3c",
            "digest": f"digest of {key_id}",
            "scopes": (Scope.READ, Scope.APPROVE),
            "created_at": NOON,
            **more,
        }
    )


class KeyStoreContract(Contract):
    """The contract of a :class:`~leadhand.ports.DatabaseStore`. Provide ``store``, on an empty database."""

    async def test_a_key_is_kept_as_it_was_given_and_found_by_its_digest(self, store: DatabaseStore) -> None:
        assert isinstance(store, DatabaseStore)
        assert await store.keys() == []
        used = api_key("1", last_used_at=NOON, revoked_at=NOON, scopes=tuple(Scope))
        await store.add_key(api_key())
        await store.add_key(used)
        assert await store.key_of("digest of 0a1b2c3d") == api_key()
        assert await store.key_of("digest of 1") == used, "revoked ones too"
        assert await store.key_of("digest of") is None
        assert await store.key_of("") is None

    async def test_keys_are_listed_newest_first(self, store: DatabaseStore) -> None:
        for key_id, minutes in (("c", 1), ("a", 2), ("d", 0), ("b", 1)):
            await store.add_key(api_key(key_id, created_at=NOON + timedelta(minutes=minutes)))
        assert [key.key_id for key in await store.keys()] == ["a", "b", "c", "d"]

    @pytest.mark.parametrize("same", [{"key_id": "0a1b2c3d"}, {"digest": "digest of 0a1b2c3d"}], ids=["id", "digest"])
    async def test_a_key_is_added_once(self, store: DatabaseStore, same: dict[str, str]) -> None:
        await store.add_key(api_key())
        with pytest.raises(UsageError, match="already exists"):
            await store.add_key(api_key(**{"key_id": "other", "digest": "another", **same}, name="Bob"))
        assert await store.keys() == [api_key()]

    async def test_a_key_that_is_revoked_stays_so(self, store: DatabaseStore) -> None:
        await store.add_key(api_key())
        await store.add_key(api_key("other"))
        before = datetime.now(UTC)
        revoked = await store.revoke_key("0a1b2c3d")
        assert revoked.revoked_at is not None
        assert before <= revoked.revoked_at <= datetime.now(UTC)
        assert revoked == api_key(revoked_at=revoked.revoked_at)
        assert await store.revoke_key("0a1b2c3d") == revoked
        assert await store.key_of("digest of 0a1b2c3d") == revoked
        assert await store.key_of("digest of other") == api_key("other")

    async def test_revoking_a_key_that_is_not_there_is_an_error_of_usage(self, store: DatabaseStore) -> None:
        with pytest.raises(UsageError, match="there is no key nowhere") as error:
            await store.revoke_key("nowhere")
        assert "leadhand keys list" in error.value.how

    async def test_the_last_use_of_a_key_is_the_latest(self, store: DatabaseStore) -> None:
        await store.add_key(api_key())
        later = NOON + timedelta(seconds=1)
        for at, last in ((NOON, NOON), (later, later), (NOON, later)):
            await store.used_key("0a1b2c3d", at)
            assert await store.keys() == [api_key(last_used_at=last)]
        await store.used_key("nowhere", later)
        assert await store.keys() == [api_key(last_used_at=later)]

    async def test_a_new_answer_takes_the_place_of_an_expired_one_only(self, store: DatabaseStore) -> None:
        assert await store.cache_new("oslo", "gone", 0)
        assert await store.cache_new("oslo", "back", 60)
        assert not await store.cache_new("oslo", "again", 60)

    async def test_an_answer_that_was_read_is_replaced_once(self, store: DatabaseStore) -> None:
        first = {"by": "one", "n": [1]}
        assert await store.cache_new("oslo", first, 60)
        assert not await store.cache_new("oslo", "second", 60, instead_of="other")
        assert await store.cache_new("oslo", "second", 60, instead_of=first)
        assert not await store.cache_new("oslo", "third", 60, instead_of=first)


class SharedKeyStoreContract(KeyStoreContract):
    """The contract for several processes on one database. Provide ``store`` and ``second_store``."""

    async def test_a_key_that_one_process_revokes_opens_nothing_in_another(
        self, store: DatabaseStore, second_store: DatabaseStore
    ) -> None:
        await store.add_key(api_key())
        assert await second_store.key_of("digest of 0a1b2c3d") == api_key()
        revoked = await second_store.revoke_key("0a1b2c3d")
        assert await store.key_of("digest of 0a1b2c3d") == revoked

    async def test_of_several_processes_one_caches_an_answer(
        self, store: DatabaseStore, second_store: DatabaseStore
    ) -> None:
        taken = await asyncio.gather(*(each.cache_new("oslo", 1, 60) for each in (store, second_store) * 5))
        assert sorted(taken) == [False] * 9 + [True]
