"""API keys, made and found: what is presented is compared by its digest, and kept nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadhand.app.steering.access import ApiKey, Scope, allows
from leadhand.app.steering.keys import add_key, all_keys, find_key, key_of, make_key, named_key, note_use, revoke
from leadhand.core.errors import UsageError
from leadhand.engine.redaction import REDACTED, Redactor
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_000, tzinfo=UTC)


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


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(sqlite_url)) as store:
        yield store


async def test_a_key_is_found_by_itself_and_by_nothing_else(store: SqlContextStore) -> None:
    key, secret = await make_key(store, "  Ann's\n laptop ", [Scope.APPROVE, Scope.READ, Scope.READ])
    assert (key.name, key.scopes) == ("Ann's laptop", (Scope.READ, Scope.APPROVE))
    assert key.revoked_at is key.last_used_at is None
    assert len(key.key_id) == 8
    assert key.prefix == secret[:9]
    assert secret not in key.model_dump_json()
    assert await find_key(store, secret) == key
    for presented in ("", "lh_", key.digest, key.key_id, key.prefix, secret[:-1], secret + "x", f" {secret}", "\ud83d"):
        assert await find_key(store, presented) is None


async def test_a_revoked_key_is_not_found(store: SqlContextStore) -> None:
    key, secret = await make_key(store, "Ann")
    await revoke(store, key)
    assert await find_key(store, secret) is None


async def test_no_two_keys_are_alike(store: SqlContextStore) -> None:
    made = [await make_key(store, f"Ann {number}") for number in range(50)]
    assert len({secret for _, secret in made}) == len({key.key_id for key, _ in made}) == 50


async def test_a_key_is_blotted_out_of_whatever_is_logged(store: SqlContextStore) -> None:
    _, secret = await make_key(store, "Ann")
    assert Redactor().text(f"I was given {secret}, see?") == f"I was given {REDACTED}, see?"


@pytest.mark.parametrize("name", ["", " \n", "x" * 101, "bell\a", "zero\0", "half \ud83d", None])
async def test_a_name_that_nobody_can_read_and_a_key_without_scopes_are_refused(
    store: SqlContextStore, name: str | None
) -> None:
    with pytest.raises(UsageError):
        await (make_key(store, "Ann", []) if name is None else make_key(store, name))
    assert await all_keys(store) == []


async def test_a_key_is_named_by_the_beginning_of_its_id(store: SqlContextStore) -> None:
    for key_id in ("0a1b2c3d", "0a1b0000", "0a1b", "ffffffff"):
        await add_key(store, api_key(key_id))
    assert (await named_key(store, "FF")).key_id == "ffffffff"
    assert (await named_key(store, "0a1b")).key_id == "0a1b"
    with pytest.raises(UsageError):
        await named_key(store, "0a")


async def test_a_key_is_kept_as_it_was_given_and_found_by_its_digest(store: SqlContextStore) -> None:
    used = api_key("1", last_used_at=NOON, revoked_at=NOON, scopes=tuple(Scope))
    await add_key(store, api_key())
    await add_key(store, used)
    assert await key_of(store, "digest of 0a1b2c3d") == api_key()
    assert await key_of(store, "digest of 1") == used, "revoked ones too"
    assert await key_of(store, "digest of") is None
    assert await key_of(store, "") is None


@pytest.mark.parametrize("same", ["key_id", "digest", "name"])
async def test_a_key_is_added_once(store: SqlContextStore, same: str) -> None:
    await add_key(store, api_key())
    other = {"key_id": "other", "digest": "another", "name": "Bob", same: getattr(api_key(), same)}
    with pytest.raises(UsageError, match="already exists"):
        await add_key(store, api_key(**other))
    assert await all_keys(store) == [api_key()]


async def test_a_key_that_is_revoked_stays_so_whatever_another_process_notes(sqlite_url: str) -> None:
    async with aclosing(await open_store(sqlite_url)) as store, aclosing(await open_store(sqlite_url)) as second:
        await add_key(store, api_key())
        await add_key(store, api_key("other"))
        before = datetime.now(UTC).replace(microsecond=0)
        assert await key_of(second, "digest of 0a1b2c3d") == api_key()
        uses = (note_use(each, api_key(), NOON + timedelta(seconds=n)) for n, each in enumerate((store, second) * 5))
        revoked, *_ = await asyncio.gather(revoke(second, api_key()), *uses)
        assert revoked.revoked_at is not None
        assert before <= revoked.revoked_at <= datetime.now(UTC)
        for each in (store, second):
            kept = await key_of(each, "digest of 0a1b2c3d")
            assert kept == api_key(revoked_at=revoked.revoked_at, last_used_at=NOON + timedelta(seconds=9))
            assert await revoke(each, api_key()) == kept
        assert await key_of(store, "digest of other") == api_key("other")


async def test_revoking_a_key_that_is_not_there_is_an_error_of_usage(store: SqlContextStore) -> None:
    with pytest.raises(UsageError, match="there is no key nowhere") as error:
        await revoke(store, api_key("nowhere"))
    assert "leadhand keys list" in error.value.how


async def test_the_last_use_of_a_key_is_the_latest(store: SqlContextStore) -> None:
    await add_key(store, api_key())
    later = NOON + timedelta(seconds=1)
    for at, last in ((NOON, NOON), (later, later), (NOON, later)):
        await note_use(store, api_key(), at)
        assert await all_keys(store) == [api_key(last_used_at=last)]
    await note_use(store, api_key("nowhere"), later)
    assert await all_keys(store) == [api_key(last_used_at=later)]


def test_a_key_is_shown_without_its_digest() -> None:
    shown = api_key().shown.model_dump(mode="json")
    assert "digest" not in shown
    assert shown["created_at"] == "2026-11-21T12:00:00.123Z"
    assert shown["scopes"] == ["read", "approve"]


@pytest.mark.parametrize(
    ("scope", "included"),
    [
        ("read", "read"),
        ("run", "read run"),
        ("approve", "read approve"),
        ("read:all", "read read:all"),
        ("admin", "read read:all run approve admin"),
    ],
)
def test_scopes_include_others(scope: str, included: str) -> None:
    assert [wanted.value for wanted in Scope if allows([Scope(scope)], wanted)] == included.split()
    assert not any(allows([], wanted) for wanted in Scope)


def test_several_scopes_allow_what_each_allows() -> None:
    assert [wanted for wanted in Scope if allows((Scope.RUN, Scope.APPROVE), wanted)] == [
        Scope.READ,
        Scope.RUN,
        Scope.APPROVE,
    ]
