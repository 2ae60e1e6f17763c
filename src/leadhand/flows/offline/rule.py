"""The hook with which a flow defines how the built-in rule-based model answers for its roles.

A flow defines its rules in an optional attribute ``offline``: a mapping from the name of a role to a pure function of
the facts of a request and an :class:`OfflineRequest`. It returns text, a :class:`Call` of one of the available tools, a
value that matches the schema of a structured answer, or None for a request that it cannot answer::

    def translate(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
        return f"{facts['text']} (not translated: this is the offline model)"
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from leadhand.core.conversation import Message, ToolMessage
from leadhand.core.text import line
from leadhand.core.tool import GIVE_UP, GIVES_UP, ToolSpec
from leadhand.core.value import Json, is_object, object_of, text_of
from leadhand.flows.passages import message_of


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


def render(raw: Json) -> str:
    """Return a short text for JSON data: a text unchanged, an object as ``key: value``, anything else as JSON."""
    if is_object(raw) and raw:
        return line("; ".join(f"{key.replace('_', ' ')}: {render(value)}" for key, value in raw.items()), 600)
    return line(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False), 600)


def reported(request: OfflineRequest) -> Reply:
    """Return what the called tools returned; give up with the reasons if all of them failed."""
    said: list[str] = []
    for result in request.results:
        content = decoded(result.content)
        fields = {"raw": content, **object_of(content)}
        error = object_of(fields.get("error")).get("message") or fields.get("error")
        said.append(text_of(fields.get("summary") or error) or render(message_of(fields["raw"])) or "nothing")
    return "\n".join(said) if any(each.ok for each in request.results) else request.give_up("; ".join(said))


def decoded(content: Json) -> Json:
    """Return the JSON of a text; the text itself if it is not JSON, and anything else as it is."""
    try:
        return json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        return content
