"""What every event has, and the decisions: events of the run's owner alone, fenced by its epoch."""

from __future__ import annotations

import operator
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from leadhand.domain.approval import Approval
from leadhand.domain.asks import Todo
from leadhand.domain.errors import Failure
from leadhand.domain.run import CitedSource, Gap, Role, RunDefinition, RunStatus
from leadhand.domain.value import Value
from leadhand.domain.work_order import Assignment, OpenCall, Unsupported, WorkOrder
from leadhand.domain.work_result import ResultData, Review


class Kind(StrEnum):
    DECISION = "decision"
    OBSERVATION = "observation"
    REQUEST = "request"


class EventBase(Value):
    """What every event has: its ``kind``, the ``version`` of its stored shape, and what it is about.

    Each adds a ``type`` of its own, a literal: the discriminator of the union.
    """

    kind: ClassVar[Kind] = Kind.DECISION
    version: ClassVar[int] = 1

    about: ClassVar[str] = ""
    """The field that holds the id of what the event is about, as a path; empty for the run as a whole."""

    @property
    def subject(self) -> str:
        """The id this event is about: an attempt, an assignment, an order, or nothing (the run)."""
        return operator.attrgetter(self.about)(self) if self.about else ""


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

    about: ClassVar[str] = "order.work_order_id"
    type: Literal["work_order_issued"] = "work_order_issued"
    order: WorkOrder
    by: str = ""


class GapsNoted(EventBase):
    """Parts of the request that no tool supports: gaps of the answer."""

    type: Literal["gaps_noted"] = "gaps_noted"
    parts: tuple[Unsupported, ...]


class AssignmentIssued(EventBase):
    """Work was handed out. Its first attempt (``…/a1``) may start, unless it needs something that is not completed."""

    version: ClassVar[int] = 2
    about: ClassVar[str] = "assignment.assignment_id"
    type: Literal["assignment_issued"] = "assignment_issued"
    assignment: Assignment


class AttemptScheduled(EventBase):
    """An attempt may start, not before ``not_before``.

    ``continues`` names the attempt whose conversation it continues (None: a new one), ``feedback`` what was wrong.
    """

    about: ClassVar[str] = "attempt"
    type: Literal["attempt_scheduled"] = "attempt_scheduled"
    attempt: str
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""


class AttemptSettled(EventBase):
    """The controller took note of a returned attempt. ``final`` ends its assignment, which ``counts`` or not.

    ``failure`` is why it does not count: the worker's own error, or what the code checks of the gate found.
    """

    version: ClassVar[int] = 2
    about: ClassVar[str] = "attempt"
    type: Literal["attempt_settled"] = "attempt_settled"
    attempt: str
    ok: bool
    final: bool
    counts: bool = False
    failure: Failure | None = None


class AttemptLost(EventBase):
    """The process that ran an attempt died, or its deadline passed; whatever it still returns is late."""

    about: ClassVar[str] = "attempt"
    type: Literal["attempt_lost"] = "attempt_lost"
    attempt: str
    failure: Failure


class SubtaskBlocked(EventBase):
    """A subtask will not start, since what it needs has failed."""

    about: ClassVar[str] = "subtask"
    type: Literal["subtask_blocked"] = "subtask_blocked"
    subtask: str
    cause: str


class ResultsJudged(EventBase):
    """The gate judged results: the verdicts of a review, completed and fail-closed by the controller.

    ``work_order_id`` names the order that the review is of, if it is of one. A result may be judged again.
    """

    about: ClassVar[str] = "work_order_id"
    type: Literal["results_judged"] = "results_judged"
    work_order_id: str = ""
    review: Review


class ApprovalRequested(EventBase):
    """A person is asked about one call."""

    about: ClassVar[str] = "approval.attempt"
    type: Literal["approval_requested"] = "approval_requested"
    approval: Approval


class ApprovalExpired(EventBase):
    """Nobody answered in time: the call is denied."""

    type: Literal["approval_expired"] = "approval_expired"
    approval_id: str


class EffectQuestioned(EventBase):
    """A returned attempt is parked: a call of it with effect ``once`` had begun, and a person has to say whether it
    happened before the assignment continues."""

    about: ClassVar[str] = "attempt"
    type: Literal["effect_questioned"] = "effect_questioned"
    attempt: str
    open_calls: tuple[OpenCall, ...]


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
    reopened: int = Field(default=0, ge=0)


class SubtaskResolved(EventBase):
    """A person settled a subtask: with a result (``data``), or by leaving it undone. ``counted`` says what it had been
    counted as until then, so that counters need no memory of their own: as done (whatever the review made of it), as
    failed, or not at all."""

    about: ClassVar[str] = "subtask"
    type: Literal["subtask_resolved"] = "subtask_resolved"
    subtask: str
    data: ResultData | None = None
    by: str
    reason: str = ""
    counted: Literal["open", "completed", "failed"] = "open"


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

    about: ClassVar[str] = "attempt"
    type: Literal["worker_defined"] = "worker_defined"
    attempt: str
    role: Role
    description: str = ""


class ArtifactWritten(EventBase):
    """A file of the run has a new version: ``digest`` (``sha256:…``) of its content, ``size`` in bytes."""

    about: ClassVar[str] = "attempt"
    type: Literal["artifact_written"] = "artifact_written"
    attempt: str
    path: str
    digest: str
    size: int
    media_type: str


class TodosSet(EventBase):
    """The list of todos was replaced."""

    about: ClassVar[str] = "attempt"
    type: Literal["todos_set"] = "todos_set"
    attempt: str
    todos: tuple[Todo, ...]


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
