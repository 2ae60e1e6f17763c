"""The union of all events that can happen in a run: the entries of its log.

*Decisions* come from the run's owner alone, fenced by its epoch. *Observations* are appended by a host for an attempt,
in any order, and are never refused. *Requests* come from people, through any process.
"""

import operator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, PlainValidator

from leadhand.core.asks import Ask
from leadhand.core.conversation import AssistantMessage
from leadhand.core.errors import Failure
from leadhand.core.limits import NOTHING, Ceiling, Limits, Money, Usage
from leadhand.core.tool import CachedFrom, Effect, Source
from leadhand.core.value import Json, Value, is_object, unset
from leadhand.core.work_order import OpenCall
from leadhand.core.work_result import WorkResult

from .decisions import ApprovalExpired as ApprovalExpired
from .decisions import ApprovalRequested as ApprovalRequested
from .decisions import ArtifactWritten as ArtifactWritten
from .decisions import AttemptLost as AttemptLost
from .decisions import AttemptScheduled as AttemptScheduled
from .decisions import AttemptSettled as AttemptSettled
from .decisions import CallAnswered as CallAnswered
from .decisions import EffectQuestioned as EffectQuestioned
from .decisions import EventBase as EventBase
from .decisions import GapsNoted as GapsNoted
from .decisions import Kind as Kind
from .decisions import Observation as Observation
from .decisions import ProcessSlept as ProcessSlept
from .decisions import QuestionAsked as QuestionAsked
from .decisions import Request as Request
from .decisions import RequestDeclined as RequestDeclined
from .decisions import ResultsJudged as ResultsJudged
from .decisions import RetryGranted as RetryGranted
from .decisions import RunClaimed as RunClaimed
from .decisions import RunFinished as RunFinished
from .decisions import RunPaused as RunPaused
from .decisions import RunReopened as RunReopened
from .decisions import RunResumed as RunResumed
from .decisions import RunStarted as RunStarted
from .decisions import RunWaiting as RunWaiting
from .decisions import StepIssued as StepIssued
from .decisions import SubtaskBlocked as SubtaskBlocked
from .decisions import SubtaskCounts as SubtaskCounts
from .decisions import SubtaskResolved as SubtaskResolved
from .decisions import SubtaskReused as SubtaskReused
from .decisions import TodosSet as TodosSet
from .decisions import WorkerDefined as WorkerDefined
from .decisions import WorkOrderIssued as WorkOrderIssued


class AttemptStarted(Observation):
    """A host started to carry out an attempt."""

    type: Literal["attempt_started"] = "attempt_started"
    host: str


class ModelCallBegan(Observation):
    """A model is about to be called. This entry takes the upper bound ``reserved`` from the run's allowance.

    What is held back is for the last ``stages`` of the run, in equal parts: the evaluation, the answer, its shape and
    its judgement. A call leaves the parts of those ``after`` it. ``reserved`` is also taken from ``within``, the
    allowances of the call's step and its ancestors, and from ``shared``, those that many runs share.
    """

    type: Literal["model_call_began"] = "model_call_began"
    call_id: str
    model: str
    reserved: Money = NOTHING
    stages: int = Field(default=2, ge=2)
    after: int = Field(default=2, ge=0)
    within: tuple[Ceiling, ...] = Field(default=(), exclude_if=operator.not_)
    shared: tuple[Ceiling, ...] = Field(default=(), exclude_if=operator.not_)


class ModelCallReturned(Observation):
    """A model answered or failed. ``usage`` settles the reservation; None (unknown) settles it in full.

    ``asked`` is what the code of a flow asked; the prompts of other calls follow from the log.
    """

    type: Literal["model_call_returned"] = "model_call_returned"
    call_id: str
    model: str
    message: AssistantMessage | None = None
    value: Json = None
    failure: Failure | None = None
    usage: Usage | None = None
    finish_reason: str = ""
    duration_ms: int = 0
    asked: Json = Field(default=None, exclude_if=lambda asked: asked is None)


class ElementWritten(Observation):
    """A model has written an element of the list that ``Worker.elements`` names. It passed the checks that need nothing
    else; the whole answer is still being written, and can turn out invalid."""

    type: Literal["element_written"] = "element_written"
    index: int = Field(ge=0)
    value: Json


class AnswerRefused(Observation):
    """The answer of a model was not accepted, for the ``reason``, and the model is asked again in the same attempt."""

    type: Literal["answer_refused"] = "answer_refused"
    reason: str


class ConversationCompacted(Observation):
    """The conversation exceeded the model's window: results through turn ``through`` are cut to ``keep`` characters,
    and the model is not shown turns 1 to ``left_out`` (0: none)."""

    type: Literal["conversation_compacted"] = "conversation_compacted"
    through: int
    keep: int
    left_out: int = Field(default=0, ge=0, exclude_if=operator.not_)


class ToolCallBegan(Observation):
    """A tool is about to be called. For effect ``once``, this entry is committed first and is fenced on the attempt.

    ``changed_by`` is the hook that changed the arguments; ``args`` are those that the tool receives.
    """

    type: Literal["tool_call_began"] = "tool_call_began"
    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect = Effect.PURE
    changed_by: str = Field(default="", exclude_if=operator.not_)


class ToolCallBlocked(Observation):
    """A hook did not let a tool call pass, or failed: the call was not made."""

    type: Literal["tool_call_blocked"] = "tool_call_blocked"
    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect = Effect.PURE
    failure: Failure


class ToolCallReturned(Observation):
    """A tool returned, failed, or ``asks`` something of the controller. ``raw`` above 4 kB is a blob reference.

    With ``cached``, the tool was not called: this is the result of that earlier call.
    """

    type: Literal["tool_call_returned"] = "tool_call_returned"
    call_id: str
    tool: str
    ok: bool
    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    asks: tuple[Ask, ...] = ()
    failure: Failure | None = None
    duration_ms: int = 0
    cached: CachedFrom | None = Field(default=None, exclude_if=unset)


class AttemptReturned(Observation):
    """An attempt ended with a result that is not judged yet.

    The event contains no copies: the data of calls is in their events, a structured answer is in the last reply.
    """

    type: Literal["attempt_returned"] = "attempt_returned"
    result: WorkResult


class AttemptParked(Observation):
    """An attempt waits for answers. Its conversation is in the log; it holds no slot and no reservation."""

    type: Literal["attempt_parked"] = "attempt_parked"
    open_calls: tuple[OpenCall, ...]


class NoteEmitted(Observation):
    """A tool or a stage reports what it is doing, for information only.

    ``waits_for``: the attempt begins to wait for this, at most ``waits_s`` seconds; None: it no longer waits for it.
    """

    type: Literal["note_emitted"] = "note_emitted"
    message: str
    waits_for: str = Field(default="", exclude_if=operator.not_)
    waits_s: float | None = Field(default=None, exclude_if=lambda value: value is None)


class CancelRequested(Request):
    """A person asks to cancel the run."""

    type: Literal["cancel_requested"] = "cancel_requested"


class PauseRequested(Request):
    """A person asks to pause the run."""

    type: Literal["pause_requested"] = "pause_requested"
    reason: str = ""


class ResumeRequested(Request):
    """A person asks to resume a paused run."""

    type: Literal["resume_requested"] = "resume_requested"


class ApprovalAnswered(Request):
    """A person's answer to an approval. ``args_hash`` is the hash of the arguments shown; ``args`` replaces them.

    ``always`` approves every call of this tool in this run.
    """

    type: Literal["approval_answered"] = "approval_answered"
    approval_id: str
    approve: bool
    args_hash: str
    args: dict[str, Any] | None = None
    reason: str = ""
    always: bool = False


class QuestionAnswered(Request):
    """A person's answer to a question of the run."""

    type: Literal["question_answered"] = "question_answered"
    question_id: str
    text: str


class EffectAnswered(Request):
    """A person's answer whether a call happened whose end was not recorded.

    If it ``happened``, it counts as made, with ``summary`` and ``raw`` as its result. Otherwise it can be made again.
    """

    type: Literal["effect_answered"] = "effect_answered"
    approval_id: str
    happened: bool
    summary: str = ""
    raw: Json = None


class LimitsChanged(Request):
    """A person gives the run other limits; ``held_back`` and ``held_back_s`` are kept for reviews and the answer.

    ``turns``: the maximum model calls of one attempt, by role; ``needs_prices``: refuse models of unknown price.
    """

    type: Literal["limits_changed"] = "limits_changed"
    limits: Limits
    held_back: Money = NOTHING
    held_back_s: float = 0.0
    turns: dict[str, int] = Field(default={}, exclude_if=operator.not_)
    needs_prices: bool = Field(default=False, exclude_if=operator.not_)


class RunLabelled(Request):
    """A person gives the run a name and tags, in place of all that it had."""

    type: Literal["run_labelled"] = "run_labelled"
    name: str = ""
    tags: dict[str, str] = {}


class RetryRequested(Request):
    """A person asks to retry subtasks (every failed one if none is named); ``args`` replaces the arguments of one.

    A finished run reopens. ``confirmed`` includes subtasks that made, or may have made, an irreversible call.
    """

    type: Literal["retry_requested"] = "retry_requested"
    subtasks: tuple[str, ...] = ()
    confirmed: bool = False
    args: dict[str, Any] | None = None


class SkipRequested(Request):
    """A person asks to skip a subtask."""

    type: Literal["skip_requested"] = "skip_requested"
    subtask: str
    reason: str = ""


class ResultSupplied(Request):
    """A person supplies the result of a subtask. The evidence is the person's word, not a call.

    Without ``may_approve``, that person cannot settle an open approval request in this way.
    """

    type: Literal["result_supplied"] = "result_supplied"
    subtask: str
    summary: str
    raw: Json = None
    may_approve: bool = True


AnyEvent = (
    RunStarted
    | RunClaimed
    | WorkOrderIssued
    | GapsNoted
    | StepIssued
    | AttemptScheduled
    | AttemptSettled
    | AttemptLost
    | SubtaskBlocked
    | ResultsJudged
    | ApprovalRequested
    | ApprovalExpired
    | EffectQuestioned
    | QuestionAsked
    | RunPaused
    | RunWaiting
    | RunResumed
    | ProcessSlept
    | RunReopened
    | RetryGranted
    | SubtaskResolved
    | SubtaskReused
    | RequestDeclined
    | RunFinished
    | AttemptStarted
    | ModelCallBegan
    | ModelCallReturned
    | ElementWritten
    | AnswerRefused
    | ConversationCompacted
    | ToolCallBegan
    | ToolCallBlocked
    | ToolCallReturned
    | AttemptReturned
    | AttemptParked
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | LimitsChanged
    | RunLabelled
    | ApprovalAnswered
    | EffectAnswered
    | QuestionAnswered
    | RetryRequested
    | SkipRequested
    | ResultSupplied
    | CallAnswered
    | WorkerDefined
    | ArtifactWritten
    | TodosSet
    | NoteEmitted
)
Event = Annotated[AnyEvent, Field(discriminator="type")]

EVENT_TYPES: dict[str, type[EventBase]] = {
    cls.model_fields["type"].default: cls
    for cls in AnyEvent.__args__  # not listed twice in the union
}


def _read(event: Any) -> EventBase:
    """Return an event as it is, or read it from its JSON. Raises ValueError for anything else."""
    if is_object(event) and event.get("type") in EVENT_TYPES:
        return EVENT_TYPES[event["type"]].model_validate(event)
    if not isinstance(event, EventBase):
        raise ValueError("this is not an event of a known type")
    return event


if TYPE_CHECKING:
    _OneEvent = AnyEvent
else:
    _OneEvent = Annotated[Any, PlainValidator(_read)]  # a schema of all events takes 19 ms


class Entry(Value):
    """An event in the log, with its sequence number, its time (UTC), and the epoch under which it was written."""

    seq: int
    at: datetime
    epoch: int
    event: _OneEvent
