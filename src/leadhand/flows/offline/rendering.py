"""Puts raw data into a few words, for a tool that returned no summary."""

from __future__ import annotations

import json
from typing import Any

from leadhand.domain.conversation import ToolMessage
from leadhand.domain.value import is_list, is_object, object_of, text_of

_MOST_FIELDS, _MOST_ENTRIES, _DEEPEST, _LONGEST = 8, 3, 2, 600


def render(raw: Any) -> str:
    """A short reading of JSON data: a text as it is, an object as ``key: value``, a list by its first entries."""
    text = _render(raw, 0)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _render(raw: Any, depth: int) -> str:
    if is_object(raw):
        shown = list(raw)[: _MOST_FIELDS if depth < _DEEPEST else 0]
        return _cut([f"{key.replace('_', ' ')}: {_render(raw[key], depth + 1)}" for key in shown], len(raw), "fields")
    if is_list(raw):
        shown = raw[: _MOST_ENTRIES if depth < _DEEPEST else 0]
        return _cut([_render(value, depth + 1) for value in shown], len(raw), "entries")
    if isinstance(raw, str):
        return " ".join(raw[: _LONGEST * 2].split())
    if raw is None or isinstance(raw, bool):
        return {None: "nothing", True: "yes", False: "no"}[raw]
    return f"{raw:g}" if isinstance(raw, float) else str(raw)


def _cut(shown: list[str], count: int, name: str) -> str:
    if not shown:
        return f"{count} {name}" if count else "no data"
    return "; ".join([*shown, f"and {count - len(shown)} more"][: None if count > len(shown) else -1])


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
