"""Lists of runs (from the summary in their rows) and of hosts."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Unpack

from leadhand.core.artifact import FileVersion, newest_files
from leadhand.core.errors import no_such_run
from leadhand.core.events import ArtifactWritten
from leadhand.core.run import RunStatus
from leadhand.ports.hosts import HostLine
from leadhand.ports.runs import (
    DRIVEN,
    STATUS_ORDER,
    RunFilter,
    RunListing,
    RunSort,
)

from .codec import EPOCH, moment, read_moment, read_tags, stored, stored_tags
from .connection import Connection, ReadOnly, Row
from .search import RUNS_PER_SEARCH, SearchIndex, search_conditions

VERSIONS_READ = 5_000
"""The newest versions of files among which those of earlier runs are looked for."""

COLUMNS = (
    "run_id, flow, request, status, model, created_at, finished_at, head_seq, epoch, owner, detached, key_id, follows,"
    " name, tags, unpriced,"
    " subtasks, completed, failed, asking, spent_requests AS requests, spent_tokens AS tokens, spent_nanousd AS nanousd"
)
SELECT = f"SELECT {COLUMNS} FROM runs"
FIELDS = tuple(column.rpartition(" ")[2] for column in COLUMNS.split(", "))

LARGEST = 2**62
PLACES = " ".join(f"WHEN {status.value!r} THEN {place}" for status, place in STATUS_ORDER.items())
BY_STATUS = f"CASE status {PLACES} END"

TAGGED = "replace(tags, ?, '') <> tags"
"""Whether a run has a tag: exact in every database, unlike LIKE."""


class Listings(SearchIndex):
    """Lists of runs and hosts, as :class:`~leadhand.ports.ContextStore` has them."""

    async def run(self, run_id: str) -> RunListing:
        lines = await self._lines("WHERE run_id = ?", run_id)
        if not lines:
            raise no_such_run(run_id)
        return lines[0]

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        now, dialect = self._now(), self._database.dialect
        if filters.get("search", "").strip():
            with suppress(ReadOnly):  # then what is in the index is found
                await self.index_runs(most=RUNS_PER_SEARCH)
        if before is not None and not await self._rows("SELECT 1 FROM runs WHERE run_id = ?", before):
            raise no_such_run(before)
        took = f"(coalesce(finished_at, {stored(now)}) - created_at)"
        conditions = [*_conditions(filters, took), *search_conditions(filters.get("search", ""), dialect)]
        ascending = filters.get("ascending", False)
        key = {
            RunSort.CREATED: "created_at",
            RunSort.COST: "spent_nanousd",
            RunSort.DURATION: took,
            RunSort.STATUS: BY_STATUS,
            RunSort.FLOW: "flow",
        }[RunSort(filters.get("sort", RunSort.CREATED))]
        columns = ("created_at", "run_id") if key == "created_at" else (key, "created_at", "run_id")
        if before is not None:
            after = f"({', '.join(columns)}) {'>' if ascending else '<'}"
            place = f"(SELECT {', '.join(columns)} FROM runs WHERE run_id = ?)"
            conditions.append((f"{after} {place}", [before]))
        where = " AND ".join([*(condition for condition, _ in conditions), "TRUE"])
        direction = "ASC" if ascending else "DESC"
        order = ", ".join(f"{column} {direction}" for column in columns)
        parameters = [*chain.from_iterable(values for _, values in conditions), limit]
        return await self._lines(f"WHERE {where} ORDER BY {order} LIMIT ?", *parameters)

    async def _lines(self, which: str, *parameters: object) -> list[RunListing]:
        def read(connection: Connection) -> list[RunListing]:
            rows = connection.execute(f"{SELECT} {which}", parameters)
            owners = {row[9] for row in rows if row[9] is not None}
            living = self._hold.living(owners, connection) if owners else set[str]()
            return [_line(row, living) for row in rows]

        return await self._ask(read)

    async def earlier_files(
        self, flow: str, key_id: str, limit: int, *, offline: bool, documents: str
    ) -> list[FileVersion]:
        rows = await self._rows(
            "SELECT events.run_id, events.at, events.body FROM events JOIN runs ON runs.run_id = events.run_id"
            " WHERE events.type = 'artifact_written' AND runs.flow = ? AND runs.key_id = ? AND runs.offline = ?"
            " AND runs.documents IN ('', ?) ORDER BY events.at DESC, events.run_id DESC, events.seq DESC LIMIT ?",
            *(flow, key_id, int(offline), documents, VERSIONS_READ),
        )
        return newest_files(_files(rows), limit)

    async def hosts(self) -> list[HostLine]:
        return await self._ask(self._hosts)

    def _hosts(self, connection: Connection) -> list[HostLine]:
        """Return this process and every living process that drives runs or has announced itself, each with its runs."""
        me, owned = (
            self._hold.host,
            "SELECT owner, run_id FROM runs WHERE owner IS NOT NULL ORDER BY created_at, run_id",
        )
        driven: dict[str, list[str]] = {me: []}
        for owner, run_id in connection.execute(owned):
            driven.setdefault(owner, []).append(run_id)
        announced = dict(connection.execute("SELECT host, line FROM hosts WHERE line <> ''"))
        living = self._hold.living(driven.keys() | announced.keys(), connection) - {me}
        found: list[HostLine] = []
        for host in (me, *sorted(living)):
            line = HostLine.model_validate_json(announced[host]) if host in announced else HostLine(host=host)
            found.append(line.evolve(here=host == me, runs=tuple(driven.get(host, ()))))
        return found


def _conditions(filters: RunFilter, took: str) -> list[tuple[str, Sequence[object]]]:
    """Return the conditions of filters with their parameters; ``took`` is the SQL of the duration."""
    status, text, detached = filters.get("status"), filters.get("text"), filters.get("detached")
    literally = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_") if text else ""
    conditions: dict[str, object] = {
        "status = ?": None if status is None else str(status),
        "flow = ?": filters.get("flow"),
        "searched LIKE ? ESCAPE '!'": f"%{literally}%" if text else None,
        "created_at >= ?": stored(filters.get("since")),
        "created_at < ?": stored(filters.get("until")),
        "spent_nanousd >= ?": _times(filters.get("min_cost_usd"), 1_000_000_000),
        "spent_nanousd <= ?": _times(filters.get("max_cost_usd"), 1_000_000_000),
        f"{took} >= ?": _times(filters.get("min_duration_s"), 1_000_000),
        f"{took} <= ?": _times(filters.get("max_duration_s"), 1_000_000),
        "key_id = ?": filters.get("key_id"),
        "follows = ?": filters.get("follows"),
        "detached = ?": None if detached is None else int(detached),
    }
    given = [(condition, (value,)) for condition, value in conditions.items() if value is not None]
    tagged = [(TAGGED, (stored_tags({key: value}),)) for key, value in filters.get("tags", {}).items()]
    return [*given, *tagged, *([("asking > 0", ())] if filters.get("asking") else [])]


def _times(value: float | None, factor: int) -> int | None:
    """Return a number in the unit of a column, within what a column can hold."""
    return None if value is None else int(max(min(value * factor, LARGEST), -1))


def _files(rows: Iterable[Row]) -> Iterator[FileVersion]:
    for run_id, at, body in rows:
        with suppress(ValueError, ArithmeticError):  # damage must not keep a run from starting
            written = ArtifactWritten.model_validate_json(body)
            yield FileVersion(path=written.path, digest=written.digest, size=written.size, run_id=run_id, at=moment(at))


def _line(row: Row, living: set[str]) -> RunListing:
    fields: dict[str, Any] = dict(zip(FIELDS, row, strict=True))
    try:
        status = RunStatus(fields["status"])
        owner = fields["owner"] if fields["owner"] in living else None  # a dead owner does not drive the run
        fields |= {"status": status, "owner": owner, "orphan": owner is None and status in DRIVEN}
        fields |= {"created_at": moment(fields["created_at"]), "finished_at": read_moment(fields["finished_at"])}
        fields |= {"detached": bool(fields["detached"]), "unpriced": bool(fields["unpriced"])}
        fields["tags"] = read_tags(fields["tags"])
        return RunListing(**fields)
    except (ValueError, ArithmeticError, TypeError):  # it must not hide other runs
        damaged = f"the line of run {row[0]} in the table runs is damaged; restore the database from a backup"
        return RunListing(
            run_id=row[0], flow="", request=damaged, status=RunStatus.FAILED, model="", created_at=EPOCH, head_seq=0,
            epoch=0,
        )  # fmt: skip
