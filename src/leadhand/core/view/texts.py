"""Shorten values for a view: text on one line, shortened arguments, labels, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from leadhand.core.errors import INTERRUPTED, Failure
from leadhand.core.work_order import OpenCall

from .shapes import FailurePart, OpenCallPart

LONGEST_TEXT = 300
"""Maximum characters of a text; the event has the full text."""
LONGEST_REQUEST = 2_000
LONGEST_LABEL = 80
MOST_ITEMS = 50
"""Maximum entries of a list or object in the arguments of a call."""


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Cut text to at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def line(text: str, most: int = LONGEST_TEXT) -> str:
    """Put text on one line, of at most ``most`` characters."""
    return cut(" ".join(text[: 2 * most].split()), most)


def arguments(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with long texts, lists and objects cut."""
    return {key: _argument(inner) for key, inner in list(value.items())[:MOST_ITEMS]}


def _argument(value: Any) -> Any:
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return arguments(cast("dict[str, Any]", value))
    if isinstance(value, list | tuple):
        return [_argument(inner) for inner in cast("Sequence[Any]", value)[:MOST_ITEMS]]
    return value


def label(name: str, args: Mapping[str, Any]) -> str:
    """Return a name with its arguments, to distinguish siblings: ``check_weather · Paris, tomorrow``."""
    shown = ", ".join(filter(None, (_word(value) for value in args.values())))
    return line(f"{name} · {shown}" if shown else name, LONGEST_LABEL)


def _word(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case {"$result": {"subtask": str() as source}}:
            return f"from {source}"
        case dict():
            inner = cast("dict[str, Any]", value).values()
            return ", ".join(filter(None, (_word(each) for each in list(inner)[:MOST_ITEMS])))
        case list() | tuple():
            items = cast("Sequence[Any]", value)[:MOST_ITEMS]
            return ", ".join(filter(None, (_word(each) for each in items)))
        case _:
            return str(value)


def is_interruption(failure: Failure | None) -> bool:
    """Whether a pause stopped the attempt, which is not shown as a failure."""
    return failure is not None and failure.type == INTERRUPTED


def failure_part(failure: Failure | None) -> FailurePart | None:
    """Return a failure as the view shows it, None if there is nothing to show."""
    if failure is None or is_interruption(failure):
        return None
    part: FailurePart = {"message": line(failure.message), "type": failure.type, "class": failure.class_.value}
    if failure.next_action:
        part["next_action"] = line(failure.next_action)
    return part


def open_calls(calls: Sequence[OpenCall]) -> list[OpenCallPart]:
    """Return the calls that a parked attempt waits for."""
    found: list[OpenCallPart] = []
    for call in calls:
        part: OpenCallPart = {"call_id": call.call_id, "kind": call.kind}
        if call.tool:
            part["tool"] = call.tool
        if call.args:
            part["args"] = arguments(call.args)
        found.append(part)
    return found


_WAITS = {
    "approval": "for approval",
    "effect": "for confirmation of a call",
    "child": "for another worker",
    "asks": "for Leadhand to carry out a call",
}


def waits_for(calls: Sequence[OpenCall]) -> str:
    """Return what open calls wait for, each kind once: ``for approval and for another worker``."""
    return " and ".join(dict.fromkeys(_WAITS.get(call.kind, f"for {call.kind}") for call in calls))
