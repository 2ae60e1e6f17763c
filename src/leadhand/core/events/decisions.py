"""The base of all events, and the decisions: events that only the run's owner writes, fenced by its epoch."""

import operator
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal

from pydantic import Field

from leadhand.core.approval import Approval
from leadhand.core.asks import Todo
from leadhand.core.errors import Failure
from leadhand.core.judgement import Judgement
from leadhand.core.question import Question
from leadhand.core.run import CitedSource, Gap, RunDefinition, RunStatus
from leadhand.core.value import Json, Value, unset
from leadhand.core.work_order import OpenCall, Step, Unsupported, WorkOrder
from leadhand.core.work_result import ResultData, Review
from leadhand.core.worker import Worker


class Kind(StrEnum):
    DECISION = "decision"
    OBSERVATION = "observation"
    REQUEST = "request"


class EventBase(Value):
    """The base of all events: ``kind``, the ``version`` of the stored shape, and the id of the subject.

    Each event adds its own ``type``, a literal: the discriminator of the union.
    """

    kind: ClassVar[Kind] = Kind.DECISION
    version: ClassVar[int] = 1

    about: ClassVar[str] = ""
    """The path of the field with the id of the event's subject; empty for the run as a whole."""

    @property
    def subject(self) -> str:
        """The id of the event's subject: an attempt, a step or an order; "" for the run."""
        return operator.attrgetter(self.about)(self) if self.about else ""


class Observation(EventBase):
    """Something that a host observed on behalf of an attempt."""

    kind: ClassVar[Kind] = Kind.OBSERVATION
    about: ClassVar[str] = "attempt"
    attempt: str


class Request(EventBase):
    """A request of a person about a run; ``by`` names the person."""

    kind: ClassVar[Kind] = Kind.REQUEST
    by: str = ""


class SubtaskCounts(Value):
    """How lists count the subtasks of a run: without those that others have replaced."""

    subtasks: int = Field(ge=0)
    completed: int = Field(ge=0)
    failed: int = Field(ge=0)


class RunStarted(EventBase):
    """The run was created, with its definition."""

    type: Literal["run_started"] = "run_started"
    definition: RunDefinition


class RunClaimed(EventBase):
    """A process took over the run; the entry has the new epoch."""

    type: Literal["run_claimed"] = "run_claimed"
    owner: str


class WorkOrderIssued(EventBase):
    """An order was accepted, and is immutable. ``max_steps`` does not count one that a person requested (``by``).

    ``begun`` counts its subtasks that began while the plan was being written. ``listed``: the counts that follow, for
    lists.
    """

    about: ClassVar[str] = "order.work_order_id"
    type: Literal["work_order_issued"] = "work_order_issued"
    order: WorkOrder
    by: str = ""
    begun: int = Field(default=0, ge=0, exclude_if=operator.not_)
    listed: SubtaskCounts | None = Field(default=None, exclude_if=unset)


class GapsNoted(EventBase):
    """Parts of the request that no tool supports, which become gaps of the answer."""

    type: Literal["gaps_noted"] = "gaps_noted"
    parts: tuple[Unsupported, ...]


class StepIssued(EventBase):
    """A step was created. Its first attempt (``…/a1``) may start as soon as all its needs are completed."""

    about: ClassVar[str] = "step.step_id"
    type: Literal["step_issued"] = "step_issued"
    step: Step


class AttemptScheduled(EventBase):
    """An attempt may start at ``not_before`` or later.

    ``continues`` names the attempt whose conversation it continues, if any; ``feedback`` is what was wrong.
    """

    about: ClassVar[str] = "attempt"
    type: Literal["attempt_scheduled"] = "attempt_scheduled"
    attempt: str
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""


class AttemptSettled(EventBase):
    """The controller judged a returned attempt. ``final`` ends its step, which ``counts`` in lists or not.

    ``failure`` is why it does not count: the worker's own error, or what the gate's code checks found.
    """

    about: ClassVar[str] = "attempt"
    type: Literal["attempt_settled"] = "attempt_settled"
    attempt: str
    ok: bool
    final: bool
    counts: bool = False
    failure: Failure | None = None


class AttemptLost(EventBase):
    """The process that ran an attempt died, or its deadline passed. A result that still arrives is too late."""

    about: ClassVar[str] = "attempt"
    type: Literal["attempt_lost"] = "attempt_lost"
    attempt: str
    failure: Failure


class SubtaskBlocked(EventBase):
    """A step will not start because something that it needs has failed."""

    about: ClassVar[str] = "subtask"
    type: Literal["subtask_blocked"] = "subtask_blocked"
    subtask: str
    cause: str


class ResultsJudged(EventBase):
    """A review judged results. A result for which it returned no verdict is not accepted.

    ``work_order_id`` names the reviewed order, if any, and ``listed`` the counts that follow, for lists. A result may
    be judged again.
    """

    about: ClassVar[str] = "work_order_id"
    type: Literal["results_judged"] = "results_judged"
    work_order_id: str = ""
    review: Review
    listed: SubtaskCounts | None = Field(default=None, exclude_if=unset)


class ApprovalRequested(EventBase):
    """A person is asked to approve one call, or to say whether it happened."""

    about: ClassVar[str] = "approval.attempt"
    type: Literal["approval_requested"] = "approval_requested"
    approval: Approval


class ApprovalExpired(EventBase):
    """Nobody answered in time, so the call is denied."""

    type: Literal["approval_expired"] = "approval_expired"
    approval_id: str


class QuestionAsked(EventBase):
    """A person is asked what the run cannot find out. It waits for the answer if it has nothing else to do."""

    type: Literal["question_asked"] = "question_asked"
    question: Question


class EffectQuestioned(EventBase):
    """A returned attempt waits until a person says whether its interrupted ``once`` calls happened."""

    about: ClassVar[str] = "attempt"
    type: Literal["effect_questioned"] = "effect_questioned"
    attempt: str
    open_calls: tuple[OpenCall, ...]


class RunPaused(EventBase):
    """Nothing new starts until a person resumes the run."""

    type: Literal["run_paused"] = "run_paused"
    reason: str = ""


class RunWaiting(EventBase):
    """Every remaining attempt is parked, so the run can continue only when a person answers."""

    type: Literal["run_waiting"] = "run_waiting"
    reason: str = ""


class RunResumed(EventBase):
    """The run resumes."""

    type: Literal["run_resumed"] = "run_resumed"


class ProcessSlept(EventBase):
    """The process that drives the run was not running for some ``seconds``: stopped, or the machine was suspended. They
    do not count as time of the run."""

    type: Literal["process_slept"] = "process_slept"
    seconds: float = Field(ge=0)


class RunReopened(EventBase):
    """A finished run was reopened at a person's request: it continues, and will have another answer."""

    type: Literal["run_reopened"] = "run_reopened"
    by: str


class RetryGranted(EventBase):
    """Steps will be repeated at a person's request: with new ``args``, or with ``data`` as the result. Subtasks
    are repeated in a new order. ``reopened`` counts steps that restart under their own ids, for lists."""

    type: Literal["retry_granted"] = "retry_granted"
    subtasks: tuple[str, ...]
    args: dict[str, Any] | None = None
    data: ResultData | None = None
    by: str
    reopened: int = Field(default=0, ge=0)


class SubtaskResolved(EventBase):
    """A person settled a subtask, with a result (``data``) or by skipping it. ``counted`` is how lists counted it
    before: as completed, as failed, or not at all."""

    about: ClassVar[str] = "subtask"
    type: Literal["subtask_resolved"] = "subtask_resolved"
    subtask: str
    data: ResultData | None = None
    by: str
    reason: str = ""
    counted: Literal["open", "completed", "failed"] = "open"


class SubtaskReused(EventBase):
    """A subtask took over the result of ``begun``, which made the same call while the plan was being written."""

    about: ClassVar[str] = "subtask"
    type: Literal["subtask_reused"] = "subtask_reused"
    subtask: str
    begun: str


class RequestDeclined(EventBase):
    """A person's request was declined, with the reason."""

    type: Literal["request_declined"] = "request_declined"
    request: str
    reason: str


class CallAnswered(EventBase):
    """An open call of a parked attempt got its answer from the controller: the result of another step, or whether
    its asks were granted. The result itself is stored only with the other step."""

    type: Literal["call_answered"] = "call_answered"
    call_id: str
    ok: bool
    content: str


class WorkerDefined(EventBase):
    """A worker was defined for the rest of this run, at the request of ``attempt``."""

    about: ClassVar[str] = "attempt"
    type: Literal["worker_defined"] = "worker_defined"
    attempt: str
    worker: Worker
    description: str = ""


class ArtifactWritten(EventBase):
    """A file of the run has a new version of ``size`` bytes, whose content has the ``digest`` (``sha256:…``)."""

    about: ClassVar[str] = "attempt"
    type: Literal["artifact_written"] = "artifact_written"
    attempt: str
    path: str
    digest: str
    size: int
    media_type: str


class TodosSet(EventBase):
    """The todo list was replaced."""

    about: ClassVar[str] = "attempt"
    type: Literal["todos_set"] = "todos_set"
    attempt: str
    todos: tuple[Todo, ...]


class RunFinished(EventBase):
    """The run ended with an ``answer``; ``value`` is its typed answer. A reopened run ends again, as ``number`` 2, …

    ``judgement`` says what the claims of the answer rest on (None: nobody judged them), ``sample`` that made-up data
    was used. ``listed``: the counts of its subtasks, for lists.
    """

    type: Literal["run_finished"] = "run_finished"
    number: int = 1
    status: RunStatus
    answer: str
    value: Json = Field(default=None, exclude_if=unset)
    sources: tuple[CitedSource, ...] = ()
    gaps: tuple[Gap, ...] = ()
    failure: Failure | None = None
    judgement: Judgement | None = Field(default=None, exclude_if=unset)
    sample: bool = Field(default=False, exclude_if=operator.not_)
    listed: SubtaskCounts | None = Field(default=None, exclude_if=unset)
