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
from leadhand.core.tool import GIVE_UP, GIVES_UP, ToolSpec, message_of
from leadhand.core.value import Json, is_object, list_of, object_of, objects_of, text_of


class Call(NamedTuple):
    """A tool to call, and its arguments."""

    tool: str
    args: dict[str, Any]


class OfflineRequest(NamedTuple):
    """What a rule receives besides its facts: the ``schema`` of a structured answer, None for text and tool calls; the
    latest tool ``results``; and all ``messages``."""

    worker: str
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    results: tuple[ToolMessage, ...] = ()
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


# --- typed answers ---------------------------------------------------------------------------------------------------


def shape(facts: Mapping[str, Any], request: OfflineRequest) -> Reply:
    """Fill in the schema from ``facts``: lists of objects from the results, fields from data of the same name."""
    text, schema, filled = text_of(facts.get("answer")), object_of(request.schema), dict[str, Any]()
    rows = [_flat(each) for each in objects_of(facts.get("results"))]
    known = {**_flat(dict(enumerate(rows))), **dict.fromkeys(("answer", "text", "summary"), text)}
    for name, part in object_of(schema.get("properties")).items():
        item = object_of(object_of(part).get("items"))
        defined = object_of(schema.get("$defs")).get(text_of(item.get("$ref")).removeprefix("#/$defs/"), item)
        fields = object_of(object_of(defined).get("properties"))
        if fields and rows:
            filled[name] = [{field: row[field] for field in fields if field in row} for row in rows]
        elif name in known:
            filled[name] = known[name]
    missing = [name for name in list_of(schema.get("required")) if name not in filled]
    if missing:
        return request.give_up(f"the built-in model found nothing for {', '.join(missing)}")
    return filled


def _flat(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields of an object, and those of the objects in it; the outermost of a name counts."""
    parts = [list_of(part)[0] if len(list_of(part)) == 1 else part for part in reversed(list(value.values()))]
    return {name: each for part in parts if is_object(part) for name, each in _flat(part).items()} | dict(value)
