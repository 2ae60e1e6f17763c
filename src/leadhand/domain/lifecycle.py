"""What may follow what: the legal transitions of runs, assignments and attempts, as tables."""

from __future__ import annotations

from enum import StrEnum

from .run import RunStatus


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
    RunStatus.RUNNING: frozenset(
        {
            RunStatus.WAITING,
            RunStatus.PAUSED,
            RunStatus.SUCCEEDED,
            RunStatus.PARTIAL,
            RunStatus.FAILED,
            RunStatus.CANCELLED,
        }
    ),
    RunStatus.WAITING: frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.PAUSED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    # A person may reopen a run that is over.
    RunStatus.SUCCEEDED: frozenset({RunStatus.RUNNING}),
    RunStatus.PARTIAL: frozenset({RunStatus.RUNNING}),
    RunStatus.FAILED: frozenset({RunStatus.RUNNING}),
    RunStatus.CANCELLED: frozenset({RunStatus.RUNNING}),
}

ASSIGNMENT: dict[AssignmentStatus, frozenset[AssignmentStatus]] = {
    # A person may settle what is not under way: by supplying a result, or by skipping it.
    AssignmentStatus.PENDING: frozenset(
        {AssignmentStatus.RUNNING, AssignmentStatus.COMPLETED, AssignmentStatus.FAILED, AssignmentStatus.DROPPED}
    ),
    AssignmentStatus.RUNNING: frozenset(
        {AssignmentStatus.WAITING, AssignmentStatus.COMPLETED, AssignmentStatus.FAILED, AssignmentStatus.DROPPED}
    ),
    AssignmentStatus.WAITING: frozenset(
        {AssignmentStatus.RUNNING, AssignmentStatus.COMPLETED, AssignmentStatus.FAILED, AssignmentStatus.DROPPED}
    ),
    # A review may reject a completed result.
    AssignmentStatus.COMPLETED: frozenset({AssignmentStatus.FAILED, AssignmentStatus.DROPPED}),
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

SETTLED = frozenset({AssignmentStatus.COMPLETED, AssignmentStatus.FAILED, AssignmentStatus.DROPPED})
