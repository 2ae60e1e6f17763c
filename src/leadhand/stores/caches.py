"""Caches that may be emptied at any time: snapshots of folded runs, and answers of tools and services."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json
import time
from collections.abc import Callable

from leadhand.domain.value import Json

from .codec import no_such_run
from .connection import Connection, Dialect

CLEANING_INTERVAL_S = 60.0
LONGEST_S = 1e10
"""The longest lifetime of an answer, in seconds: longer ones, even infinity, count as this."""


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

    def __init__(self, dialect: Dialect, clock: Callable[[], float] = time.monotonic) -> None:
        self._dialect = dialect
        self._clock = clock
        self._clean_at = clock()

    def keep(self, connection: Connection, key: str, value: str, ttl_s: float) -> None:
        """Cache JSON text under ``key`` for ``ttl_s`` seconds."""
        now = self._dialect.now
        connection.execute(
            f"INSERT INTO cache (cache_key, value, expires_at) VALUES (?, ?, {now} + ?)"
            " ON CONFLICT (cache_key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
            (key, value, int(min(ttl_s, LONGEST_S) * 1_000_000)),
        )
        if self._clock() >= self._clean_at:
            self._clean_at = self._clock() + CLEANING_INTERVAL_S
            connection.execute(f"DELETE FROM cache WHERE expires_at <= {now}")
