"""Carries out one assignment: calls the tool it names, then says what came back, or gives up and says why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.domain.conversation import ToolMessage
from leadhand.domain.tool import ToolSpec
from leadhand.domain.work_order import result_reference
from leadhand.models.json_values import object_of, text_of

from .rendering import render

GIVE_UP = "give_up"


class Wish(NamedTuple):
    """A tool to call and its arguments."""

    tool: str
    args: dict[str, Any]


def work(brief: Mapping[str, Any], results: Sequence[ToolMessage], tools: Sequence[ToolSpec]) -> str | Wish:
    """The next step of a worker: a tool call, or its final words.

    Where there is no ``give_up`` tool, giving up is said in words.
    """
    by_name = {tool.name: tool for tool in tools}
    if results:
        told = [_summary(result) for result in results if result.ok]
        if told:
            return "\n".join(told)
        return _give_up("; ".join(f"{result.name} failed: {_plain(result.content)}" for result in results), by_name)
    subtask = object_of(brief.get("subtask"))
    name = text_of(subtask.get("tool")) or _only_fitting(subtask, tools)
    if not name:
        return _give_up("the built-in rule-based model only carries out subtasks that name a tool", by_name)
    tool = by_name.get(name)
    if tool is None:
        return _give_up(f"there is no tool {name} here", by_name)
    args = _arguments(subtask, brief.get("needs"), tool)
    missing = sorted(tool.required - args.keys())
    if missing:
        return _give_up(f"{name} needs {', '.join(missing)}, and nothing says what to use", by_name)
    return Wish(name, args)


def _give_up(reason: str, tools: Mapping[str, ToolSpec]) -> str | Wish:
    if GIVE_UP in tools:
        return Wish(GIVE_UP, {"reason": reason})
    return f"This could not be done: {reason}."


def _only_fitting(subtask: Mapping[str, Any], tools: Sequence[ToolSpec]) -> str:
    """The one tool that a subtask without a tool's name can mean: its arguments fit no other."""
    given = set(object_of(subtask.get("args")))
    fitting: list[str] = []
    for tool in tools:
        known = set(object_of(tool.parameters.get("properties")))
        if tool.name != GIVE_UP and given and given <= known and tool.required <= given:
            fitting.append(tool.name)
    return fitting[0] if len(fitting) == 1 else ""


def _arguments(subtask: Mapping[str, Any], needs: object, tool: ToolSpec) -> dict[str, Any]:
    """The subtask's own arguments; a missing one is taken from the result of a need, by the same name."""
    given = object_of(subtask.get("args"))
    args = {name: value for name, value in given.items() if result_reference(value) is None}
    for result in object_of(needs).values():
        raw = object_of(object_of(result).get("raw"))
        args.update({name: raw[name] for name in tool.required - args.keys() if raw.get(name) is not None})
    return args


def _summary(result: ToolMessage) -> str:
    """What a tool returned, in its own words if it has any."""
    try:
        content = json.loads(result.content)
    except ValueError:
        return _plain(result.content)
    told = object_of(content)
    return text_of(told.get("summary")) or f"{result.name} returned {render(told.get('raw', content))}"


def _plain(content: str) -> str:
    """The words of a tool's answer: an error's message if it is JSON with one, else the text on one line."""
    try:
        document = json.loads(content)
    except ValueError:
        return " ".join(content.split())[:800] or "it returned nothing"
    error = object_of(document).get("error", document)
    said = text_of(error) or text_of(object_of(error).get("message"))
    return said[:800] or render(document)
