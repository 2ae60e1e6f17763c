"""API keys as rows: digests and scopes, never the keys themselves."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from datetime import datetime

from leadhand.domain.access import ApiKey, Scope, key_exists, no_such_key
from leadhand.domain.errors import StoreError

from .codec import microseconds, moment
from .connection import Connection, Row

COLUMNS = "key_id, name, prefix, digest, scopes, created_at, revoked_at, last_used_at"


def add_key(connection: Connection, key: ApiKey) -> None:
    """Store a key. Raises UsageError if its id or digest is in use."""
    added = connection.execute(
        f"INSERT INTO api_keys ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING key_id",
        (
            key.key_id,
            key.name,
            key.prefix,
            key.digest,
            ",".join(key.scopes),
            microseconds(key.created_at),
            _kept(key.revoked_at),
            _kept(key.last_used_at),
        ),
    )
    if not added:
        raise key_exists(key.key_id)


def keys(connection: Connection) -> list[ApiKey]:
    """Return every key, newest first."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM api_keys ORDER BY created_at DESC, key_id")
    return [_key(row) for row in rows]


def key_of(connection: Connection, digest: str) -> ApiKey | None:
    """Return the key of this digest, revoked or not."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM api_keys WHERE digest = ?", (digest,))
    return _key(rows[0]) if rows else None


def revoke_key(connection: Connection, key_id: str, at: datetime) -> ApiKey:
    """Revoke a key at ``at``; a revoked key keeps its earlier time. Raises UsageError for an unknown key."""
    connection.execute(
        "UPDATE api_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL", (microseconds(at), key_id)
    )
    rows = connection.execute(f"SELECT {COLUMNS} FROM api_keys WHERE key_id = ?", (key_id,))
    if not rows:
        raise no_such_key(key_id)
    return _key(rows[0])


def used_key(connection: Connection, key_id: str, at: datetime) -> None:
    """Record that a key was used at ``at``, unless a later use is recorded."""
    moment_used = microseconds(at)
    connection.execute(
        "UPDATE api_keys SET last_used_at = ? WHERE key_id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
        (moment_used, key_id, moment_used),
    )


def _key(row: Row) -> ApiKey:
    try:
        return ApiKey(
            key_id=row[0],
            name=row[1],
            prefix=row[2],
            digest=row[3],
            scopes=tuple(Scope(scope) for scope in row[4].split(",") if scope),
            created_at=moment(row[5]),
            revoked_at=_moment(row[6]),
            last_used_at=_moment(row[7]),
        )
    except (ValueError, ArithmeticError, TypeError) as error:
        raise StoreError(
            f"the key {row[0]} in the table api_keys is damaged", "restore the database from a backup"
        ) from error


def _kept(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _moment(kept: int | None) -> datetime | None:
    return None if kept is None else moment(kept)
