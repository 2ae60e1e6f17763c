"""Decisions: from the run's owner alone, fenced by its epoch."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal

from leadhand.domain.approval import Approval
from leadhand.domain.asks import Todo
from leadhand.domain.assignment import Assignment, OpenCall
from leadhand.domain.errors import Failure
from leadhand.domain.review import Review
from leadhand.domain.role import Role
from leadhand.domain.run import CitedSource, Gap, RunDefinition, RunStatus
from leadhand.domain.work_order import Unsupported, WorkOrder
from leadhand.domain.work_result import ResultData

from .base import EventBase


class RunStarted(EventBase):
    """The run exists, pinned to its definition."""

    version: ClassVar[int] = 2
    type: Literal["run_started"] = "run_started"
    definition: RunDefinition


class RunClaimed(EventBase):
    """A process took the run over; the entry's epoch is the new one."""

    type: Literal["run_claimed"] = "run_claimed"
    owner: str


class WorkOrderIssued(EventBase):
    """An order was accepted as a plan and is immutable from here on. ``by`` names the person who asked for it, if one
    did: such an order is not among those that ``max_steps`` counts."""

    type: Literal["work_order_issued"] = "work_order_issued"
    order: WorkOrder
    by: str = ""

    @property
    def subject(self) -> str:
        return self.order.work_order_id


class GapsNoted(EventBase):
    """Parts of the request that no tool supports: gaps of the answer."""

    type: Literal["gaps_noted"] = "gaps_noted"
    parts: tuple[Unsupported, ...]


class AssignmentIssued(EventBase):
    """Work was handed out. Its first attempt (``…/a1``) may start, unless it needs something that is not completed."""

    version: ClassVar[int] = 2
    type: Literal["assignment_issued"] = "assignment_issued"
    assignment: Assignment

    @property
    def subject(self) -> str:
        return self.assignment.assignment_id


class AttemptScheduled(EventBase):
    """An attempt may start, not before ``not_before``.

    ``continues`` names the attempt whose conversation it continues (None: a new one), ``feedback`` what was wrong.
    """

    type: Literal["attempt_scheduled"] = "attempt_scheduled"
    attempt: str
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptSettled(EventBase):
    """The controller took note of a returned attempt. ``final`` ends its assignment, which ``counts`` or not.

    ``failure`` is why it does not count: the worker's own error, or what the code checks of the gate found.
    """

    version: ClassVar[int] = 2
    type: Literal["attempt_settled"] = "attempt_settled"
    attempt: str
    ok: bool
    final: bool
    counts: bool = False
    failure: Failure | None = None

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptLost(EventBase):
    """The process that ran an attempt died, or its deadline passed; whatever it still returns is late."""

    type: Literal["attempt_lost"] = "attempt_lost"
    attempt: str
    failure: Failure

    @property
    def subject(self) -> str:
        return self.attempt


class SubtaskBlocked(EventBase):
    """A subtask will not start, since what it needs has failed."""

    type: Literal["subtask_blocked"] = "subtask_blocked"
    subtask: str
    cause: str

    @property
    def subject(self) -> str:
        return self.subtask


class ResultsJudged(EventBase):
    """The gate judged results: the verdicts of a review, completed and fail-closed by the controller.

    ``work_order_id`` names the order that the review is of, if it is of one. A result may be judged again.
    """

    type: Literal["results_judged"] = "results_judged"
    work_order_id: str = ""
    review: Review

    @property
    def subject(self) -> str:
        return self.work_order_id


class ApprovalRequested(EventBase):
    """A person is asked about one call."""

    type: Literal["approval_requested"] = "approval_requested"
    approval: Approval

    @property
    def subject(self) -> str:
        return self.approval.attempt


class ApprovalExpired(EventBase):
    """Nobody answered in time: the call is denied."""

    type: Literal["approval_expired"] = "approval_expired"
    approval_id: str


class EffectQuestioned(EventBase):
    """A returned attempt is parked: a call of it with effect ``once`` had begun, and a person has to say whether it
    happened before the assignment continues."""

    type: Literal["effect_questioned"] = "effect_questioned"
    attempt: str
    open_calls: tuple[OpenCall, ...]

    @property
    def subject(self) -> str:
        return self.attempt


class RunPaused(EventBase):
    """Nothing new starts until a person resumes the run."""

    type: Literal["run_paused"] = "run_paused"
    reason: str = ""


class RunWaiting(EventBase):
    """Only people can move the run on: every attempt that is left is parked."""

    type: Literal["run_waiting"] = "run_waiting"
    reason: str = ""


class RunResumed(EventBase):
    """The run resumes."""

    type: Literal["run_resumed"] = "run_resumed"


class RunReopened(EventBase):
    """A person wants more of a run that was over: it continues, and will have another answer."""

    type: Literal["run_reopened"] = "run_reopened"
    by: str


class RetryGranted(EventBase):
    """Subtasks will be done again in an order of their own, as a person asked: with other ``args``, or with ``data``
    in place of doing it. ``reopened`` counts those that start again under their own ids, for lists."""

    type: Literal["retry_granted"] = "retry_granted"
    subtasks: tuple[str, ...]
    args: dict[str, Any] | None = None
    data: ResultData | None = None
    by: str
    reopened: int = 0


class SubtaskResolved(EventBase):
    """A person settled a subtask: with a result (``data``), or by leaving it undone. ``counted`` says what it had been
    counted as until then, so that counters need no memory of their own: as done (whatever the review made of it), as
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


class RequestDeclined(EventBase):
    """What a person asked for cannot be done, and why."""

    type: Literal["request_declined"] = "request_declined"
    request: str
    reason: str


class CallAnswered(EventBase):
    """An open call of a parked attempt got its answer from the controller: the result of another assignment, or whether
    what the call asked for was done. The result itself is stored with the other assignment only."""

    version: ClassVar[int] = 2
    type: Literal["call_answered"] = "call_answered"
    call_id: str
    ok: bool
    content: str


class WorkerDefined(EventBase):
    """A worker was defined for the rest of this run, at the request of ``attempt``."""

    type: Literal["worker_defined"] = "worker_defined"
    attempt: str
    role: Role
    description: str = ""

    @property
    def subject(self) -> str:
        return self.attempt


class ArtifactWritten(EventBase):
    """A file of the run has a new version: ``digest`` (``sha256:…``) of its content, ``size`` in bytes."""

    type: Literal["artifact_written"] = "artifact_written"
    attempt: str
    path: str
    digest: str
    size: int
    media_type: str

    @property
    def subject(self) -> str:
        return self.attempt


class TodosSet(EventBase):
    """The list of todos was replaced."""

    type: Literal["todos_set"] = "todos_set"
    attempt: str
    todos: tuple[Todo, ...]

    @property
    def subject(self) -> str:
        return self.attempt


class RunFinished(EventBase):
    """The run is over. ``answer`` is the only answer there is; a draft never was. A run that was reopened has another,
    of the next ``number``."""

    type: Literal["run_finished"] = "run_finished"
    number: int = 1
    status: RunStatus
    answer: str
    sources: tuple[CitedSource, ...] = ()
    gaps: tuple[Gap, ...] = ()
    failure: Failure | None = None
