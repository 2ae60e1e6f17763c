"""Hooks: a program's own checks before and after model calls and tool calls, and before the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from leadhand.core.conversation import Message, ToolMessage
from leadhand.core.errors import Failure
from leadhand.core.tool import Ask, Effect, Source
from leadhand.core.value import Json, compact_json
from leadhand.ports.models import ModelReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What every hook sees: the run, its request, and the step and the worker that the call is for.

    ``step`` and ``worker`` are "" for the answer of a run.
    """

    run_id: str
    request: str
    step: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeModel(Seen):
    """A model call that is about to be made."""

    model: str
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The texts of all messages."""
        parts = (each.content if isinstance(each, ToolMessage) else each.text for each in self.messages)
        return "\n\n".join(filter(None, parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterModel(Seen):
    """The reply of a model, before it is recorded and used."""

    model: str
    reply: ModelReply

    @property
    def text(self) -> str:
        """The text of the reply, its structured answer and the arguments of its calls."""
        message = self.reply.message
        calls = [compact_json(call.arguments) for call in message.tool_calls if call.arguments]
        value = [] if self.reply.value is None else [compact_json(self.reply.value)]
        return "\n".join(filter(None, (message.text, *value, *calls)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeTool(Seen):
    """A tool call that is about to be made, or about which a person would be asked."""

    tool: str
    args: dict[str, Any]
    effect: Effect = Effect.PURE


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterTool(BeforeTool):
    """What a tool call returned, before it is recorded and used: its ``failure``, or what is in its ``ToolReturn``.

    ``asks`` are what it asks of the run, such as a file to write, whose whole text is in ``content``.
    """

    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    asks: tuple[Ask, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAnswer(Seen):
    """The text of an answer, with its ``value`` if it is typed, before people get it."""

    answer: str
    value: Json = None


@dataclass(frozen=True, slots=True)
class Block:
    """Do not let it pass, for this ``reason``, which people and the lead receive."""

    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """Make the tool call with these arguments, all of them. The log shows both."""

    args: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class RequireApproval:
    """Ask a person before the tool call is made; ``reason`` is shown to them."""

    reason: str = ""


Decision = Block | Change | RequireApproval | None
"""What a hook returns: None lets it pass. ``Change`` and ``RequireApproval`` are only for :meth:`Hook.before_tool`."""
Returned = Decision | Awaitable[Decision]


class Hook:
    """Checks of a program. Write a subclass and define the methods that you need, plain or ``async``.

    A plain method runs on a thread, so it may block. A method that takes longer than ``timeout`` seconds, raises, or
    returns anything else blocks what it was asked about. ``name`` is what the logs call the hook.
    """

    name: str = ""
    timeout: ClassVar[float] = 10.0

    def before_model(self, call: BeforeModel) -> Returned:
        """Decide whether a model call is made."""

    def after_model(self, call: AfterModel) -> Returned:
        """Decide whether the reply of a model is used."""

    def before_tool(self, call: BeforeTool) -> Returned:
        """Decide whether a tool call is made, with which arguments, and whether a person is asked first."""

    def after_tool(self, call: AfterTool) -> Returned:
        """Decide whether what a tool returned is used."""

    def before_answer(self, answer: BeforeAnswer) -> Returned:
        """Decide whether people get an answer."""


POINTS = ("before_model", "after_model", "before_tool", "after_tool", "before_answer")
"""The methods of hooks."""
Check = Callable[[Any], Returned]


class FunctionHook(Hook):
    """A function as a hook: see the decorators of :mod:`leadhand.hooks`."""

    def __init__(self, point: str, function: Check) -> None:
        setattr(self, point, function)
        self.name = f"{function.__module__}:{function.__qualname__}"


def check_of(hook: Hook, point: str) -> Check | None:
    """Return the method or function of a hook for a point; None if it has none."""
    found = getattr(hook, point)
    return None if getattr(found, "__func__", None) is getattr(Hook, point) else found


def name_of(hook: Hook) -> str:
    """Return the name of a hook in logs: its own, or that of its class."""
    return hook.name or f"{type(hook).__module__}:{type(hook).__qualname__}"
