"""Lists of runs (from the summary in their rows) and of hosts, and counts for operators."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from leadhand.core.artifact import FileVersion
from leadhand.core.errors import no_such_run
from leadhand.core.events import ArtifactWritten
from leadhand.core.run import RunStatus
from leadhand.core.value import Json, is_object
from leadhand.ports.earlier_files import newest_files
from leadhand.ports.hosts import Announcement, HostLine
from leadhand.ports.runs import (
    DRIVEN,
    STATUS_ORDER,
    RunFilter,
    RunListing,
    RunSort,
    StoreInfo,
)

from .codec import EPOCH, moment, read_moment, read_tags, stored, stored_tags
from .connection import Connection, Database, Dialect, Hold, Row
from .search import search_conditions

VERSIONS_READ = 5_000
"""The newest versions of files among which those of earlier runs are looked for."""

RUNS_READ = 100
"""Runs whose definitions are read by one statement."""

COLUMNS = (
    "run_id, flow, request, status, model, created_at, finished_at, head_seq, epoch, owner, detached, key_id, follows,"
    " name, tags, unpriced,"
    " subtasks, completed, failed, asking, spent_requests AS requests, spent_tokens AS tokens, spent_nanousd AS nanousd"
)
ANNOUNCED = "SELECT host, said, since, attempts, draining FROM hosts ORDER BY since, host"
SELECT = f"SELECT {COLUMNS} FROM runs"
FIELDS = tuple(column.rpartition(" ")[2] for column in COLUMNS.split(", "))

LARGEST = 2**62
PLACES = " ".join(f"WHEN {status.value!r} THEN {place}" for status, place in STATUS_ORDER.items())
BY_STATUS = f"CASE status {PLACES} END"

TAGGED = "replace(tags, ?, '') <> tags"
"""Whether a run has a tag: exact in every database, unlike LIKE."""


class RunsAsked(NamedTuple):
    """Which part of a list of runs is asked for; unfinished runs took the time until ``now``."""

    limit: int
    before: str | None
    now: datetime


def run_listing(connection: Connection, hold: Hold, run_id: str) -> RunListing:
    """Return the line of one run. Raises NoSuchRun."""
    lines = _lines(connection.execute(f"{SELECT} WHERE run_id = ?", (run_id,)), connection, hold)
    if not lines:
        raise no_such_run(run_id)
    return lines[0]


def run_listings(
    connection: Connection, dialect: Dialect, hold: Hold, asked: RunsAsked, filters: RunFilter
) -> list[RunListing]:
    """Return the runs as :meth:`leadhand.ports.ContextStore.runs` does. Raises NoSuchRun if ``before`` is unknown."""
    if asked.before is not None and not connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (asked.before,)):
        raise no_such_run(asked.before)
    took = f"(coalesce(finished_at, {stored(asked.now)}) - created_at)"
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
    if asked.before is not None:
        after = f"({', '.join(columns)}) {'>' if ascending else '<'}"
        place = f"(SELECT {', '.join(columns)} FROM runs WHERE run_id = ?)"
        conditions.append((f"{after} {place}", [asked.before]))
    where = " AND ".join([*(condition for condition, _ in conditions), "TRUE"])
    direction = "ASC" if ascending else "DESC"
    order = ", ".join(f"{column} {direction}" for column in columns)
    parameters = [*chain.from_iterable(values for _, values in conditions), asked.limit]
    return _lines(connection.execute(f"{SELECT} WHERE {where} ORDER BY {order} LIMIT ?", parameters), connection, hold)


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


def earlier_files(
    connection: Connection,
    flow: str,
    key_id: str,
    limit: int,
    may_read: Callable[[tuple[bool, str]], bool],
) -> list[FileVersion]:
    """Return the files of runs as :meth:`leadhand.ports.ContextStore.earlier_files` does; damaged entries are left out.

    ``may_read`` decides about a run by its ``offline`` and its ``documents``.
    """
    written = (
        "SELECT events.run_id, events.at, events.body"
        " FROM events JOIN runs ON runs.run_id = events.run_id"
        " WHERE events.type = 'artifact_written' AND runs.flow = ? AND runs.key_id = ?"
        " ORDER BY events.at DESC, events.run_id DESC, events.seq DESC LIMIT ?"
    )
    versions = connection.execute(written, (flow, key_id, VERSIONS_READ))
    readable = {run_id for run_id, place in _places(connection, {row[0] for row in versions}) if may_read(place)}
    return newest_files(_files(row for row in versions if row[0] in readable), limit)


def _places(connection: Connection, run_ids: set[str]) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Return, of each run, whether it is offline, and its directory of documents; damaged runs are left out."""
    ordered = sorted(run_ids)
    for at in range(0, len(ordered), RUNS_READ):
        some = ordered[at : at + RUNS_READ]
        marks = ", ".join("?" * len(some))
        for run_id, body in connection.execute(
            f"SELECT run_id, body FROM events WHERE seq = 1 AND run_id IN ({marks})", some
        ):
            with contextlib.suppress(ValueError, TypeError, KeyError):  # damage must not keep a run from starting
                definition = json.loads(body)["definition"]
                yield run_id, (bool(definition.get("offline")), str(definition.get("documents") or ""))


def _files(rows: Iterable[Row]) -> Iterator[FileVersion]:
    for run_id, at, body in rows:
        try:
            written = ArtifactWritten.model_validate_json(body).model_dump(exclude={"type", "attempt"})
            yield FileVersion(**written, run_id=run_id, at=moment(at))
        except (ValueError, ArithmeticError):  # damage must not keep a run from starting
            continue


def _lines(rows: Sequence[Row], connection: Connection, hold: Hold) -> list[RunListing]:
    owners = {row[9] for row in rows if row[9] is not None}
    living = hold.living(owners, connection) if owners else set[str]()
    return [_line(row, living) for row in rows]


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


def host_lines(connection: Connection, hold: Hold, shared: bool) -> list[HostLine]:
    """Return this process and every living process that drives runs, each with its runs, oldest first.

    In a database that is ``shared``, also those that have announced themselves, with what they say of themselves.
    """
    driven: dict[str, list[str]] = {hold.host: []}
    rows = connection.execute("SELECT owner, run_id FROM runs WHERE owner IS NOT NULL ORDER BY created_at, run_id")
    for owner, run_id in rows:
        driven.setdefault(owner, []).append(run_id)
    announced = {row[0]: row[1:] for row in connection.execute(ANNOUNCED)} if shared else {}
    living = hold.living(driven.keys() | announced.keys(), connection) - {hold.host}
    return [
        HostLine(host=host, here=host == hold.host, runs=tuple(driven.get(host, ())), **_announced(announced.get(host)))
        for host in (hold.host, *sorted(living))
    ]


def _announced(row: Row | None) -> dict[str, Any]:
    if row is None:
        return {}
    said, since, attempts, draining = row
    return {
        **Announcement.model_validate_json(said).model_dump(),
        "since": moment(since),
        **_carried_out(json.loads(attempts)),
        "draining": bool(draining),
    }


def _carried_out(beat: Json) -> dict[str, Any]:
    """Return what a heartbeat says of attempts: how many, and which; a process of an earlier release says which."""
    shown, count = (beat["shown"], beat["count"]) if is_object(beat) else (beat, len(beat))
    return {"attempts": tuple(shown), "running": count}


def store_info(connection: Connection, database: Database) -> StoreInfo:
    """Return the kind of the database, its schema, its size, and its number of runs by status."""
    ((version,),) = connection.execute("SELECT version FROM meta")
    ((size,),) = connection.execute(database.dialect.size)
    counts = connection.execute("SELECT status, count(*) FROM runs GROUP BY status ORDER BY status")
    known = frozenset(RunStatus)
    runs = {RunStatus(status): count for status, count in counts if status in known}
    return StoreInfo(kind=database.dialect.kind, name=database.name, version=version, bytes=size, runs=runs)
