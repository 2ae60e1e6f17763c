"""Rows besides the log that may be deleted at any time: cached answers."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from leadhand.core.value import Json

from .connection import Connection, Dialect, among

CLEANING_INTERVAL_S = 60.0
LONGEST_S = 1e10
"""The longest lifetime of an answer, in seconds: longer ones, even infinity, count as this."""


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
    connection.execute(  # there may be such a row: the service leaves one
        "INSERT INTO cache (cache_key, value, expires_at) VALUES (?, 'null', 0)"
        " ON CONFLICT (cache_key) DO UPDATE SET expires_at = excluded.expires_at",
        (key,),
    )
    connection.execute("DELETE FROM cache WHERE cache_key = ?", (key,))


class Keeper:
    """Writes answers to the cache, and deletes expired answers now and then."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._clean_at = time.monotonic()

    def keep(
        self,
        connection: Connection,
        key: str,
        value: str,
        ttl_s: float,
        *,
        new: bool = False,
        instead_of: str | None = None,
    ) -> bool:
        """Cache JSON text under ``key`` for ``ttl_s`` seconds.

        If it must be ``new`` and there is another one than ``instead_of``, return False.
        """
        now = self._dialect.now
        parameters: tuple[object, ...] = (key, value, int(min(ttl_s, LONGEST_S) * 1_000_000))
        kept = connection.execute(
            f"INSERT INTO cache (cache_key, value, expires_at) VALUES (?, ?, {now} + ?)"
            " ON CONFLICT (cache_key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at"
            f"{f' WHERE cache.expires_at <= {now} OR cache.value = ?' if new else ''} RETURNING cache_key",
            (*parameters, instead_of or "") if new else parameters,
        )
        if time.monotonic() >= self._clean_at:
            self._clean_at = time.monotonic() + CLEANING_INTERVAL_S
            connection.execute(f"DELETE FROM cache WHERE expires_at <= {now}")
        return bool(kept)

    def keep_blobs(self, connection: Connection, digests: Sequence[str], ttl_s: float) -> set[str]:
        """Keep artifacts for ``ttl_s`` seconds, and return which of them are stored."""
        for digest in digests:
            self.keep(connection, f"artifact {digest}", "null", ttl_s)
        if not self._dialect.alone:  # wait for a process that is deleting artifacts
            connection.execute("LOCK TABLE blobs IN ROW EXCLUSIVE MODE")
        found: set[str] = set()
        for condition, parameters in among("digest", [(digest,) for digest in digests]):
            rows = connection.execute(f"SELECT digest FROM blobs WHERE {condition}", parameters)
            found |= {digest for (digest,) in rows}
        return found


def free_at(now: str) -> str:
    """Return the SQL for the time from which a gate is free, ``now`` or later.

    If the gate was last used in the future, the clock has been put back: what was left of the wait then is left now.
    The processes of a server see each other's times in any order, but within a second.
    """
    return (
        f"CASE WHEN gates.used_at > {now} + 1000000 THEN {now} + gates.free_at - gates.used_at"
        f" WHEN gates.free_at > {now} THEN gates.free_at ELSE {now} END"
    )
