"""Puts raw data into a few words, when a tool returned no summary of its own."""

from __future__ import annotations

from typing import Any

from leadhand.models.json_values import is_list, is_object

_MOST_FIELDS = 8
_MOST_ENTRIES = 3
_DEEPEST = 2
_LONGEST = 600


def render(raw: Any) -> str:
    """A short reading of JSON data: a text as it is, an object as ``key: value``, a list by its first entries."""
    return _shorten(_render(raw, depth=0))


def _render(raw: Any, depth: int) -> str:
    if is_object(raw):
        return _fields(raw, depth)
    if is_list(raw):
        return _entries(raw, depth)
    match raw:
        case None:
            return "nothing"
        case bool():
            return "yes" if raw else "no"
        case str():
            return " ".join(raw[: _LONGEST * 2].split())
        case float():
            return f"{raw:g}"
        case _:
            return str(raw)


def _fields(raw: dict[str, Any], depth: int) -> str:
    if depth >= _DEEPEST:
        return f"{len(raw)} fields"
    told = [f"{key.replace('_', ' ')}: {_render(raw[key], depth + 1)}" for key in list(raw)[:_MOST_FIELDS]]
    more = [f"and {len(raw) - len(told)} more"] if len(raw) > len(told) else []
    return "; ".join([*told, *more]) or "no data"


def _entries(raw: list[Any], depth: int) -> str:
    if depth >= _DEEPEST:
        return f"{len(raw)} entries"
    told = "; ".join(_render(value, depth + 1) for value in raw[:_MOST_ENTRIES])
    return (f"{told}, and {len(raw) - _MOST_ENTRIES} more" if len(raw) > _MOST_ENTRIES else told) or "no entries"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
