"""Nothing that a door hands out can change a run: it is a copy, or cannot be changed, down to its leaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from datetime import date, timedelta
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from leads import leadhand_of
from pydantic import BaseModel

from leadhand import RunStatus, ToolContext, ToolReturn, Worker, tool
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.hooks import Hook
from leadhand.report import Agent, AgentResult, Task, Verdict
from leadhand.testing.scripted_model import ScriptedModel, calls, gives, plans, says, subtask

PLAIN = str | bytes | int | float | None | Enum | date | timedelta | type | ModuleType | Path


class Vandal:
    """Tries to change everything that it is given and whatever it can reach from there."""

    def __init__(self, *, idle: bool) -> None:
        self.idle = idle
        self.kinds: set[str] = set()
        """The names of the types of what it has reached."""
        self._known: dict[int, BaseModel] = {}

    def __call__(self, *things: object) -> None:
        for thing in things:
            self._reach(thing, set())

    def _reach(self, thing: Any, seen: set[int]) -> None:
        if isinstance(thing, PLAIN) or callable(thing) or id(thing) in seen or id(thing) in self._known:
            return
        seen.add(id(thing))
        if isinstance(thing, BaseModel):
            self._known[id(thing)] = thing  # events and states share their values: once is enough
        self.kinds.add(type(thing).__name__)
        if isinstance(thing, Mapping):
            inner, changes = list(thing.values()), [*_changes_of_mapping(thing)]
        elif isinstance(thing, list | tuple | set | frozenset):
            inner, changes = list(thing), [*_changes_of_list(thing)]
        else:
            inner, changes = [], []
        names = [name for name in dir(thing) if not name.startswith(("_", "model_"))]
        for name in names:
            with contextlib.suppress(Exception):
                value = getattr(thing, name)
                if not callable(value):
                    inner.append(value)
                    changes.append(lambda name=name: setattr(thing, name, "vandal"))
        for each in inner:
            self._reach(each, seen)
        for change in changes if not self.idle else ():
            with contextlib.suppress(Exception):  # most refuse
                change()


def _changes_of_mapping(thing: Any) -> Any:
    key = next(iter(thing), "vandal")
    yield lambda: thing.__setitem__(key, "vandal")
    yield lambda: thing.update({key: "vandal"})
    yield lambda: thing.__ior__({key: "vandal"})
    yield lambda: thing.setdefault("more", "vandal")
    yield lambda: thing.__delitem__(key)
    yield lambda: thing.pop(key)
    yield lambda: thing.popitem()
    yield lambda: thing.clear()


def _changes_of_list(thing: Any) -> Any:
    yield lambda: thing.__setitem__(0, "vandal")
    yield lambda: thing.append("vandal")
    yield lambda: thing.extend(["vandal"])
    yield lambda: thing.insert(0, "vandal")
    yield lambda: thing.add("vandal")
    yield lambda: thing.sort(key=str)
    yield lambda: thing.reverse()
    yield lambda: thing.__iadd__(["vandal"])
    yield lambda: thing.pop()
    yield lambda: thing.clear()


class Spoiling(Hook):
    """A hook at every point."""

    def __init__(self, vandal: Vandal) -> None:
        self.vandal = vandal

    def before_model(self, call: Any) -> None:
        self.vandal(call)

    after_model = before_tool = after_tool = before_answer = before_model


def booking(vandal: Vandal, made: list[Any]) -> list[Any]:
    """Tools with nested arguments and results: one that reads, one that has an irreversible effect."""

    @tool
    def hotels(place: dict[str, Any], beds: list[int], context: ToolContext) -> ToolReturn:
        """Find hotels."""
        made.append(json.dumps(["hotels", place, beds]))
        found = {"hotels": [{"name": f"Hotel in {place['city']}", "beds": list(beds)}], "long": ["x" * 500] * 10}
        vandal(context, place, beds, context.caller())
        return ToolReturn(raw=found, summary="one hotel")

    @tool(effect="once")
    async def book(room: dict[str, Any]) -> ToolReturn:
        """Book a room."""
        made.append(json.dumps(["book", room]))
        return ToolReturn(raw={"booked": room}, summary="the room is booked")

    return [hotels, book]


def _normal(entry: Any, run_id: str) -> str:
    written = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z?", "AT", entry.event.model_dump_json(by_alias=True))
    written = re.sub(r'"(duration_ms|host|event_id)":("[^"]*"|\d+)', "", written.replace(run_id, "RUN"))
    return f"{entry.event.type} {written}"


async def carried_out(
    home: Path, vandal: Vandal, request: str, *, flow: str, made: list[Any], **settings: Any
) -> tuple[list[str], list[Any], str]:
    """Carry out a run while a vandal subscribes to it, and return its log, the calls of its tools, and its answer."""

    async def approve(asked: Any) -> bool:
        vandal(asked)
        return True

    async with leadhand_of(home=home, on_approval=approve, hooks=[Spoiling(vandal)], **settings) as lead:
        (await lead.runtime()).texts.on_text = lambda *text: vandal(text)
        run = await lead.start(request, flow=flow, **({"agents": [*lead.agents]} if lead.agents else {}))
        run.watch(vandal)

        async def subscribe() -> None:
            async for entry in run:
                vandal(entry, run)
                if entry.event.type in ("run_started", "approval_requested"):
                    vandal(await run.approvals(), await lead.approvals(), await run.document())

        watching = asyncio.ensure_future(subscribe())
        vandal(await run.answer())
        await watching
        vandal(await lead.runs(), await lead.get(run.run_id), await run.wait(), lead.settings)
        again = await (await lead.get(run.run_id)).answer()
        assert again.status is RunStatus.SUCCEEDED
        runtime = await lead.runtime()
        entries = await runtime.store.read(run.run_id)
        assert run.state == await runtime.load(run.run_id), "the state in memory is not that of the log"
    # A busy machine can make a flow slow, which its log says with the time.
    kept = [
        e for e in entries if e.event.type not in WHILE_ASKING and not getattr(e.event, "key", "").startswith("!slow")
    ]
    log = [_normal(entry, run.run_id) for entry in kept]
    return sorted(log), sorted(made), again.text


async def work_order(home: Path, vandal: Vandal) -> Any:
    made: list[Any] = []
    models = ScriptedModel(
        plan=[
            plans(
                subtask("find hotels", "hotels", place={"city": "Paris", "near": ["Louvre"]}, beds=[1, 2]),
                subtask("book a room", "book", room={"city": "Paris", "guests": [{"name": "Ann"}]}),
            )
        ],
        lenient=True,
    )
    return await carried_out(
        home, vandal, "a room in Paris", flow="work-order", made=made, models=models, tools=booking(vandal, made)
    )


CITY = {"type": "object", "properties": {"city": {"type": "object"}}, "required": ["city"]}


def trip_of(vandal: Vandal) -> FunctionFlow:
    """Return a flow of a worker with a tool, a worker with a schema, a function and calls, with the vandal in all."""

    def check(value: Any, given: Any) -> None:
        vandal(value, given)

    finder = Worker("finder", "Find.", tools=("hotels",), validate=check)
    chooser = Worker("chooser", "Choose.", loop="reply", output=CITY, validate=check)

    async def visit(cities: list[str], places: dict[str, Any]) -> dict[str, Any]:
        visited = {"visited": [*cities], "beds": [*places["beds"]]}
        vandal(cities, places)
        return visited

    @flow
    async def trip(run: FlowContext, cities: list[str] = ["Paris", "Rome"]) -> str:  # noqa: B006 - it is copied
        first, second = cities
        given = {"cities": [first, second], "wishes": [{"beds": [1, 2]}]}
        vandal(cities, run.state, run.earlier, run.today, run.now())
        steps = [
            run.ask(finder, key="find-1", input=given),
            run.do(visit, cities=[first, second], places={"beds": [3]}),
            *(run.call("hotels", place={"city": city}, beds=[4]) for city in (first, second)),
        ]
        vandal(given)
        results = await run.gather(steps)
        vandal(*results, run.state)
        results.append(await run.ask(chooser, key="choose-1", found=results[0], hotels=results[2:]))
        vandal(results[-1])
        return "; ".join(each.text for each in results)

    return trip


async def own_flow(home: Path, vandal: Vandal) -> Any:
    made: list[Any] = []
    models = (
        ScriptedModel()
        .on(lambda ask: ask.worker == "finder", calls("hotels", place={"city": "Paris"}, beds=[1]), says("one hotel"))
        .on(lambda ask: ask.worker == "chooser", always=gives({"city": {"name": "Paris", "tags": ["big"]}}))
    )
    tools = booking(vandal, made)
    return await carried_out(
        home, vandal, "a trip", flow="trip", made=made, models=models, tools=tools, flows=[trip_of(vandal)]
    )


def checker(vandal: Vandal) -> type[Agent]:
    class Checker(Agent):
        async def run(self, task: Task) -> AgentResult:
            vandal(task.model_copy(deep=True))  # a stage may change its own
            return AgentResult(verdict=Verdict.APPROVED)

    return Checker


async def report(home: Path, vandal: Vandal) -> Any:
    agents = [checker(vandal)]
    return await carried_out(
        home, vandal, "Heat pumps in old houses", flow="report", made=[], offline=True, agents=agents
    )


WHILE_ASKING = ("run_status_set", "run_claimed", "run_status_set")
"""Whether a run comes to rest before its approval is answered is a matter of speed."""
REACHED = {
    "work_order": (
        "WorkOrder Subtask OpenApproval Approval RunState RunDefinition ToolSpec Worker Entry Answer"
        " RunListing BeforeModel AfterModel BeforeTool AfterTool BeforeAnswer ToolContext Caller Run Settings"
    ),
    "own_flow": "Result Given CallState RunState StepState ToolContext",
    "report": "Task TaskEvent RunState Answer",
}


@pytest.mark.parametrize("story", [work_order, own_flow, pytest.param(report, marks=pytest.mark.slow)])
async def test_nothing_that_a_door_hands_out_can_be_used_to_change_a_run(tmp_path: Path, story: Any) -> None:
    expected = await story(tmp_path / "quiet", Vandal(idle=True))
    vandal = Vandal(idle=False)

    log, made, text = await story(tmp_path / "spoiled", vandal)

    assert made == expected[1]
    assert log == expected[0]
    assert text == expected[2]
    assert set(REACHED[story.__name__].split()) - vandal.kinds == set(), "the vandal did not come that far"
