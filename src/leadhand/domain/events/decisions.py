"""Decisions: from the run's owner alone, fenced by its epoch."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from leadhand.domain.approval import Approval
from leadhand.domain.assignment import Assignment, OpenCall
from leadhand.domain.errors import Failure
from leadhand.domain.review import Review
from leadhand.domain.run import CitedSource, Gap, RunDefinition, RunStatus
from leadhand.domain.work_order import OutOfReach, WorkOrder
from leadhand.domain.work_result import ResultData

from .base import Happened


class RunStarted(Happened):
    """The run exists, pinned to its definition."""

    type: Literal["run_started"] = "run_started"
    definition: RunDefinition


class RunClaimed(Happened):
    """A process took the run over; the entry's epoch is the new one."""

    type: Literal["run_claimed"] = "run_claimed"
    owner: str


class WorkOrderIssued(Happened):
    """An order was accepted as a plan and is immutable from here on. ``by`` names the person who asked for it, if one
    did: such an order is not among those that ``max_steps`` counts."""

    type: Literal["work_order_issued"] = "work_order_issued"
    order: WorkOrder
    by: str = ""

    @property
    def subject(self) -> str:
        return self.order.work_order_id


class PartsRefused(Happened):
    """Parts of the request were found to be beyond every tool: gaps of the answer."""

    type: Literal["parts_refused"] = "parts_refused"
    parts: tuple[OutOfReach, ...]


class AssignmentIssued(Happened):
    """Work was handed out; its first attempt (``…/a1``) may start."""

    type: Literal["assignment_issued"] = "assignment_issued"
    assignment: Assignment

    @property
    def subject(self) -> str:
        return self.assignment.assignment_id


class AttemptScheduled(Happened):
    """A further attempt may start, not before ``not_before``.

    ``continues`` names the attempt whose conversation it takes up (None: afresh), ``feedback`` what was wrong.
    """

    type: Literal["attempt_scheduled"] = "attempt_scheduled"
    attempt: str
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptSettled(Happened):
    """The controller took note of a returned attempt. ``final`` ends its assignment.

    ``failure`` is why it does not count: the worker's own error, or what the code checks of the gate found.
    """

    type: Literal["attempt_settled"] = "attempt_settled"
    attempt: str
    ok: bool
    final: bool
    failure: Failure | None = None

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptLost(Happened):
    """The process that ran an attempt died, or its deadline passed; whatever it still returns is late."""

    type: Literal["attempt_lost"] = "attempt_lost"
    attempt: str
    failure: Failure

    @property
    def subject(self) -> str:
        return self.attempt


class SubtaskBlocked(Happened):
    """A subtask will not start, since what it needs has failed."""

    type: Literal["subtask_blocked"] = "subtask_blocked"
    subtask: str
    cause: str

    @property
    def subject(self) -> str:
        return self.subtask


class OrderReviewed(Happened):
    """The gate judged an order: the lead's verdicts, made whole and fail-closed by the controller."""

    type: Literal["order_reviewed"] = "order_reviewed"
    work_order_id: str
    review: Review

    @property
    def subject(self) -> str:
        return self.work_order_id


class ApprovalRequested(Happened):
    """A person is asked about one call."""

    type: Literal["approval_requested"] = "approval_requested"
    approval: Approval

    @property
    def subject(self) -> str:
        return self.approval.attempt


class ApprovalExpired(Happened):
    """Nobody answered in time: that is a no."""

    type: Literal["approval_expired"] = "approval_expired"
    approval_id: str


class AttemptHeld(Happened):
    """A returned attempt is parked: a call of it with effect ``once`` had begun, and a person has to say what came of
    it before anything goes on."""

    type: Literal["attempt_held"] = "attempt_held"
    attempt: str
    open_calls: tuple[OpenCall, ...]

    @property
    def subject(self) -> str:
        return self.attempt


class RunPaused(Happened):
    """Nothing new starts until somebody resumes the run."""

    type: Literal["run_paused"] = "run_paused"
    reason: str = ""


class RunWaiting(Happened):
    """Only people can move the run on: every attempt that is left is parked."""

    type: Literal["run_waiting"] = "run_waiting"
    reason: str = ""


class RunResumed(Happened):
    """The run goes on."""

    type: Literal["run_resumed"] = "run_resumed"


class RunReopened(Happened):
    """A person wants more of a run that was over: it goes on, and will have another answer."""

    type: Literal["run_reopened"] = "run_reopened"
    by: str


class RetryGranted(Happened):
    """Subtasks will be done again in an order of their own, as a person asked: with other ``args``, or with ``data``
    in place of doing it."""

    type: Literal["retry_granted"] = "retry_granted"
    subtasks: tuple[str, ...]
    args: dict[str, Any] | None = None
    data: ResultData | None = None
    by: str


class SubtaskResolved(Happened):
    """A person settled a subtask: with a result (``data``), or by leaving it undone. ``counted`` says what it had been
    counted as until then, so that nobody who counts has to remember: as done (whatever the review made of it), as
    failed, or not at all."""

    type: Literal["subtask_resolved"] = "subtask_resolved"
    subtask: str
    data: ResultData | None = None
    by: str
    reason: str = ""
    counted: Literal["open", "completed", "failed"] = "open"

    @property
    def subject(self) -> str:
        return self.subtask


class RequestDeclined(Happened):
    """What a person asked for cannot be done, and why."""

    type: Literal["request_declined"] = "request_declined"
    request: str
    reason: str


class RunFinished(Happened):
    """The run is over. ``answer`` is the only answer there is; a draft never was. A run that was reopened has another,
    of the next ``number``."""

    type: Literal["run_finished"] = "run_finished"
    number: int = 1
    status: RunStatus
    answer: str
    sources: tuple[CitedSource, ...] = ()
    gaps: tuple[Gap, ...] = ()
    failure: Failure | None = None
