"""Requests as the engine makes them, for the tests of models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from leadhand.core.conversation import Message, SystemMessage, UserMessage
from leadhand.core.tool import ToolSpec
from leadhand.core.work_result import Review
from leadhand.flows.offline.rule import OfflineRequest
from leadhand.flows.work_order import offline
from leadhand.flows.work_order.roles import Plan
from leadhand.ports.models import ModelRequest, OutputSpec

TODAY = "2026-11-21"  # a Saturday
TEXT = {"type": "string"}


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    """An object schema; required properties are texts unless described."""
    return {
        "type": "object",
        "properties": {**dict.fromkeys(required, TEXT), **properties},
        "required": list(required),
    }


def offer(name: str, *required: str, description: str = "", **properties: Any) -> dict[str, Any]:
    """A tool as a planning brief describes it."""
    return {"name": name, "description": description, "parameters": schema(*required, **properties)}


WEATHER = offer(
    "weather_tool",
    "location",
    description="The weather at a place on a day.",
    day=TEXT,
    days={"type": "integer"},
    units={"enum": ["metric", "imperial"]},
)
DIRECTIONS = offer(
    "directions_tool",
    "origin",
    "destination",
    description="The way from one place to another.",
    mode={"enum": ["drive", "walk", "bicycle"]},
)
HOTELS = offer("hotel_tool", "location", description="Finds hotels at a place.")
SHIPPED = (WEATHER, DIRECTIONS)


def spec(tool: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(name=tool["name"], description=tool["description"], parameters=tool["parameters"])


GIVE_UP = spec(offer("give_up", "reason", description="Say that it cannot be done."))


def asking(
    brief: Mapping[str, Any] | str,
    *more: Message,
    output: str | None = None,
    tools: Iterable[ToolSpec] = (),
    model: str = "offline",
    **fields: Any,
) -> ModelRequest:
    """A request: instructions, the brief, and what came after."""
    document = brief if isinstance(brief, str) else json.dumps(brief)
    wanted = None
    if output is not None:
        wanted = OutputSpec(name=output, schema=_schema(output))
    return ModelRequest(
        model=model,
        messages=(SystemMessage(text="You are the lead."), UserMessage(text=document), *more),
        tools=tuple(tools),
        output=wanted,
        **fields,
    )


@cache
def _schema(output: str) -> dict[str, Any]:
    """The schema of an answer. pydantic takes 20 ms to write it, and hundreds of requests have it."""
    shapes = {"plan": Plan, "review": Review}
    return shapes[output].model_json_schema() if output in shapes else {"type": "object"}


def planning(request: str, tools: Iterable[Mapping[str, Any]] = SHIPPED, **fields: Any) -> ModelRequest:
    """A request for a plan."""
    return asking({"request": request, "today": TODAY, "tools": list(tools)}, output="plan", **fields)


Tools = Iterable[Mapping[str, Any]]


def plan(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The plan that the offline rule of the work-order flow makes."""
    made = offline.plan(facts, OfflineRequest("plan"))
    assert made is not None
    return made


def planned(request: str, tools: Tools = SHIPPED) -> Plan:
    return Plan.model_validate(plan({"request": request, "today": TODAY, "tools": list(tools)}))


def args_of(request: str, tools: Tools = SHIPPED) -> list[dict[str, Any]]:
    return [dict(subtask.args) for subtask in planned(request, tools).subtasks]
