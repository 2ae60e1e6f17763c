"""What a service stores besides runs: records of API keys (never the keys themselves) and settings of roles."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from .errors import UsageError
from .value import Value


class Scope(StrEnum):
    """What the holder of a key may do: read, start and steer runs, answer approvals, everything."""

    READ = "read"
    RUN = "run"
    APPROVE = "approve"
    ADMIN = "admin"


INCLUDED: dict[Scope, frozenset[Scope]] = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.RUN: frozenset({Scope.READ, Scope.RUN}),
    Scope.APPROVE: frozenset({Scope.READ, Scope.APPROVE}),
    Scope.ADMIN: frozenset(Scope),
}
"""What each scope allows. Every scope includes read access."""


class ApiKey(Value):
    """The stored record of an API key: everything but the key itself.

    ``key_id`` identifies the key, ``prefix`` is its first characters, which its holder can recognise, ``digest`` the
    SHA-256 (hex) of the whole key. A key with ``revoked_at`` no longer grants access.
    """

    key_id: str
    name: str
    prefix: str
    digest: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


def allows(scopes: Collection[Scope], wanted: Scope) -> bool:
    """Whether these scopes include ``wanted``."""
    return any(wanted in INCLUDED[scope] for scope in scopes)


def no_such_key(key_id: str) -> UsageError:
    """Return the error of a key id that a store does not know."""
    return UsageError(f"there is no key {key_id}", "`leadhand keys list` shows the keys of this database")


def key_exists(key_id: str) -> UsageError:
    """Return the error of adding a key twice."""
    return UsageError(f"a key with the id {key_id}, or the same key, already exists", "create another key")


LONGEST_INSTRUCTIONS = 8_000
"""Characters. Instructions are sent with every call, so they have to leave room in small context windows."""


class AgentSettings(Value):
    """The settings of one role. Without ``model`` or ``instructions``, the built-in ones apply. ``by`` is who set
    them.
    """

    name: str
    model: str | None = None
    instructions: str | None = Field(default=None, max_length=LONGEST_INSTRUCTIONS)
    by: str
    at: datetime
