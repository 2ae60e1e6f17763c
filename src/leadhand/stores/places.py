"""The places of limits that the processes of a database share: a row is what one of them has, and wants.

Each process asks for itself, under the lock of the limit. A free place is left to the process that has waited
longest. The row of a process that died is deleted by the next one that waits. Nothing here depends on a clock.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import time
from typing import NamedTuple

from .connection import Connection, Table
from .parts import StorePart

PLACES = Table("places", "name, host, held, wanted, since", key=2)
LOOKING_S = 1.0
"""Seconds between two checks that the processes that share a limit are alive."""


class _Share(NamedTuple):
    """What one process has of a limit. The smaller ``since`` is, the longer it has waited."""

    held: int
    wanted: int
    since: int


class Places(StorePart):
    """The places, as :class:`~leadhand.ports.PlaceStore` has them."""

    _looked: dict[str, float]
    """When to look again whether the processes that share a limit are alive."""

    async def share(self, name: str, most: int, *, held: int, wanted: int = 0) -> int:
        return await self._write(f"2 places of {name}", self._share, name, most, held, wanted)

    def _share(self, connection: Connection, name: str, most: int, held: int, wanted: int) -> int:
        gate, host = f"places of {name}", self._hold.host
        connection.execute("INSERT INTO gates (name, free_at) VALUES (?, 0) ON CONFLICT (name) DO NOTHING", (gate,))
        connection.execute(
            f"SELECT free_at FROM gates WHERE name = ?{self._database.dialect.for_update}", (gate,)
        )  # until the commit
        rows = PLACES.find(connection, "name", [(name,)])
        others = {owner: _Share(*share) for _, owner, *share in rows}
        mine, last = others.pop(host, None), max((each.since for each in others.values()), default=0)
        if wanted:
            self._delete_dead(connection, name, others)
        waits = mine is not None and mine.wanted
        last = max(last, mine.since if mine is not None else 0)
        now = _Share(held, wanted, mine.since if mine is not None and waits else last + 1)
        ahead = (each.wanted for each in others.values() if each.since < now.since)
        free = most - held - sum(each.held for each in others.values()) - sum(ahead)
        if (more := min(wanted, free)) > 0:  # the others are next
            now = _Share(held + more, wanted - more, last + 1)
        if not now.held and not now.wanted:
            PLACES.delete(connection, "name, host", [(name, host)])
        elif now != mine:
            PLACES.put(connection, [(name, host, *now)])
        return now.held

    def _delete_dead(self, connection: Connection, name: str, others: dict[str, _Share]) -> None:
        """Delete the rows of dead processes, unless they were looked for a moment ago."""
        now = time.monotonic()
        if now < self._looked.get(name, now):
            return
        self._looked[name] = now + LOOKING_S
        for host in others.keys() - self._hold.living(others.keys(), connection):
            del others[host]
            PLACES.delete(connection, "name, host", [(name, host)])
