"""Leads and tools for tests of the service: they do what a test says, when it says so."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from leadhand import FailureClass, ToolError, ToolReturn, tool
from leadhand.core.tool import ToolSpec
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, plans, reviews, says, subtask, worker_of
from leadhand.tools.tool import Tool

BROKEN = "the microphone is broken"


class Office:
    """Tools, the calls they saw, and the gate that some of them wait at."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.gate = asyncio.Event()
        self.broken = {"Oslo"}
        office = self

        @tool
        async def measure(place: str) -> ToolReturn:
            """Measure the noise at a place."""
            office.calls[place] += 1
            if place == "Rome":
                await office.gate.wait()
            if place in office.broken:
                raise ToolError(BROKEN, type="broken", class_=FailureClass.UNAVAILABLE)
            return ToolReturn(summary=f"{place}: 40 dB", raw={"place": place, "dB": 40})

        @tool(effect="once")
        async def pay(to: str, amount: float = 1) -> ToolReturn:
            """Pay somebody."""
            office.calls[f"{to} {amount:g}"] += 1
            return ToolReturn(summary=f"paid {amount:g} to {to}")

        @tool(effect="once", approval="auto", timeout=0.05)
        async def wire(to: str) -> ToolReturn:
            """Pay somebody, at length: nobody sees the end of it."""
            office.calls[f"wire {to}"] += 1
            await office.gate.wait()
            return ToolReturn(summary=f"wired to {to}")

        self.measure, self.pay, self.wire = self.tools = [_described(each) for each in (measure, pay, wire)]


_DESCRIBED: dict[str, ToolSpec] = {}


def _described(tool: Tool[..., Any]) -> Tool[..., Any]:
    """Return the tool with the specification that an equal tool of an earlier office has, which takes 5 ms to make."""
    vars(tool)["spec"] = _DESCRIBED.setdefault(tool.name, _DESCRIBED.get(tool.name) or tool.spec)
    return tool


def planner(request: ModelRequest) -> Step:
    """Plans by the request's own words: ``measure Paris, measure Rome, pay Ann``."""
    wanted = brief_of(request)["request"]
    pieces = [each.split() for each in wanted.split(", ") if each]
    key = {"measure": "place"}
    return plans(*(subtask(f"{what}_{n}", what, **{key.get(what, "to"): who}) for n, (what, who) in enumerate(pieces)))


def team(**more: Any) -> ScriptedModel:
    """A lead that plans by the words of the request, and accepts what is done."""
    return ScriptedModel(lenient=True, **{"plan": planner, **more})


class Author:
    """A lead whose answer a test writes: piece by piece, as text that is seen while it is written.

    It writes the composition, or whatever else ``worker`` names.
    """

    def __init__(self, *places: str, plan: Step | None = None, worker: str = "compose") -> None:
        self._worker = worker
        planned = plan or plans(*(subtask(f"measure_{n}", "measure", place=each) for n, each in enumerate(places)))
        self._lead = ScriptedModel(plan=planned, review=_judged)
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.writing = asyncio.Event()

    def write(self, *pieces: str) -> None:
        for piece in pieces:
            self._pieces.put_nowait(piece)

    @property
    def taken(self) -> bool:
        """Whether all that was written is with the server."""
        return self._pieces.empty()

    def end(self) -> None:
        """The answer is whole."""
        self._pieces.put_nowait(None)

    def profile(self, model: str) -> ModelProfile:
        return self._lead.profile(model)

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if worker_of(request) != self._worker:
            return await self._lead.ask(request)
        assert on_text is not None, "nobody listens to the answer"
        self.writing.set()
        text = ""
        while (piece := await self._pieces.get()) is not None:
            text = text + piece if piece else ""
            on_text(piece)
        return says(text).reply(request)

    async def aclose(self) -> None:
        """Nothing is held open."""


def repairing(key: str) -> ScriptedModel:
    """A lead that has one subtask done again, once, though it was completed."""
    return team(review=[reviews(retry=[key])])


def _judged(request: ModelRequest) -> Step:
    """Accepts what is done and drops the rest; leaves the answer to be composed."""
    shown = brief_of(request)["subtasks"]
    done = [each["subtask"] for each in shown if each["status"] == "completed"]
    return reviews(accept=done, drop={each["subtask"]: "undone" for each in shown if each["subtask"] not in done})
