"""API keys, as their rows: digests and scopes, never a key."""

# ruff: noqa: S608 - only words of our own are put into SQL; data are parameters

from __future__ import annotations

from datetime import datetime

from leadhand.domain.access import ApiKey, Scope
from leadhand.domain.errors import StoreError, UsageError

from .codec import microseconds, moment
from .connection import Connection, Row

COLUMNS = "key_id, name, prefix, digest, scopes, created_at, revoked_at, last_used_at"


def add_key(connection: Connection, key: ApiKey) -> None:
    """Keep a key. Raises UsageError when there is one of this id or digest."""
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
    """Every key, newest first."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM api_keys ORDER BY created_at DESC, key_id")
    return [_key(row) for row in rows]


def key_of(connection: Connection, digest: str) -> ApiKey | None:
    """The key of this digest, revoked or not."""
    rows = connection.execute(f"SELECT {COLUMNS} FROM api_keys WHERE digest = ?", (digest,))
    return _key(rows[0]) if rows else None


def revoke_key(connection: Connection, key_id: str, at: datetime) -> ApiKey:
    """Have a key open nothing from ``at`` on, unless it was revoked before. Raises UsageError when there is none."""
    connection.execute(
        "UPDATE api_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL", (microseconds(at), key_id)
    )
    rows = connection.execute(f"SELECT {COLUMNS} FROM api_keys WHERE key_id = ?", (key_id,))
    if not rows:
        raise no_such_key(key_id)
    return _key(rows[0])


def used_key(connection: Connection, key_id: str, at: datetime) -> None:
    """Take note that a key was used at ``at``, unless it was used later."""
    moment_used = microseconds(at)
    connection.execute(
        "UPDATE api_keys SET last_used_at = ? WHERE key_id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
        (moment_used, key_id, moment_used),
    )


def no_such_key(key_id: str) -> UsageError:
    """The error of whoever names a key that is not there."""
    return UsageError(f"there is no key {key_id}", "`leadhand keys list` shows those that are there")


def key_exists(key_id: str) -> UsageError:
    """The error of whoever adds a key a second time."""
    return UsageError(f"a key of the id {key_id}, or the same key, is there already", "make another one")


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
