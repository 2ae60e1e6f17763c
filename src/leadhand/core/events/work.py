"""Events of orders, steps, attempts and calls."""

import operator
from datetime import datetime
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from leadhand.core.asks import Ask, Todo
from leadhand.core.blob import Blob
from leadhand.core.conversation import AssistantMessage, Message
from leadhand.core.errors import Failure
from leadhand.core.limits import NOTHING, Ceiling, Money, Usage
from leadhand.core.tool import CachedFrom, Effect, Source
from leadhand.core.value import Json, unset
from leadhand.core.work_order import OpenCall, Step, WorkOrder
from leadhand.core.work_result import ResultData, Review, WorkResult
from leadhand.core.worker import Worker

from .base import EventBase, Observation, Request, absent


class OrderIssued(EventBase):
    """An order was accepted, and is immutable."""

    about: ClassVar[str] = "order.work_order_id"
    type: Literal["order_issued"] = "order_issued"
    order: WorkOrder


class ResultsJudged(EventBase):
    """A review judged results: of the order ``work_order_id``, if any. A result without a verdict is not accepted, and
    may be judged again."""

    about: ClassVar[str] = "work_order_id"
    type: Literal["results_judged"] = "results_judged"
    work_order_id: str = ""
    review: Review


class StepIssued(EventBase):
    """A step was created. Its first attempt (``…/a1``) may start as soon as all its needs are completed."""

    about: ClassVar[str] = "step.step_id"
    type: Literal["step_issued"] = "step_issued"
    step: Step


class StepSettled(EventBase):
    """The controller judged a returned attempt, or gave up a step that cannot start, or a person (``by``) settled the
    step with a result (``data``) or by skipping it.

    ``failure`` is why it does not count: the worker's own error, or what the checks found. Unless it is ``final``,
    another attempt follows.
    """

    type: Literal["step_settled"] = "step_settled"
    step: str
    attempt: str = Field(default="", exclude_if=operator.not_)
    ok: bool
    final: bool = True
    failure: Failure | None = None
    data: ResultData | None = Field(default=None, exclude_if=unset)
    by: str = Field(default="", exclude_if=operator.not_)

    @property
    def subject(self) -> str:
        return self.attempt or self.step


class StepRequested(Request):
    """A person asks to ``retry`` steps (every failed one if none is named), to ``skip`` one, or to ``supply`` its
    result; a finished run reopens.

    ``args`` replaces the arguments of one step. ``confirmed`` includes steps that made, or may have made, an
    irreversible call. The evidence of a result is the person's word, not a call; without ``may_approve``, that person
    cannot settle an open approval request in this way.
    """

    type: Literal["step_requested"] = "step_requested"
    what: Literal["retry", "skip", "supply"]
    steps: tuple[str, ...] = ()
    args: dict[str, Any] | None = Field(default=None, exclude_if=absent)
    confirmed: bool = Field(default=False, exclude_if=operator.not_)
    reason: str = Field(default="", exclude_if=operator.not_)
    summary: str = Field(default="", exclude_if=operator.not_)
    raw: Json = Field(default=None, exclude_if=unset)
    may_approve: bool = Field(default=True, exclude_if=bool)


class RequestDecided(EventBase):
    """The oldest request of a person about steps was declined, for the ``declined`` reason, or granted: the ``steps``
    are repeated, with new ``args`` if it has some. Steps in ``workers`` are carried out by the workers named there from
    now on."""

    type: Literal["request_decided"] = "request_decided"
    what: Literal["retry", "skip", "supply"]
    by: str = ""
    steps: tuple[str, ...] = ()
    args: dict[str, Any] | None = Field(default=None, exclude_if=absent)
    declined: str = Field(default="", exclude_if=operator.not_)
    workers: dict[str, str] = Field(default={}, exclude_if=operator.not_)


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


class AttemptStarted(Observation):
    """A host started to carry out an attempt."""

    type: Literal["attempt_started"] = "attempt_started"
    host: str


class AttemptReturned(Observation):
    """An attempt ended with a result that is not judged yet.

    ``lost``: its owner ended it, since its process died or its time is up; a result that still arrives is too late.
    The event contains no copies: the data of calls is in their events, a structured answer is in the last reply.
    """

    type: Literal["attempt_returned"] = "attempt_returned"
    result: WorkResult
    lost: bool = Field(default=False, exclude_if=operator.not_)


class AttemptParked(Observation):
    """An attempt waits for answers. Its conversation is in the log; it holds no slot and no reservation.

    The owner parks one that has returned until a person says whether its interrupted ``once`` calls happened.
    """

    type: Literal["attempt_parked"] = "attempt_parked"
    open_calls: tuple[OpenCall, ...]


# --- calls -----------------------------------------------------------------------------------------------------------


class ModelCallBegan(Observation):
    """A model is about to be called. This entry takes the upper bound ``reserved`` from the run's allowance.

    What is held back is for the last ``stages`` of the run, in equal parts: the evaluation, the answer, its shape and
    its judgement. A call leaves the parts of those ``after`` it. ``reserved`` is also taken from ``within``, the
    allowances of the call's step and its ancestors, and from ``shared``, those that many runs share.

    ``request`` is what the model is sent: a blob of instructions, tools and schema, then each message, large ones as
    blobs. With ``continues``, the request of the attempt's latest call of this id comes first, and these messages
    follow.
    """

    type: Literal["model_call_began"] = "model_call_began"
    call_id: str
    model: str
    reserved: Money = NOTHING
    stages: int = Field(default=2, ge=2)
    after: int = Field(default=2, ge=0)
    within: tuple[Ceiling, ...] = Field(default=(), exclude_if=operator.not_)
    shared: tuple[Ceiling, ...] = Field(default=(), exclude_if=operator.not_)
    request: tuple[Annotated[Blob | Message, Field(union_mode="left_to_right")], ...] = Field(
        default=(), exclude_if=operator.not_
    )
    continues: str = Field(default="", exclude_if=operator.not_)


class ModelCallReturned(Observation):
    """A model answered or failed. ``usage`` settles the reservation; None (unknown) settles it in full.

    ``asked`` is what the code of a flow asked.
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
    asked: Json = Field(default=None, exclude_if=absent)


class ElementWritten(Observation):
    """A model has written an element of the list that ``Worker.elements`` names. It passed the checks that need nothing
    else; the whole answer is still being written, and can turn out invalid."""

    type: Literal["element_written"] = "element_written"
    index: int = Field(ge=0)
    value: Json


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


class ToolCallReturned(Observation):
    """A tool returned, failed, or ``asks`` something of the controller. Large ``raw`` is a reference to a blob.

    With ``cached``, the tool was not called: this is the result of that earlier call. With ``blocked_args``, it was not
    called either: a hook did not let these arguments pass, or failed.
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
    blocked_args: dict[str, Any] | None = Field(default=None, exclude_if=absent)
    effect: Effect = Field(default=Effect.PURE, exclude_if=partial(operator.eq, Effect.PURE))


class CallAnswered(EventBase):
    """An open call of a parked attempt got its answer from the controller: the result of another step, or whether its
    asks were granted. The result itself is stored only with the other step."""

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


class NoteEmitted(Observation):
    """A tool or a stage reports what it is doing, or a flow (under a ``key``), for information only.

    ``waits_for``: the attempt begins to wait for this, at most ``waits_s`` seconds; None: it no longer waits for it.
    ``refused``: the answer of the model was not accepted, for this reason, and it is asked again in the same attempt.
    """

    type: Literal["note_emitted"] = "note_emitted"
    message: str
    waits_for: str = Field(default="", exclude_if=operator.not_)
    waits_s: float | None = Field(default=None, exclude_if=absent)
    refused: bool = Field(default=False, exclude_if=operator.not_)
    key: str = Field(default="", exclude_if=operator.not_)
