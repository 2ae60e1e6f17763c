"""The allowed transitions between statuses of runs, steps and attempts, as tables."""

from __future__ import annotations

from enum import StrEnum

from .run import ENDED, RunStatus


class StepStatus(StrEnum):
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

SETTLED = frozenset({StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.DROPPED})
UNSUCCESSFUL = frozenset({StepStatus.FAILED, StepStatus.DROPPED})

STEP: dict[StepStatus, frozenset[StepStatus]] = {
    # A person may settle a step that is not running, by supplying a result or by skipping it.
    StepStatus.PENDING: SETTLED | {StepStatus.RUNNING},
    StepStatus.RUNNING: SETTLED | {StepStatus.WAITING, StepStatus.PENDING},
    StepStatus.WAITING: SETTLED | {StepStatus.RUNNING},
    # A review may reject a completed result, and a person may have it made again.
    StepStatus.COMPLETED: UNSUCCESSFUL | {StepStatus.PENDING},
    StepStatus.FAILED: frozenset({StepStatus.DROPPED, StepStatus.COMPLETED, StepStatus.PENDING}),
    StepStatus.DROPPED: frozenset({StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.PENDING}),
}

ATTEMPT: dict[AttemptStatus, frozenset[AttemptStatus]] = {
    AttemptStatus.SCHEDULED: frozenset({AttemptStatus.RUNNING, AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.RUNNING: frozenset({AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.PARKED: frozenset(),
    AttemptStatus.RETURNED: frozenset({AttemptStatus.PARKED}),
}
