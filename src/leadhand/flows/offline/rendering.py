"""Describe in a few words what a tool returned, for tools that return no summary."""

from __future__ import annotations

import json

from leadhand.core.text import line
from leadhand.core.value import Json, is_object, object_of, text_of
from leadhand.flows.passages import message_of

from .rule import OfflineRequest, Reply

_LONGEST = 600


def render(raw: Json) -> str:
    """Return a short text for JSON data: a text unchanged, an object as ``key: value``, anything else as JSON."""
    if is_object(raw) and raw:
        return line("; ".join(f"{key.replace('_', ' ')}: {render(value)}" for key, value in raw.items()), _LONGEST)
    return line(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False), _LONGEST)


def reported(request: OfflineRequest) -> Reply:
    """Return what the called tools returned; give up with the reasons if all of them failed."""
    said = {result.call_id: _said(decoded(result.content)) for result in request.results}
    if any(result.ok for result in request.results):
        return "\n".join(said.values())
    return request.give_up("; ".join(f"{each.name} failed: {said[each.call_id]}" for each in request.results))


def _said(content: Json) -> str:
    """Return the summary of a result if it has one, else its data; of a failure, the message."""
    fields = object_of(content)
    error = fields.get("error")
    said = text_of(fields.get("summary")) or text_of(error) or text_of(object_of(error).get("message"))
    return said or render(message_of(fields.get("raw", content))) or "it returned nothing"


def decoded(content: Json) -> Json:
    """Return the JSON of a text; the text itself if it is not JSON, and anything else as it is."""
    try:
        return json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        return content
