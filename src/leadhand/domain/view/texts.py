"""How values are cut to what a view shows: one line of text, arguments with long strings cut, a label for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from leadhand.domain.errors import Failure
from leadhand.domain.evolve.attempts import INTERRUPTED
from leadhand.domain.work_order import OpenCall

from .shapes import FailurePart, OpenCallPart

LONGEST_TEXT = 300
"""Characters of a text; the event holds the whole of it."""
LONGEST_REQUEST = 2_000
LONGEST_LABEL = 80
MOST_ITEMS = 50
"""Entries of one list or object among the arguments of a call."""


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """Text of at most ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def line(text: str, most: int = LONGEST_TEXT) -> str:
    """Text on one line, of at most ``most`` characters."""
    return cut(" ".join(text[: 2 * most].split()), most)


def arguments(value: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call with long texts, lists and objects cut."""
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
    """A name with its arguments, so that siblings can be distinguished: ``check_weather · Paris, tomorrow``."""
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
    """Whether an attempt was stopped by a pause, which is not shown as a failure."""
    return failure is not None and failure.type == INTERRUPTED


def failure_part(failure: Failure | None) -> FailurePart | None:
    """A failure as it is shown; None if there is nothing to show."""
    if failure is None or is_interruption(failure):
        return None
    part: FailurePart = {"message": line(failure.message), "type": failure.type, "class": failure.class_.value}
    if failure.next_action:
        part["next_action"] = line(failure.next_action)
    return part


def open_calls(calls: Sequence[OpenCall]) -> list[OpenCallPart]:
    """The calls that a parked attempt waits for."""
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
    "asks": "for a decision of the controller",
}


def waits_for(calls: Sequence[OpenCall]) -> str:
    """What open calls wait for, each kind once: ``for approval and for another worker``."""
    return " and ".join(dict.fromkeys(_WAITS.get(call.kind, f"for {call.kind}") for call in calls))
