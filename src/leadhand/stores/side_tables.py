"""Rows besides the log: payloads, snapshots, cached answers, gates, API keys and settings of roles.

Snapshots and cached answers may be deleted at any time. API keys are stored as digests with scopes, never as keys.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json
import time
from datetime import datetime

from pydantic import ValidationError

from leadhand.domain.access import AgentSettings, ApiKey, Scope, key_exists, no_such_key
from leadhand.domain.errors import StoreError
from leadhand.domain.value import Json

from .codec import moment, no_such_run, read_moment, stored
from .connection import Connection, Dialect, Row

CLEANING_INTERVAL_S = 60.0
LONGEST_S = 1e10
"""The longest lifetime of an answer, in seconds: longer ones, even infinity, count as this."""

KEY_COLUMNS = "key_id, name, prefix, digest, scopes, created_at, revoked_at, last_used_at"


def keep_blob(connection: Connection, digest: str, body: bytes) -> None:
    connection.execute("INSERT INTO blobs (digest, body) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING", (digest, body))


def blob(connection: Connection, digest: str) -> bytes:
    rows = connection.execute("SELECT body FROM blobs WHERE digest = ?", (digest,))
    if not rows:
        raise KeyError(digest)
    return bytes(rows[0][0])


def save_snapshot(connection: Connection, run_id: str, seq: int, schema: str, body: bytes) -> None:
    """Store a run's folded state, unless a later one of the same schema is stored. Raises NoSuchRun."""
    if not connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)):
        raise no_such_run(run_id)
    connection.execute(
        "INSERT INTO snapshots (run_id, seq, shape, body) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (run_id) DO UPDATE SET seq = excluded.seq, shape = excluded.shape, body = excluded.body"
        " WHERE snapshots.shape <> excluded.shape OR snapshots.seq <= excluded.seq",
        (run_id, seq, schema, body),
    )


def snapshot(connection: Connection, run_id: str, schema: str) -> tuple[int, bytes] | None:
    """Return the sequence and body of a run's snapshot; None if it has another schema. Raises NoSuchRun."""
    rows = connection.execute(
        "SELECT snapshots.seq, snapshots.body FROM runs LEFT JOIN snapshots"
        " ON snapshots.run_id = runs.run_id AND snapshots.shape = ? WHERE runs.run_id = ?",
        (schema, run_id),
    )
    if not rows:
        raise no_such_run(run_id)
    seq, body = rows[0]
    return None if seq is None else (seq, bytes(body))


def cached(connection: Connection, dialect: Dialect, key: str) -> Json | None:
    """Return a cached answer that has not expired; None for one that is damaged."""
    rows = connection.execute(f"SELECT value FROM cache WHERE cache_key = ? AND expires_at > {dialect.now}", (key,))
    try:
        return json.loads(rows[0][0]) if rows else None
    except ValueError:
        return None


def write_nothing(connection: Connection) -> None:
    """Insert a row and delete it again, so that the database is written but not changed."""
    key = "is this database writable?"
    connection.execute("INSERT INTO cache (cache_key, value, expires_at) VALUES (?, 'null', 0)", (key,))
    connection.execute("DELETE FROM cache WHERE cache_key = ?", (key,))


class Keeper:
    """Writes answers to the cache, and deletes expired answers now and then."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._clean_at = time.monotonic()

    def keep(self, connection: Connection, key: str, value: str, ttl_s: float) -> None:
        """Cache JSON text under ``key`` for ``ttl_s`` seconds."""
        now = self._dialect.now
        connection.execute(
            f"INSERT INTO cache (cache_key, value, expires_at) VALUES (?, ?, {now} + ?)"
            " ON CONFLICT (cache_key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
            (key, value, int(min(ttl_s, LONGEST_S) * 1_000_000)),
        )
        if time.monotonic() >= self._clean_at:
            self._clean_at = time.monotonic() + CLEANING_INTERVAL_S
            connection.execute(f"DELETE FROM cache WHERE expires_at <= {now}")


def pass_gate(connection: Connection, dialect: Dialect, name: str, interval_s: float) -> float:
    """Reserve the next free time slot of a gate, and return the seconds until then.

    One statement with the database's own clock, so that neither processes nor clocks can disagree.
    """
    interval = int(interval_s * 1_000_000)
    now = dialect.now
    ((wait,),) = connection.execute(
        f"INSERT INTO gates (name, free_at) VALUES (?, {now} + ?) ON CONFLICT (name) DO UPDATE"
        f" SET free_at = CASE WHEN gates.free_at > {now} THEN gates.free_at ELSE {now} END + ?"
        f" RETURNING free_at - ? - {now}",
        (name, interval, interval, interval),
    )
    return max(wait, 0) / 1_000_000


def hold_gate(connection: Connection, dialect: Dialect, name: str, seconds: float) -> None:
    """Keep a gate closed for at least ``seconds`` from now; the longest hold counts."""
    until = f"{dialect.now} + ?"
    connection.execute(
        f"INSERT INTO gates (name, free_at) VALUES (?, {until}) ON CONFLICT (name) DO UPDATE"
        f" SET free_at = CASE WHEN gates.free_at > excluded.free_at THEN gates.free_at ELSE excluded.free_at END",
        (name, int(seconds * 1_000_000)),
    )


def add_key(connection: Connection, key: ApiKey) -> None:
    """Store a key. Raises UsageError if its id or digest is in use."""
    times = map(stored, (key.created_at, key.revoked_at, key.last_used_at))
    added = connection.execute(
        f"INSERT INTO api_keys ({KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING key_id",
        (key.key_id, key.name, key.prefix, key.digest, ",".join(key.scopes), *times),
    )
    if not added:
        raise key_exists(key.key_id)


def keys(connection: Connection) -> list[ApiKey]:
    """Return every key, newest first."""
    rows = connection.execute(f"SELECT {KEY_COLUMNS} FROM api_keys ORDER BY created_at DESC, key_id")
    return [_key(row) for row in rows]


def key_of(connection: Connection, digest: str) -> ApiKey | None:
    """Return the key of this digest, revoked or not."""
    rows = connection.execute(f"SELECT {KEY_COLUMNS} FROM api_keys WHERE digest = ?", (digest,))
    return _key(rows[0]) if rows else None


def revoke_key(connection: Connection, key_id: str, at: datetime) -> ApiKey:
    """Revoke a key at ``at``; a revoked key keeps its earlier time. Raises UsageError for an unknown key."""
    revoke = f"UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE key_id = ? RETURNING {KEY_COLUMNS}"
    rows = connection.execute(revoke, (stored(at), key_id))
    if not rows:
        raise no_such_key(key_id)
    return _key(rows[0])


def used_key(connection: Connection, key_id: str, at: datetime) -> None:
    """Record that a key was used at ``at``, unless a later use is recorded."""
    moment_used = stored(at)
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
            revoked_at=read_moment(row[6]),
            last_used_at=read_moment(row[7]),
        )
    except (ValueError, ArithmeticError, TypeError) as error:
        raise StoreError(
            f"the key {row[0]} in the table api_keys is damaged", "restore the database from a backup"
        ) from error


def agents(connection: Connection) -> list[AgentSettings]:
    """Return the settings of all roles, by name."""
    return [_agent(name, body) for name, body in connection.execute("SELECT name, body FROM agents ORDER BY name")]


def set_agent(connection: Connection, agent: AgentSettings) -> None:
    """Store the settings of a role, replacing earlier settings."""
    connection.execute(
        "INSERT INTO agents (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
        (agent.name, agent.model_dump_json()),
    )


def unset_agent(connection: Connection, name: str) -> None:
    """Delete the settings of a role; does nothing if the role has none."""
    connection.execute("DELETE FROM agents WHERE name = ?", (name,))


def _agent(name: str, body: str) -> AgentSettings:
    try:
        return AgentSettings.model_validate_json(body)
    except ValidationError as error:
        raise StoreError(
            f"the settings of the agent {name} are damaged", "restore the database from a backup, or set them again"
        ) from error
