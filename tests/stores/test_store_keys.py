"""API keys, made and found: what is presented is compared by its digest, and kept nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from stores.contract import asks, started

from leadhand.app.steering.access import ApiKey, Scope, allows
from leadhand.app.steering.keys import add_key, all_keys, find_key, key_of, make_key, named_key, note_use, revoke
from leadhand.core.errors import UsageError
from leadhand.core.events import RunFinished
from leadhand.core.run import RunStatus
from leadhand.engine.redaction import REDACTED, Redactor
from leadhand.ports.webhooks import WEBHOOK, WEBHOOK_EVENTS, Webhook
from leadhand.server.webhooks import after_attempt, all_webhooks, store_webhook
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


NOW = datetime.now(UTC)


def webhook(name: str, **more: Any) -> Webhook:
    given: dict[str, Any] = {"events": WEBHOOK_EVENTS, "key_id": "", "every": True, **more}
    return Webhook(webhook_id=name, url="https://example.org/", secret="whsec_AAAA", by="ann", created_at=NOW, **given)


async def test_a_delivery_is_written_with_its_event_and_taken_once(url: str) -> None:
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as other:
        await store_webhook(store, webhook("wh_all"))
        await store_webhook(store, webhook("wh_failed", events=("run.failed",)))
        await store_webhook(store, webhook("wh_of_key", key_id="another", every=False))
        await store.create("run-1", started())
        assert await store.take_deliveries(10) == []

        await other.append("run-1", [asks("wo-001.0/t0/c0")])  # whichever process commits
        await store.append("run-1", [RunFinished(status=RunStatus.FAILED, answer="")])
        at_once = await asyncio.gather(*(each.take_deliveries(2) for each in (store, other, store)))
        taken = [each for some in at_once for each in some]

        found = sorted((each.webhook_id, each.event) for each in taken)
        assert found == [
            ("wh_all", "run.asks"),
            ("wh_all", "run.failed"),
            ("wh_all", "run.finished"),
            ("wh_failed", "run.failed"),
        ]
        assert await store.take_deliveries(10) == []

        first = next(each for each in taken if each.webhook_id == "wh_failed")
        await other.settle_delivery(after_attempt(first, NOW - timedelta(hours=1), 500, "no"))
        (again,) = await store.take_deliveries(10)
        assert (again.delivery_id, again.attempts, again.code) == (first.delivery_id, 1, 500)
        await store.settle_delivery(after_attempt(again, NOW, 200, ""))
        (logged,) = await store.deliveries("wh_failed", 10)
        assert (logged.delivered, logged.next_at, logged.attempts) == (True, None, 2)


async def test_what_is_refused_is_not_delivered_and_what_is_deleted_is_gone(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        await store_webhook(store, webhook("wh_1"))
        await store_webhook(store, webhook("wh_2"))
        await store.create("run-1", started())
        refused = store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="")], epoch=7)
        assert isinstance((await asyncio.gather(refused, return_exceptions=True))[0], Exception)
        assert await store.deliveries("wh_1", 10) == []

        await store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="")])
        await store.delete_record(WEBHOOK, "wh_2")
        assert [each.webhook_id for each in await store.take_deliveries(10)] == ["wh_1"]
        await store.release("run-1", 1)
        await store.delete_runs(["run-1"])
        assert await store.deliveries("wh_1", 10) == []
        assert [each.webhook_id for each in await all_webhooks(store)] == ["wh_1"]
