"""What may follow what: the legal transitions of runs, subtasks and attempts, as tables."""

from __future__ import annotations

from enum import StrEnum

from .run import RunStatus


class SubtaskStatus(StrEnum):
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
    # A person may want more of a run that is over.
    RunStatus.SUCCEEDED: frozenset({RunStatus.RUNNING}),
    RunStatus.PARTIAL: frozenset({RunStatus.RUNNING}),
    RunStatus.FAILED: frozenset({RunStatus.RUNNING}),
    RunStatus.CANCELLED: frozenset({RunStatus.RUNNING}),
}

SUBTASK: dict[SubtaskStatus, frozenset[SubtaskStatus]] = {
    # A person may settle what is not under way: by a result, or by leaving it undone.
    SubtaskStatus.PENDING: frozenset(
        {SubtaskStatus.RUNNING, SubtaskStatus.COMPLETED, SubtaskStatus.FAILED, SubtaskStatus.DROPPED}
    ),
    SubtaskStatus.RUNNING: frozenset(
        {SubtaskStatus.WAITING, SubtaskStatus.COMPLETED, SubtaskStatus.FAILED, SubtaskStatus.DROPPED}
    ),
    SubtaskStatus.WAITING: frozenset(
        {SubtaskStatus.RUNNING, SubtaskStatus.COMPLETED, SubtaskStatus.FAILED, SubtaskStatus.DROPPED}
    ),
    # The review may find a completed subtask wanting; it is never made to have run again under the same key.
    SubtaskStatus.COMPLETED: frozenset({SubtaskStatus.FAILED, SubtaskStatus.DROPPED}),
    SubtaskStatus.FAILED: frozenset({SubtaskStatus.DROPPED, SubtaskStatus.COMPLETED}),
    SubtaskStatus.DROPPED: frozenset({SubtaskStatus.COMPLETED}),
}

ATTEMPT: dict[AttemptStatus, frozenset[AttemptStatus]] = {
    AttemptStatus.SCHEDULED: frozenset({AttemptStatus.RUNNING, AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.RUNNING: frozenset({AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.PARKED: frozenset({AttemptStatus.SETTLED}),
    AttemptStatus.RETURNED: frozenset({AttemptStatus.SETTLED, AttemptStatus.PARKED}),
    AttemptStatus.SETTLED: frozenset(),
}

SETTLED_SUBTASK = frozenset({SubtaskStatus.COMPLETED, SubtaskStatus.FAILED, SubtaskStatus.DROPPED})
