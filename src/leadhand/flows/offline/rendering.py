"""Puts raw data into a few words, for a tool that returned no summary."""

from __future__ import annotations

import json
from typing import Any

from leadhand.domain.conversation import ToolMessage
from leadhand.domain.json_values import is_list, is_object, object_of, text_of

_MOST_FIELDS, _MOST_ENTRIES, _DEEPEST, _LONGEST = 8, 3, 2, 600


def render(raw: Any) -> str:
    """A short reading of JSON data: a text as it is, an object as ``key: value``, a list by its first entries."""
    text = _render(raw, 0)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _render(raw: Any, depth: int) -> str:
    if is_object(raw) or is_list(raw):
        most = _MOST_FIELDS if is_object(raw) else _MOST_ENTRIES
        if depth >= _DEEPEST:
            return f"{len(raw)} {'fields' if is_object(raw) else 'entries'}"
        items = [f"{key.replace('_', ' ')}: {_render(raw[key], depth + 1)}" for key in list(raw)[:most]] if is_object(raw) \
            else [_render(value, depth + 1) for value in raw[:most]]  # fmt: skip
        more = [f"and {len(raw) - most} more"] if len(raw) > most else []
        return "; ".join([*items, *more]) or "no data"
    match raw:
        case None:
            return "nothing"
        case bool():
            return "yes" if raw else "no"
        case str():
            return " ".join(raw[: _LONGEST * 2].split())
        case _:
            return f"{raw:g}" if isinstance(raw, float) else str(raw)


def result_words(result: ToolMessage) -> str:
    """What a tool returned, in its own words if it has any; of a failure, its message."""
    try:
        content = json.loads(result.content)
    except ValueError:
        return " ".join(result.content.split())[:800] or "it returned nothing"
    fields = object_of(content)
    if result.ok:
        return text_of(fields.get("summary")) or f"{result.name} returned {render(fields.get('raw', content))}"
    error = fields.get("error", content)
    return (text_of(error) or text_of(object_of(error).get("message")))[:800] or render(content)
