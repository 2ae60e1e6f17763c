"""API keys: made once and shown once, found again by what is presented. Only their digests are kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from leadhand.domain.access import ApiKey, Scope
from leadhand.domain.document import iso
from leadhand.domain.errors import ConfigurationError, UsageError
from leadhand.ports import ContextStore, KeyStore

MARK = "lh_"
SECRET_BYTES = 32
PREFIX_LENGTH = len(MARK) + 6
LONGEST_NAME = 100
USUAL_SCOPES = (Scope.READ, Scope.RUN, Scope.APPROVE)
LOOK = "leadhand keys list shows those that are there."


def key_store(store: ContextStore) -> KeyStore:
    """The store, as one that keeps API keys too. Raises ConfigurationError when it does not."""
    if not isinstance(store, KeyStore):
        raise ConfigurationError(
            "this context store keeps no API keys", "Use one that does: SQLite or PostgreSQL, or see ports.KeyStore."
        )
    return store


async def make_key(store: KeyStore, name: str, scopes: Iterable[Scope] = USUAL_SCOPES) -> tuple[ApiKey, str]:
    """Make and keep a key; returns it as it is kept, and the key itself, which is nowhere else.

    Raises UsageError for a name that nobody could read, and for no scopes.
    """
    kept_name = " ".join(name.split())
    if not kept_name or not kept_name.isprintable() or len(kept_name) > LONGEST_NAME:
        raise UsageError(
            "the key's name is empty, too long or not readable",
            f"Name who or what will use it, in 1 to {LONGEST_NAME} letters.",
        )
    kept_scopes = tuple(scope for scope in Scope if scope in set(scopes))
    if not kept_scopes:
        raise UsageError("the key has no scope", f"Give one or more of: {', '.join(Scope)}.")
    secret = MARK + secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey(
        key_id=secrets.token_hex(4),
        name=kept_name,
        prefix=secret[:PREFIX_LENGTH],
        digest=digest_of(secret),
        scopes=kept_scopes,
        created_at=datetime.now(UTC),
    )
    await store.add_key(key)
    return key, secret


async def find_key(store: KeyStore, presented: str) -> ApiKey | None:
    """The key that somebody presents; None when there is no such key, or it was revoked."""
    digest = digest_of(presented)
    key = await store.key_of(digest)
    if key is None or key.revoked_at is not None or not hmac.compare_digest(key.digest, digest):
        return None
    return key


async def named_key(store: KeyStore, given: str) -> ApiKey:
    """The key of that id, or the only one whose id begins so. Raises UsageError."""
    wanted = given.strip().lower()
    if wanted.startswith(MARK):
        raise UsageError("a key is revoked by its id, and not by itself", LOOK)
    if not wanted:
        raise UsageError("the key's id is empty", LOOK)
    found = [key for key in await store.keys() if key.key_id.startswith(wanted)]
    exact = [key for key in found if key.key_id == wanted] or found
    if not exact:
        raise UsageError(f"there is no key {given}", LOOK)
    if len(exact) > 1:
        raise UsageError(
            f"{given} is the beginning of {', '.join(key.key_id for key in exact)}", "Give more of the id."
        )
    return exact[0]


def key_document(key: ApiKey) -> dict[str, Any]:
    """A key as scripts read it: without its digest, and never the key itself."""
    return {
        **key.model_dump(mode="json", exclude={"digest"}),
        "created_at": iso(key.created_at),
        "revoked_at": iso(key.revoked_at),
        "last_used_at": iso(key.last_used_at),
    }


def digest_of(secret: str) -> str:
    """SHA-256 (hex) of a key. What no key can hold, such as half a character, is hashed as a question mark."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
