"""Cached answers, and gates that all processes share. Both use the clock of the database."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import json

from leadhand.core.value import Json

from .connection import Connection
from .parts import StorePart

LONGEST_S = 1e10
"""The longest lifetime of an answer, in seconds: longer ones, even infinity, count as this."""


class SideTables(StorePart):
    """Cached answers and gates, as :class:`~leadhand.ports.ContextStore` has them."""

    async def cached(self, key: str) -> Json | None:
        """Return a cached answer that has not expired; None for one that is damaged."""
        now = self._database.dialect.now
        rows = await self._rows(f"SELECT value FROM cache WHERE cache_key = ? AND expires_at > {now}", key)
        try:
            return json.loads(rows[0][0]) if rows else None
        except ValueError:
            return None

    async def cache(self, key: str, value: Json, ttl_s: float) -> None:
        await self._cache(key, value, ttl_s, "TRUE")

    async def cache_new(self, key: str, value: Json, ttl_s: float) -> bool:
        """Cache an answer unless there is one that has not expired; return whether it was cached: of several processes
        at once, that of one.
        """
        return await self._cache(key, value, ttl_s, "FALSE")

    async def _cache(self, key: str, value: Json, ttl_s: float, replaces: str) -> bool:
        now, row = self._database.dialect.now, (key, json.dumps(value), int(min(ttl_s, LONGEST_S) * 1_000_000))
        insert = (
            f"INSERT INTO cache (cache_key, value, expires_at) VALUES (?, ?, {now} + ?) ON CONFLICT (cache_key)"
            " DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at"
            f" WHERE {replaces} RETURNING cache_key"
        )

        def write(connection: Connection) -> bool:
            connection.execute(f"DELETE FROM cache WHERE expires_at <= {now}")
            return bool(connection.execute(insert, row))

        return await self._write(f"3 {key}", write)

    async def pass_gate(self, name: str, interval_s: float) -> float:
        interval, now = int(interval_s * 1_000_000), self._database.dialect.now
        ((wait,),) = await self._written(
            f"2 {name}",
            f"INSERT INTO gates (name, free_at) VALUES (?, {now} + ?) ON CONFLICT (name) DO UPDATE"
            f" SET free_at = CASE WHEN gates.free_at > {now} THEN gates.free_at ELSE {now} END + ?"
            f" RETURNING free_at - {now} - ?",
            *(name, interval, interval, interval),
        )
        return max(wait, 0) / 1_000_000

    async def hold_gate(self, name: str, seconds: float) -> None:
        await self._written(
            f"2 {name}",
            f"INSERT INTO gates (name, free_at) VALUES (?, {self._database.dialect.now} + ?) ON CONFLICT (name)"
            " DO UPDATE SET free_at = excluded.free_at WHERE gates.free_at < excluded.free_at",
            *(name, int(seconds * 1_000_000)),
        )
