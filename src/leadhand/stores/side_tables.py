"""Cached answers, and gates that all processes share. Both use the clock of the database."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json

from leadhand.core.value import Json

from .connection import Connection, Dialect

LONGEST_S = 1e10
"""The longest lifetime of an answer, in seconds: longer ones, even infinity, count as this."""


def cached(connection: Connection, dialect: Dialect, key: str) -> Json | None:
    """Return a cached answer that has not expired; None for one that is damaged."""
    rows = connection.execute(f"SELECT value FROM cache WHERE cache_key = ? AND expires_at > {dialect.now}", (key,))
    try:
        return json.loads(rows[0][0]) if rows else None
    except ValueError:
        return None


def cache(
    connection: Connection, dialect: Dialect, key: str, value: str, ttl_s: float, only_instead_of: str | None = None
) -> bool:
    """Delete expired answers, and cache JSON text under ``key`` for ``ttl_s`` seconds; return whether it was cached:
    not if there is another answer than ``only_instead_of``, unless that is None.
    """
    now = dialect.now
    connection.execute(f"DELETE FROM cache WHERE expires_at <= {now}")
    condition, old = ("", ()) if only_instead_of is None else (" WHERE cache.value = ?", (only_instead_of,))
    insert = (
        f"INSERT INTO cache (cache_key, value, expires_at) VALUES (?, ?, {now} + ?) ON CONFLICT (cache_key)"
        f" DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at{condition} RETURNING cache_key"
    )
    return bool(connection.execute(insert, (key, value, int(min(ttl_s, LONGEST_S) * 1_000_000), *old)))


def pass_gate(connection: Connection, dialect: Dialect, name: str, interval_s: float) -> float:
    """Reserve the next free time slot of a gate, and return the seconds until then."""
    interval, now = int(interval_s * 1_000_000), dialect.now
    ((wait,),) = connection.execute(
        f"INSERT INTO gates (name, free_at) VALUES (?, {now} + ?) ON CONFLICT (name) DO UPDATE"
        f" SET free_at = CASE WHEN gates.free_at > {now} THEN gates.free_at ELSE {now} END + ?"
        f" RETURNING free_at - {now} - ?",
        (name, interval, interval, interval),
    )
    return max(wait, 0) / 1_000_000


def hold_gate(connection: Connection, dialect: Dialect, name: str, seconds: float) -> None:
    """Keep a gate closed for at least this time; holds do not add up."""
    connection.execute(
        f"INSERT INTO gates (name, free_at) VALUES (?, {dialect.now} + ?) ON CONFLICT (name) DO UPDATE"
        " SET free_at = excluded.free_at WHERE gates.free_at < excluded.free_at",
        (name, int(seconds * 1_000_000)),
    )
