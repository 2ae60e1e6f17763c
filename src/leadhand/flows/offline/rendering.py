"""Describe in a few words what a tool returned, for tools that return no summary."""

from __future__ import annotations

import json

from leadhand.core.text import line
from leadhand.core.value import Json, is_object, object_of, text_of
from leadhand.flows.passages import message_of

from .rule import OfflineRequest, Reply


def render(raw: Json) -> str:
    """Return a short text for JSON data: a text unchanged, an object as ``key: value``, anything else as JSON."""
    if is_object(raw):
        return line(
            "; ".join(f"{key.replace('_', ' ')}: {render(value)}" for key, value in raw.items()) or "no data", 600
        )
    return line(raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False), 600)


def reported(request: OfflineRequest) -> Reply:
    """Return what the called tools returned; give up with the reasons if all of them failed."""
    said: list[str] = []
    for result in request.results:
        fields, content = object_of(decoded(result.content)), decoded(result.content)
        summary = (
            text_of(fields.get("summary"))
            or text_of(fields.get("error"))
            or text_of(object_of(fields.get("error")).get("message"))
        )
        said.append(summary or render(message_of(fields.get("raw", content))) or "it returned nothing")
    return "\n".join(said) if any(each.ok for each in request.results) else request.give_up("; ".join(said))


def decoded(content: Json) -> Json:
    """Return the JSON of a text; the text itself if it is not JSON, and anything else as it is."""
    try:
        return json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        return content
