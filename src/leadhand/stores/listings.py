"""Lists of runs, from the small projection in their rows; of hosts; and counts for operators."""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

from collections.abc import Sequence

from leadhand.domain.errors import StoreError
from leadhand.domain.listing import HostLine, RunFilter, RunListing, StoreInfo
from leadhand.domain.run import ENDED, RunStatus

from .codec import microseconds, moment, no_such_run
from .connection import Connection, Database, Hold, Row

DRIVEN = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
"""A run with one of these statuses should have an owner; without an owner it is an orphan."""

SELECT = (
    "SELECT run_id, flow, request, status, model, created_at, finished_at, head_seq, epoch, owner, detached,"
    " subtasks, completed, failed, spent_requests, spent_tokens, spent_nanousd,"
    " (SELECT count(*) FROM open_approvals WHERE open_approvals.run_id = runs.run_id) FROM runs"
)
# A finished run keeps its open approvals, in case it is reopened, but nobody can answer them until then.
ASKING = (
    f"status NOT IN ({', '.join(sorted(repr(status.value) for status in ENDED))})"
    " AND run_id IN (SELECT run_id FROM open_approvals)"
)


def run_listing(connection: Connection, hold: Hold, run_id: str) -> RunListing:
    """Return the line of one run. Raises NoSuchRun."""
    lines = _lines(connection.execute(f"{SELECT} WHERE run_id = ?", (run_id,)), connection, hold)
    if not lines:
        raise no_such_run(run_id)
    return lines[0]


def run_listings(
    connection: Connection, hold: Hold, limit: int, before: str | None, filters: RunFilter
) -> list[RunListing]:
    """Return the runs that meet every filter, newest first. Raises NoSuchRun if ``before`` is unknown."""
    conditions: list[str] = []
    parameters: list[object] = []
    if (status := filters.get("status")) is not None:
        conditions.append("status = ?")
        parameters.append(status.value)
    if text := filters.get("text"):
        conditions.append("searched LIKE ? ESCAPE '!'")
        literally = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
        parameters.append(f"%{literally}%")
    if (since := filters.get("since")) is not None:
        conditions.append("created_at >= ?")
        parameters.append(microseconds(since))
    if (until := filters.get("until")) is not None:
        conditions.append("created_at < ?")
        parameters.append(microseconds(until))
    if filters.get("asking"):
        conditions.append(ASKING)
    if (detached := filters.get("detached")) is not None:
        conditions.append("detached = ?")
        parameters.append(int(detached))
    if before is not None:
        if not connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (before,)):
            raise no_such_run(before)
        conditions.append("(created_at, run_id) < (SELECT created_at, run_id FROM runs WHERE run_id = ?)")
        parameters.append(before)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = connection.execute(f"{SELECT}{where} ORDER BY created_at DESC, run_id DESC LIMIT ?", [*parameters, limit])
    return _lines(rows, connection, hold)


def _lines(rows: Sequence[Row], connection: Connection, hold: Hold) -> list[RunListing]:
    owners = {row[9] for row in rows if row[9] is not None}
    living = hold.living(owners, connection) if owners else set[str]()
    return [_readable(row, living) for row in rows]


def _readable(row: Row, living: set[str]) -> RunListing:
    try:
        return _line(row, living)
    except (ValueError, ArithmeticError, TypeError) as error:
        raise StoreError(
            f"the line of run {row[0]} in the table runs is damaged", "restore the database from a backup"
        ) from error


def _line(row: Row, living: set[str]) -> RunListing:
    owner = row[9] if row[9] in living else None  # a dead owner does not drive the run
    status = RunStatus(row[3])
    return RunListing(
        run_id=row[0],
        flow=row[1],
        request=row[2],
        status=status,
        model=row[4],
        created_at=moment(row[5]),
        finished_at=None if row[6] is None else moment(row[6]),
        head_seq=row[7],
        epoch=row[8],
        owner=owner,
        orphan=owner is None and status in DRIVEN,
        detached=bool(row[10]),
        subtasks=row[11],
        completed=row[12],
        failed=row[13],
        requests=row[14],
        tokens=row[15],
        nanousd=row[16],
        asking=0 if status in ENDED else row[17],
    )


def host_lines(connection: Connection, hold: Hold) -> list[HostLine]:
    """Return this process and every living process that drives runs, each with its runs, oldest first."""
    driven: dict[str, list[str]] = {hold.host: []}
    rows = connection.execute("SELECT owner, run_id FROM runs WHERE owner IS NOT NULL ORDER BY created_at, run_id")
    for owner, run_id in rows:
        driven.setdefault(owner, []).append(run_id)
    living = hold.living(driven.keys(), connection) - {hold.host}
    return [
        HostLine(host=host, here=host == hold.host, runs=tuple(driven[host])) for host in (hold.host, *sorted(living))
    ]


def store_info(connection: Connection, database: Database) -> StoreInfo:
    """Return the kind of the database, its schema, its size, and its number of runs by status."""
    ((version,),) = connection.execute("SELECT version FROM meta")
    ((size,),) = connection.execute(database.dialect.size)
    counts = connection.execute("SELECT status, count(*) FROM runs GROUP BY status ORDER BY status")
    try:
        runs = {RunStatus(status): count for status, count in counts}
    except ValueError as error:
        raise StoreError("a line in the table runs is damaged", "restore the database from a backup") from error
    return StoreInfo(kind=database.dialect.kind, name=database.name, version=version, bytes=size, runs=runs)
