"""The allowed transitions between statuses of runs, assignments and attempts, as tables."""

from __future__ import annotations

from enum import StrEnum

from .run import ENDED, RunStatus


class AssignmentStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    DROPPED = "dropped"


class AttemptStatus(StrEnum):
    SCHEDULED = "scheduled"
    RUNNING = "running"
    PARKED = "parked"
    RETURNED = "returned"
    SETTLED = "settled"


RUN: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.RUNNING: ENDED | {RunStatus.WAITING, RunStatus.PAUSED},
    RunStatus.WAITING: frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.PAUSED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    # A person may reopen a run that has ended.
    RunStatus.SUCCEEDED: frozenset({RunStatus.RUNNING}),
    RunStatus.PARTIAL: frozenset({RunStatus.RUNNING}),
    RunStatus.FAILED: frozenset({RunStatus.RUNNING}),
    RunStatus.CANCELLED: frozenset({RunStatus.RUNNING}),
}

SETTLED = frozenset({AssignmentStatus.COMPLETED, AssignmentStatus.FAILED, AssignmentStatus.DROPPED})
UNSUCCESSFUL = frozenset({AssignmentStatus.FAILED, AssignmentStatus.DROPPED})

ASSIGNMENT: dict[AssignmentStatus, frozenset[AssignmentStatus]] = {
    # A person may settle an assignment that is not running, by supplying a result or by skipping it.
    AssignmentStatus.PENDING: SETTLED | {AssignmentStatus.RUNNING},
    AssignmentStatus.RUNNING: SETTLED | {AssignmentStatus.WAITING},
    AssignmentStatus.WAITING: SETTLED | {AssignmentStatus.RUNNING},
    # A review may reject a completed result.
    AssignmentStatus.COMPLETED: UNSUCCESSFUL,
    AssignmentStatus.FAILED: frozenset(
        {AssignmentStatus.DROPPED, AssignmentStatus.COMPLETED, AssignmentStatus.PENDING}
    ),
    AssignmentStatus.DROPPED: frozenset({AssignmentStatus.COMPLETED, AssignmentStatus.PENDING}),
}

ATTEMPT: dict[AttemptStatus, frozenset[AttemptStatus]] = {
    AttemptStatus.SCHEDULED: frozenset({AttemptStatus.RUNNING, AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.RUNNING: frozenset({AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.PARKED: frozenset({AttemptStatus.SETTLED}),
    AttemptStatus.RETURNED: frozenset({AttemptStatus.SETTLED, AttemptStatus.PARKED}),
    AttemptStatus.SETTLED: frozenset(),
}
