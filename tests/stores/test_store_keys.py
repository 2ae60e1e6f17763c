"""API keys, made and found: what is presented is compared by its digest, and kept nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta

import pytest
from stores.contract import api_key

from leadhand.app.steering.keys import find_key, make_key, named_key
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.engine.redaction import REDACTED, Redactor
from leadhand.ports import DatabaseStore, in_database
from leadhand.ports.access import Scope, allows
from leadhand.stores.opening import open_store


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[DatabaseStore]:
    async with aclosing(await open_store(sqlite_url)) as store:
        yield store


async def test_a_key_is_found_by_itself_and_by_nothing_else(store: DatabaseStore) -> None:
    key, secret = await make_key(store, "  Ann's\n laptop ", [Scope.APPROVE, Scope.READ, Scope.READ])
    assert (key.name, key.scopes) == ("Ann's laptop", (Scope.READ, Scope.APPROVE))
    assert key.revoked_at is key.last_used_at is None
    assert len(key.key_id) == 8
    assert key.prefix == secret[:9]
    assert secret not in key.model_dump_json()
    assert await find_key(store, secret) == key
    for presented in ("", "lh_", key.digest, key.key_id, key.prefix, secret[:-1], secret + "x", f" {secret}", "\ud83d"):
        assert await find_key(store, presented) is None


async def test_a_revoked_key_is_not_found(store: DatabaseStore) -> None:
    key, secret = await make_key(store, "Ann")
    await store.revoke_key(key.key_id)
    assert await find_key(store, secret) is None


async def test_no_two_keys_are_alike(store: DatabaseStore) -> None:
    made = [await make_key(store, f"Ann {number}") for number in range(50)]
    assert len({secret for _, secret in made}) == len({key.key_id for key, _ in made}) == 50


async def test_a_key_is_blotted_out_of_whatever_is_logged(store: DatabaseStore) -> None:
    _, secret = await make_key(store, "Ann")
    assert Redactor().text(f"I was given {secret}, see?") == f"I was given {REDACTED}, see?"


@pytest.mark.parametrize("name", ["", " \n", "x" * 101, "bell\a", "zero\0", "half \ud83d", None])
async def test_a_name_that_nobody_can_read_and_a_key_without_scopes_are_refused(
    store: DatabaseStore, name: str | None
) -> None:
    with pytest.raises(UsageError):
        await (make_key(store, "Ann", []) if name is None else make_key(store, name))
    assert await store.keys() == []


async def test_a_key_is_named_by_the_beginning_of_its_id(store: DatabaseStore) -> None:
    for key_id in ("0a1b2c3d", "0a1b0000", "0a1b", "ffffffff"):
        await store.add_key(api_key(key_id))
    assert (await named_key(store, "FF")).key_id == "ffffffff"
    assert (await named_key(store, "0a1b")).key_id == "0a1b"
    with pytest.raises(UsageError):
        await named_key(store, "0a")


async def test_a_store_that_keeps_no_keys_says_so() -> None:
    with pytest.raises(ConfigurationError):
        in_database(object())  # type: ignore[arg-type]


async def test_the_clock_of_a_store_dates_what_is_revoked(sqlite_url: str) -> None:
    key = api_key()
    later = key.created_at + timedelta(days=1)
    async with aclosing(await open_store(sqlite_url, now=lambda: later)) as store:
        await store.add_key(key)
        assert (await store.revoke_key(key.key_id)).revoked_at == later


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
