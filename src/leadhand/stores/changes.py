"""The journal of all runs: which events each commit wrote, in an order in which a reader can stop and resume."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from leadhand.core.errors import UnreadableRun
from leadhand.core.events import Entry

from .codec import FARTHEST, decoded
from .connection import Connection, Row, Table
from .parts import StorePart

CHANGES = Table("changes", "run_id, first_seq, last_seq")
NEWEST = "SELECT coalesce(max(position), 0){also} FROM changes"
OLDEST_OPEN = ", CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"
OWN = ", CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)"
READ = """
    SELECT changes.position, changes.run_id, seq, at, events.epoch, type, version, body, subject
    FROM changes JOIN events ON events.run_id = changes.run_id AND seq BETWEEN first_seq AND last_seq{of_key}
    WHERE position BETWEEN ? AND ? AND (position > ? OR seq > ?)
    ORDER BY position, seq LIMIT ?
"""
OF_KEY = " JOIN runs ON runs.run_id = changes.run_id AND runs.key_id = ?"


class Place(NamedTuple):
    """A place in the journal: after the event ``seq`` of the commit at ``position``."""

    position: int = 0
    seq: int = 0


class Change(NamedTuple):
    """An event of a run and its place, or why the event cannot be read."""

    place: Place
    run_id: str
    entry: Entry | UnreadableRun


class Changes(StorePart):
    """The journal. Each reader gets every event once, those of one run in their order.

    On a server, a commit can become visible after one with a higher position. So a position counts only once every
    transaction has ended that was open when it was first seen.
    """

    _settled = 0
    _seen: tuple[int, int] | None = None
    """The newest position when it was last looked for, and a transaction that began after it."""

    async def newest_place(self) -> Place:
        """Return the place after everything that can be read now."""
        return Place(await self._newest(), FARTHEST)

    async def changes(
        self, after: Place, *, limit: int, key_id: str | None = None, wanted: Callable[[str, str], bool]
    ) -> tuple[list[Change], Place]:
        """Return the events after a place whose type and subject are wanted, and the place to go on from.

        At most ``limit`` events are looked at. ``key_id``: only those of runs of this API key.
        """
        newest = await self._newest()
        if after >= (newest, FARTHEST):
            return [], after
        of_key = () if key_id is None else (key_id,)
        bounds = after.position, newest, after.position, after.seq

        def read(connection: Connection) -> tuple[list[Change], Place]:
            sql = READ.format(of_key=OF_KEY if of_key else "")
            rows = connection.execute(sql, (*of_key, *bounds, limit))
            reached = Place(*rows[-1][:3:2]) if len(rows) == limit else Place(newest, FARTHEST)
            return [_change(row) for row in rows if wanted(row[5], row[8])], reached

        return await self._ask(read)

    async def _newest(self) -> int:
        """Return the highest position up to which no commit can appear anymore."""
        if self._database.dialect.alone:
            return (await self._rows(NEWEST.format(also="")))[0][0]
        for _ in range(2):  # at once, if no transaction is open
            ((newest, oldest_open),) = await self._rows(NEWEST.format(also=OLDEST_OPEN))
            if self._seen is not None and oldest_open > self._seen[1]:
                self._settled, self._seen = max(self._settled, self._seen[0]), None
            if newest <= self._settled:
                break
            if self._seen is None:
                self._seen = (await self._rows(NEWEST.format(also=OWN)))[0]
        return self._settled


def _change(row: Row) -> Change:
    position, run_id, seq, *columns, _ = row
    try:
        entry: Entry | UnreadableRun = decoded(run_id, seq, *columns)
    except UnreadableRun as error:
        entry = error
    return Change(Place(position, seq), run_id, entry)
