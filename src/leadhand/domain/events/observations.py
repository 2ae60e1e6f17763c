"""Observations: appended by a host on an attempt's behalf; they commute and are never refused for being late."""

from __future__ import annotations

import operator
from typing import Any, ClassVar, Literal

from pydantic import Field

from leadhand.domain.asks import Ask
from leadhand.domain.assignment import OpenCall
from leadhand.domain.conversation import AssistantMessage
from leadhand.domain.errors import Failure
from leadhand.domain.limits import NOTHING, Allowance, Amount, Usage
from leadhand.domain.tool import Effect, Source
from leadhand.domain.value import Json
from leadhand.domain.work_result import WorkResult

from .base import EventBase, Kind


class Observation(EventBase):
    """Something a host saw on behalf of an attempt."""

    kind: ClassVar[Kind] = Kind.OBSERVATION
    attempt: str

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptStarted(Observation):
    """A host began to carry an attempt out."""

    type: Literal["attempt_started"] = "attempt_started"
    host: str


class ModelCallBegan(Observation):
    """A model is about to be called. ``reserved`` is the upper bound taken from the run's allowance by this entry.

    ``final`` calls (composing the answer) may use what was held back. ``within`` are the allowances of the call's
    assignment and of its ancestors: ``reserved`` is taken from each of them as well.
    """

    type: Literal["model_call_began"] = "model_call_began"
    call_id: str
    model: str
    reserved: Amount = NOTHING
    final: bool = False
    within: tuple[Allowance, ...] = Field(default=(), exclude_if=operator.not_)


class ModelCallReturned(Observation):
    """A model answered or failed. ``usage`` settles the reservation; None (unknown) settles it in full."""

    type: Literal["model_call_returned"] = "model_call_returned"
    call_id: str
    model: str
    message: AssistantMessage | None = None
    value: Json = None
    failure: Failure | None = None
    usage: Usage | None = None
    finish_reason: str = ""
    duration_ms: int = 0


class ConversationCompacted(Observation):
    """The conversation outgrew the model's window: from here on it holds only ``keep`` characters of
    each tool answer in turns up to ``through``. The log keeps the full answers."""

    type: Literal["conversation_compacted"] = "conversation_compacted"
    through: int
    keep: int


class ToolCallBegan(Observation):
    """A tool is about to be called; for effect ``once`` this entry is committed first, and fenced on the attempt."""

    type: Literal["tool_call_began"] = "tool_call_began"
    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect = Effect.PURE


class ToolCallReturned(Observation):
    """A tool answered or failed: the evidence that it was called. ``raw`` above 4 kB is a blob reference.

    ``asks`` is what the tool asks of the controller.
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


class AttemptReturned(Observation):
    """An attempt is over: its result, before anybody judged it.

    It holds no copies: the data of the calls it rests on is in their events, a structured answer in its last reply.
    """

    type: Literal["attempt_returned"] = "attempt_returned"
    result: WorkResult


class AttemptParked(Observation):
    """An attempt waits for others: its conversation is in the log, it holds no slot and no reservation."""

    type: Literal["attempt_parked"] = "attempt_parked"
    open_calls: tuple[OpenCall, ...]


class NoteEmitted(Observation):
    """A tool or a stage tells people what it is doing; nothing is decided by it."""

    type: Literal["note_emitted"] = "note_emitted"
    message: str
