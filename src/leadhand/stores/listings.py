"""Lists of runs, from the small projection in their rows."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.domain.errors import StoreError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus

from .codec import moment, no_such_run
from .connection import Connection, Hold, Row

DRIVEN = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
"""In these a run should have an owner; without one it is an orphan."""

SELECT = (
    "SELECT run_id, flow, request, status, model, created_at, finished_at, head_seq, epoch, owner, detached,"
    " subtasks, completed, failed FROM runs"
)


def run_listing(connection: Connection, hold: Hold, run_id: str) -> RunListing:
    """One run's line. Raises NoSuchRun."""
    lines = _lines(connection.execute(f"{SELECT} WHERE run_id = ?", (run_id,)), connection, hold)
    if not lines:
        raise no_such_run(run_id)
    return lines[0]


def run_listings(
    connection: Connection, hold: Hold, status: RunStatus | None, text: str, limit: int, before: str | None
) -> list[RunListing]:
    """Runs, newest first: of this status, with this text in their request (in any case), after the page before.

    Raises NoSuchRun when ``before`` is no run.
    """
    conditions: list[str] = []
    parameters: list[object] = []
    if status is not None:
        conditions.append("status = ?")
        parameters.append(status.value)
    if text:
        conditions.append("searched LIKE ? ESCAPE '!'")
        literally = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
        parameters.append(f"%{literally}%")
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
    owner = row[9] if row[9] in living else None  # a dead owner drives nothing
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
    )
