"""The queue of many machines, which is Procrastinate's: add jobs in the transaction that causes them, and see them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from leadhand.ports.hosts import QueueInfo
from leadhand.stores.connection import Connection, TryAgain

CARRY_OUT = "carry_out"
DRIVE = "drive"
VERSION = 1
"""The version of the arguments of jobs."""

DEFER = (
    "SELECT procrastinate_defer_jobs_v1(array_agg(ROW(queue, task, 0, NULL, queueing_lock, args, NULL)"
    "::procrastinate_job_to_defer_v1)) FROM json_to_recordset(CAST(? AS JSON))"
    " AS job(queue TEXT, task TEXT, queueing_lock TEXT, args JSONB)"
)
"""The schema of the queue is created with our tables, and its functions are found by the search path, as our tables."""

WAITING = (
    "SELECT jobs.task_name, jobs.args, CAST(extract(epoch FROM clock_timestamp() - events.at) AS DOUBLE PRECISION)"
    " FROM procrastinate_jobs AS jobs LEFT JOIN procrastinate_events AS events"
    " ON events.job_id = jobs.id AND events.type = 'deferred' WHERE jobs.status = 'todo'"
    " ORDER BY jobs.id"
)


class Job(NamedTuple):
    """What any host may do: drive a run, or carry out ``attempts`` of it. It holds names only; the log has the rest."""

    task: str
    run_id: str
    attempts: tuple[str, ...] = ()

    @property
    def lock(self) -> str | None:
        """What at most one waiting job may have: of a job to drive a run, its id."""
        return self.run_id if self.task == DRIVE else None


def queue_info(connection: Connection) -> QueueInfo:
    """Return what waits in the queue."""
    jobs = connection.execute(WAITING)
    return QueueInfo(
        depth=len(jobs),
        oldest_s=round(max((age or 0.0 for _, _, age in jobs), default=0.0), 3),
        steps=sum(len(arguments.get("attempts", ())) for _, arguments, _ in jobs),
        runs=tuple(arguments["run_id"] for task, arguments, _ in jobs if task == DRIVE),
    )


def defer(connection: Connection, jobs: Sequence[Job]) -> None:
    """Add jobs to the queue; a job whose lock another waiting job has is not added again."""
    free = [job for job in jobs if job.lock is None]
    if free:
        connection.execute(DEFER, (json.dumps([_row(job) for job in free]),))
    for job in jobs:
        if job.lock is not None:
            connection.execute("SAVEPOINT job")
            try:
                connection.execute(DEFER, (json.dumps([_row(job)]),))
            except TryAgain:  # what another session has just added
                connection.execute("ROLLBACK TO SAVEPOINT job")


def _row(job: Job) -> dict[str, object]:
    attempts = {"attempts": job.attempts} if job.attempts else {}
    return {
        "queue": job.task,
        "task": job.task,
        "queueing_lock": job.lock,
        "args": {"version": VERSION, "run_id": job.run_id, **attempts},
    }
