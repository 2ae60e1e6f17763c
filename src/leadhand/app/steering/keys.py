"""Create, find and revoke API keys. Only their digests are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from leadhand.app.settings import user
from leadhand.app.steering.access import UNBOUNDED, ApiKey, KeyCeilings, Scope, allows
from leadhand.core.errors import UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.text import listed
from leadhand.stores.records import Record
from leadhand.stores.sql_store import SqlContextStore

KIND = "API key"
"""The kind of the records of keys, whose record key is the digest."""
MARK = "lh_"
SECRET_BYTES = 32
PREFIX_LENGTH = len(MARK) + 6
LONGEST_NAME = 100
USUAL_SCOPES = (Scope.READ, Scope.RUN, Scope.APPROVE)
LOOK = Advice("See: {list_keys}")


async def make_key(
    store: SqlContextStore, name: str, scopes: Iterable[Scope] = USUAL_SCOPES, ceilings: KeyCeilings = UNBOUNDED
) -> tuple[ApiKey, str]:
    """Create and store a key; return its record and the key itself, which is not stored.

    Raises UsageError for a name that is unreadable or in use, for no scopes, and for limits of a key that starts no
    runs.
    """
    kept_name = " ".join(name.split())
    if not kept_name or not kept_name.isprintable() or len(kept_name) > LONGEST_NAME:
        raise UsageError(
            "the name of the key is empty, too long or not readable",
            f"Choose a name of 1 to {LONGEST_NAME} characters for its user.",
        )
    if kept_name == user():
        raise UsageError(
            f"{kept_name} is the name of this machine's user, and the log could not tell them apart",
            "Choose another name.",
        )
    kept_scopes = tuple(scope for scope in Scope if scope in set(scopes))
    if not kept_scopes:
        raise UsageError("the key has no scope", f"Choose one or more of: {', '.join(Scope)}.")
    if ceilings != UNBOUNDED and not allows(kept_scopes, Scope.RUN):
        raise UsageError(
            f"a key with the scope {', '.join(kept_scopes)} starts no runs, so limits have no effect",
            "Omit the limits, or add the scope run.",
        )
    secret = MARK + secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey(
        key_id=secrets.token_hex(4),
        name=kept_name,
        prefix=secret[:PREFIX_LENGTH],
        digest=digest_of(secret),
        scopes=kept_scopes,
        ceilings=ceilings,
        created_at=_now(),
    )
    await add_key(store, key)
    return key, secret


async def add_key(store: SqlContextStore, key: ApiKey) -> None:
    """Store a key. Raises UsageError if its id or digest is in use, or its name by a key that is not revoked."""
    if any(each.key_id == key.key_id for each in await all_keys(store)) or not await store.write_record(_record(key)):
        how = Advice("choose another name, or revoke that key first: {list_keys}")
        raise UsageError(f"a key named {key.name}, or with the id {key.key_id}, already exists", how)


async def all_keys(store: SqlContextStore) -> list[ApiKey]:
    """Return every key, newest first, including revoked keys. Raises StoreError if one is damaged."""
    keys = [record.read(ApiKey) for record in await store.records(KIND)]
    return sorted(sorted(keys, key=lambda key: key.key_id), key=lambda key: key.created_at, reverse=True)


async def key_of(store: SqlContextStore, digest: str) -> ApiKey | None:
    """Return the key of this digest, revoked or not. Raises StoreError if it is damaged."""
    records = await store.records(KIND, digest)
    return records[0].read(ApiKey) if records else None


async def revoke(store: SqlContextStore, key: ApiKey) -> ApiKey:
    """Revoke a key; a revoked key does not change. Raises UsageError for a key that is not stored."""
    now = _now()
    revoked = await _change(store, key, lambda it: it if it.revoked_at is not None else it.evolve(revoked_at=now))
    if revoked is None:
        raise UsageError(f"there is no key {key.key_id}", Advice("`{list_keys}` shows the keys of this database"))
    return revoked


async def note_use(store: SqlContextStore, key: ApiKey, at: datetime) -> None:
    """Record that a key was used at ``at``, unless a later use is recorded."""
    await _change(store, key, lambda it: it.evolve(last_used_at=max(it.last_used_at or at, at)))


async def _change(store: SqlContextStore, key: ApiKey, change: Callable[[ApiKey], ApiKey]) -> ApiKey | None:
    """Change the stored record of a key, whatever other processes change at once; None for an unknown key."""
    while records := await store.records(KIND, key.digest):
        before = records[0].read(ApiKey)
        after = change(before)
        if after == before or await store.write_record(_record(after), instead_of=records[0]):
            return after
    return None


def _now() -> datetime:
    """Return the time as records have it, in milliseconds."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1_000 * 1_000)


def _record(key: ApiKey) -> Record:
    return Record(KIND, key.digest, key.model_dump_json(), key.name if key.revoked_at is None else None)


async def find_key(store: SqlContextStore, presented: str) -> ApiKey | None:
    """Return the key that a client presents; None if it is unknown or revoked."""
    digest = digest_of(presented)
    key = await key_of(store, digest)
    if key is None or key.revoked_at is not None or not hmac.compare_digest(key.digest, digest):
        return None
    return key


async def named_key(store: SqlContextStore, given: str) -> ApiKey:
    """Return the key with this id, or the only one whose id starts with it. Raises UsageError."""
    wanted = given.strip().lower()
    if wanted.startswith(MARK):
        raise UsageError("this is a key, not the id of a key", LOOK)
    if not wanted:
        raise UsageError("the key id is empty", LOOK)
    found = [key for key in await all_keys(store) if key.key_id.startswith(wanted)]
    exact = [key for key in found if key.key_id == wanted] or found
    if not exact:
        raise UsageError(f"no key matches {given!r}", LOOK)
    if len(exact) > 1:
        several = listed([key.key_id for key in exact])
        raise UsageError(f"{given!r} matches several keys: {several}", "Enter more of the id.")
    return exact[0]


def digest_of(secret: str) -> str:
    """SHA-256 (hex) of a key. Invalid characters, which no key contains, are hashed as question marks."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
