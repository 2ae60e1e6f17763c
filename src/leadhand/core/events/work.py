"""The base of all events, and the events of orders, steps, attempts and calls."""

import operator
import re
from datetime import datetime
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.fields import FieldInfo

from leadhand.core.artifact import Blob
from leadhand.core.conversation import AssistantMessage, Message
from leadhand.core.errors import Failure
from leadhand.core.limits import NOTHING, Ceiling, Money, Usage
from leadhand.core.tool import Ask, CachedFrom, Effect, Source, Todo
from leadhand.core.value import Json, Value, unset
from leadhand.core.work_order import OpenCall, Step, WorkOrder
from leadhand.core.work_result import ResultData, Review
from leadhand.core.worker import Worker

absent = partial(operator.is_, None)
_TYPE = {"type"}


class EventBase(Value):
    """The base of all events: their ``type``, the ``version`` of the stored shape, and the id of the subject.

    The ``type`` is the name of the class in snake case: the discriminator of the union.
    """

    version: ClassVar[int] = 1
    about: ClassVar[str] = ""
    """The path of the field with the id of the event's subject; empty for the run as a whole."""
    type: str = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        super().__pydantic_init_subclass__()
        name = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        annotation: Any = Literal[name]
        cls.__pydantic_fields__["type"] = FieldInfo.from_annotated_attribute(annotation, name)

    @property
    def subject(self) -> str:
        """The id of the event's subject: an attempt, a step or an order; "" for the run."""
        return operator.attrgetter(self.about)(self) if self.about else ""

    @cached_property
    def body(self) -> str:
        """The event as JSON, without its type: what is redacted, then stored."""
        return self.__pydantic_serializer__.to_json(self, exclude=_TYPE, by_alias=True).decode()


class AttemptEvent(EventBase):
    """An event about an attempt."""

    about: ClassVar[str] = "attempt"
    attempt: str


class Observation(AttemptEvent):
    """Something that a host observed on behalf of an attempt."""


class Request(EventBase):
    """A request of a person about a run; ``by`` names the person."""

    by: str = ""


# --- orders, steps and attempts --------------------------------------------------------------------------------------


class OrderIssued(EventBase):
    """An order was accepted, and is immutable. The first attempts (``…/a1``) at the subtasks that need no other may
    start, unless subtasks start in groups (``batch_size``)."""

    about: ClassVar[str] = "order.work_order_id"
    order: WorkOrder


class ResultsJudged(EventBase):
    """A review judged the results of an order. A result without a verdict is not accepted."""

    about: ClassVar[str] = "work_order_id"
    work_order_id: str
    review: Review


class StepIssued(EventBase):
    """A step was created. Its first attempt (``…/a1``) may start as soon as all its needs are completed."""

    about: ClassVar[str] = "step.step_id"
    step: Step


class StepSettled(EventBase):
    """The controller judged a returned attempt, or gave up a step that cannot start, or a person (``by``) settled the
    step with a result (``data``) or by skipping it.

    ``failure`` is the worker's own error, or what the checks found. Unless it is ``final``, another attempt follows.
    """

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

    ``args`` replaces those of one step. ``confirmed`` includes steps that may have made an irreversible call. Without
    ``may_approve``, the person cannot settle an open approval request in this way.
    """

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

    what: Literal["retry", "skip", "supply"]
    by: str = ""
    steps: tuple[str, ...] = ()
    args: dict[str, Any] | None = Field(default=None, exclude_if=absent)
    declined: str = Field(default="", exclude_if=operator.not_)
    workers: dict[str, str] = Field(default={}, exclude_if=operator.not_)


class AttemptScheduled(AttemptEvent):
    """An attempt may start at ``not_before`` or later; it ``continues`` the conversation of another, if any.

    ``feedback`` is what was wrong.
    """

    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""


class AttemptStarted(Observation):
    """A host started to carry out an attempt."""

    host: str


class AttemptReturned(Observation):
    """An attempt ended with ``data``, which is not judged yet, or with a ``failure``.

    ``used`` are the tool calls that the result uses, a claim that is checked; the event contains no copies of their
    data. ``value`` is the structured answer, if it is not the last reply of the model as it is. ``lost``: its owner
    ended it, since its process died or its time is up.
    """

    data: ResultData | None = Field(default=None, exclude_if=unset)
    failure: Failure | None = None
    used: tuple[str, ...] = ()
    value: Json = Field(default=None, exclude_if=absent)
    lost: bool = Field(default=False, exclude_if=operator.not_)


class AttemptParked(Observation):
    """An attempt waits for answers; it holds no slot and no reservation. The owner parks one that has returned until a
    person says whether its interrupted ``once`` calls happened."""

    open_calls: tuple[OpenCall, ...]


# --- calls -----------------------------------------------------------------------------------------------------------


class ModelCallBegan(Observation):
    """A model is about to be called. This entry takes the upper bound ``reserved`` from the run's allowance.

    It leaves what is ``kept`` of it for the steps that close the run, and is also taken from ``within``, the allowances
    of the call's step and its ancestors, and ``shared``, those of many runs. ``request`` is what the model is sent: a
    blob of instructions, tools and schema, then each message, large ones as blobs. With ``continues``, the messages
    follow the request of the attempt's latest call of this id.
    """

    call_id: str
    model: str
    reserved: Money = NOTHING
    kept: Money = Field(default=NOTHING, exclude_if=partial(operator.eq, NOTHING))
    within: tuple[Ceiling, ...] = Field(default=(), exclude_if=operator.not_)
    shared: tuple[Ceiling, ...] = Field(default=(), exclude_if=operator.not_)
    request: tuple[Annotated[Blob | Message, Field(union_mode="left_to_right")], ...] = Field(
        default=(), exclude_if=operator.not_
    )
    continues: str = Field(default="", exclude_if=operator.not_)


class ModelCallReturned(Observation):
    """A model answered or failed. ``usage`` settles the reservation; None (unknown) settles it in full. ``asked`` is
    what the code of a flow asked."""

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

    index: int = Field(ge=0)
    value: Json


class ConversationCompacted(Observation):
    """The conversation exceeded the model's window: results through turn ``through`` are cut to ``keep`` characters,
    and the model is not shown turns 1 to ``left_out`` (0: none)."""

    through: int
    keep: int
    left_out: int = Field(default=0, ge=0, exclude_if=operator.not_)


class ToolCallBegan(Observation):
    """A tool is about to be called, with ``args`` as the hook ``changed_by`` changed them, if any did. For effect
    ``once``, this entry is committed first and is fenced on the attempt."""

    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect = Effect.PURE
    changed_by: str = Field(default="", exclude_if=operator.not_)


class ToolCallReturned(Observation):
    """A tool returned, failed, or ``asks`` something of the controller. Large ``raw`` is a reference to a blob.

    It was not called if the result of an earlier call was ``cached``, or a call with ``blocked_args`` was prevented: by
    a hook, or since its tool has changed.
    """

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

    about: ClassVar[str] = "call_id"
    call_id: str
    ok: bool
    content: str


class WorkerDefined(AttemptEvent):
    """A worker was defined for the rest of this run, at the request of ``attempt``."""

    worker: Worker
    description: str = ""


class ArtifactWritten(AttemptEvent):
    """A file of the run has a new version of ``size`` bytes, whose content has the ``digest`` (``sha256:…``)."""

    path: str
    digest: str
    size: int


class TodosSet(AttemptEvent):
    """The todo list was replaced."""

    todos: tuple[Todo, ...]


class NoteEmitted(Observation):
    """A tool, a stage or a flow (under a ``key``) reports what it is doing, for information only.

    ``waits_for``: the attempt begins to wait for this, at most ``waits_s`` seconds (None: it no longer does).
    ``refused``: the answer of the model was not accepted, and it is asked again in the same attempt.
    """

    message: str
    waits_for: str = Field(default="", exclude_if=operator.not_)
    waits_s: float | None = Field(default=None, exclude_if=absent)
    refused: bool = Field(default=False, exclude_if=operator.not_)
    key: str = Field(default="", exclude_if=operator.not_)
