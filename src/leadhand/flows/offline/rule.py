"""The hook with which a flow defines how the built-in rule-based model answers for its roles.

A flow defines its rules in an optional attribute ``offline``: a mapping from the name of a role to a pure function of
the facts of a request and an :class:`OfflineRequest`. It returns text, a :class:`Call` of one of the available tools, a
value that matches the schema of a structured answer, or None for a request that it cannot answer::

    def translate(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
        return f"{facts['text']} (not translated: this is the offline model)"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from leadhand.core.conversation import Message, ToolMessage
from leadhand.core.tool import GIVE_UP, GIVES_UP, ToolSpec


class Call(NamedTuple):
    """A tool to call, and its arguments."""

    tool: str
    args: dict[str, Any]


class OfflineRequest(NamedTuple):
    """What a rule receives besides its facts: the ``schema`` of a structured answer, None for text and tool calls; the
    latest tool ``results``; ``objections``, why earlier answers were not accepted; and all ``messages``."""

    worker: str
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    results: tuple[ToolMessage, ...] = ()
    objections: str = ""
    messages: tuple[Message, ...] = ()

    def give_up(self, reason: str) -> Reply:
        """Return the reply that says that it cannot be done: a call of ``give_up`` where that is offered, else text."""
        if any(tool.name == GIVE_UP for tool in self.tools):
            return Call(GIVE_UP, {"reason": reason})
        return f"{GIVES_UP}: {reason}" if self.tools else f"This could not be done: {reason}."


Reply: TypeAlias = str | dict[str, Any] | Call
OfflineRule: TypeAlias = Callable[[Mapping[str, Any], OfflineRequest], Reply | None]
Rules: TypeAlias = Mapping[str, OfflineRule]
