"""What tests of steering share: tools that work where there is power, and a lead that plans what we say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leadhand.core.conversation import AssistantMessage
from leadhand.models.offline import OfflineModels
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

POWER = '''
"""Tools that work where there is power, which a file tells; in Rome they wait until the gate is open."""
import asyncio
import os
import time

from leadhand import FailureClass, ToolError, ToolReturn, tool


def trace(what: str) -> None:
    with open(os.environ["CALLS"], "a") as file:
        file.write(what + "\\n")


@tool(retries=0, timeout=60)
async def measure_tool(place: str) -> ToolReturn:
    """Measure the noise at a place.

    Args:
        place: where to measure
    """
    trace(place)
    while place == "Rome" and not os.path.exists(os.environ["GATE"]):
        await asyncio.sleep(0.02)
    with open(os.environ["WORKS"]) as file:
        works = file.read().split()
    if place not in works:
        raise ToolError(f"no power in {place}", type="broken", class_=FailureClass.UNAVAILABLE)
    return ToolReturn(raw={"place": place, "next": "Kiel"}, summary=f"{place}: 40 dB")


@tool(effect="once")
def pay_tool(amount: float, to: str) -> str:
    """Pay an amount of money to somebody."""
    trace(f"paid {to}")
    return f"paid {amount:g} to {to}"


@tool(timeout=600)
def sleep_tool(how: str) -> str:
    """Sleep for a long time."""
    trace("asleep")
    time.sleep(600)
    return "slept"


@tool(timeout=600)
async def wait_tool(how: str) -> str:
    """Wait for a long time."""
    trace("waiting")
    await asyncio.sleep(600)
    return "waited"
'''
CITIES = "Measure the noise in Lyon and in Oslo"


@dataclass
class Power:
    """The file of tools, and which places have power."""

    file: Path
    works: Path
    tools: str = field(init=False)

    def __post_init__(self) -> None:
        self.tools = str(self.file)
        self.file.write_text(POWER)

    def at(self, *places: str) -> None:
        self.works.write_text(" ".join(places))


class Planned(OfflineModels):
    """The offline model with a plan of ours."""

    def __init__(self, *subtasks: dict[str, Any]) -> None:
        super().__init__()
        self._plan = {"goal": "test", "subtasks": list(subtasks)}

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if request.output is None or request.output.name != "plan":
            return await super().ask(request, on_text)
        return ModelReply(message=AssistantMessage(text=json.dumps(self._plan)), value=self._plan)


def failed_in_part(leadhand: Any, power: Power, *more: str) -> str:
    """A run that is over and failed in Oslo; its id."""
    result = leadhand("run", "--offline", "--tools", power.tools, *more, CITIES)
    assert result.code == 3
    assert leadhand.calls == {"Lyon": 1, "Oslo": 1}
    return leadhand.listing()["run_id"]


def newest(listed: Any) -> str:
    """The first run of a list."""
    return listed.json[0]["run_id"]
