"""Describe in a few words what a tool returned, for tools that return no summary."""

from __future__ import annotations

import json
from typing import Any

from leadhand.core.conversation import ToolMessage
from leadhand.core.text import line
from leadhand.core.value import Json, is_object, object_of, text_of
from leadhand.flows.passages import message_of

from .rule import OfflineRequest, Reply

_MOST_FIELDS, _LONGEST = 8, 600


def render(raw: Any) -> str:
    """Return a short text for JSON data: a text unchanged, an object as ``key: value``, anything else as JSON."""
    if not is_object(raw):
        return line(_said(raw), _LONGEST)
    shown = [f"{key.replace('_', ' ')}: {line(_said(value), 200)}" for key, value in list(raw.items())[:_MOST_FIELDS]]
    more = [f"and {len(raw) - len(shown)} more fields"] if len(raw) > len(shown) else []
    return line("; ".join([*shown, *more]) or "no data", _LONGEST)


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def reported(request: OfflineRequest) -> Reply:
    """Return what the called tools returned; give up with the reasons if all of them failed."""
    if any(result.ok for result in request.results):
        return "\n".join(map(_result_words, request.results))
    return request.give_up("; ".join(f"{result.name} failed: {_result_words(result)}" for result in request.results))


def _result_words(result: ToolMessage) -> str:
    """Return what a tool returned, as its own summary if it has one; for a failure, the message."""
    content = decoded(result.content)
    fields = object_of(content)
    if result.ok and not isinstance(content, str):
        raw = message_of(fields.get("raw", content))
        return text_of(fields.get("summary")) or f"{result.name} returned {render(raw)}"
    error = fields.get("error", content)
    said = line(text_of(error) or text_of(object_of(error).get("message")), 800)
    return said or render(content) or "it returned nothing"


def decoded(content: Json) -> Json:
    """Return the JSON of a text; the text itself if it is not JSON, and anything else as it is."""
    try:
        return json.loads(content) if isinstance(content, str) else content
    except ValueError:
        return content
