"""The contract of flows, for functions: good ones pass it, and those that decide by what no log has are found out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from flows.seam.test_every_prefix import branches, early, equal, late, shared
from leadhand import Worker
from leadhand.core.tool import ToolReturn, ToolSpec
from leadhand.flows import FlowContext, StepFailed, flow
from leadhand.testing.flow_contract import FlowContract

writer = Worker("writer", "Write.")


class Verdict(BaseModel):
    approved: bool


critic = Worker("critic", "Criticise.", output=Verdict, loop="reply")
LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {"town": {}}})


@flow
async def everything(run: FlowContext, rounds: int = 2) -> Any:
    """Each kind of step: an order, a call, a function, a question, branches, and a loop."""
    run.note("it begins")
    towns = [{"name": each, "tool": "look", "args": {"town": each}} for each in ("Oslo", "Rome")]
    found = await run.order("look", towns)
    called = await run.call("look", town="Paris", optional=True)
    done = await run.do(fetched, town="Bergen")
    style = await run.person("How?", choices=["short", "long"])
    try:
        extra = await run.ask(writer, about="extra")
    except StepFailed as failed:
        failed.waive()
        extra = None
    await run.sleep(60)
    paid = await run.wait_for("paid", timeout=60)
    draft = await run.ask(writer, paid=paid, found=found, called=called, done=done, style=style, extra=extra)
    for _ in range(rounds):
        if (await run.ask(critic, draft=draft)).value.approved:
            break
        draft = await run.ask(writer, draft=draft, roll=run.random(), at=run.now())
    return await run.ask(writer, draft=draft, final=True)


async def fetched(town: str) -> str:
    return town


class TestEverything(FlowContract):
    flow = everything
    tools: ClassVar[Sequence[ToolSpec]] = (LOOK,)

    def reply(self, step: Any, role: Worker) -> str | dict[str, Any]:
        return {"approved": False} if role.name == "critic" else f"{step.id} is done"

    def returned(self, step: Any, role: Any) -> ToolReturn | None:
        return ToolReturn(raw={"degrees": 21}) if role.name == "call.look" else None


class TestEqual(FlowContract):
    flow = equal
    options: ClassVar[Mapping[str, Any]] = {"n": 3}


class TestLate(FlowContract):
    flow = late
    options: ClassVar[Mapping[str, Any]] = {"n": 3}


class TestShared(FlowContract):
    flow = shared
    options: ClassVar[Mapping[str, Any]] = {"n": 3}


class TestBranches(FlowContract):
    flow = branches
    options: ClassVar[Mapping[str, Any]] = {"n": 4}


class TestEarly(FlowContract):
    flow = early

    def reply(self, step: Any, role: Any) -> str | dict[str, Any]:
        return {"sections": ["one", "two"]} if role.name.startswith("planner") else f"{step.id} is done"


NUMBERS = itertools.count()


@flow
async def by_chance(run: FlowContext) -> Any:
    """Give a worker something that is another thing in each pass."""
    first = await run.ask(writer, number=next(NUMBERS))
    return await run.ask(writer, of=first)


SEEN: list[str] = []


@flow
async def with_memory(run: FlowContext) -> Any:
    """Keep something from one pass to the next."""
    SEEN.append(run.request)
    return await run.ask(writer, times=len(SEEN))


@flow
async def hiding(run: FlowContext) -> str:
    """Look at the state, which is further on than the function."""
    await run.ask(writer, settled=sum(each.closed for each in run.state.steps.values()))
    await run.ask(writer, settled=sum(each.closed for each in run.state.steps.values()))
    return "done"


@pytest.mark.parametrize("bad", [by_chance, with_memory, hiding], ids=lambda each: each.name)
def test_a_function_that_decides_by_what_no_log_has_fails_the_contract(bad: Any) -> None:
    suite = type("Bad", (FlowContract,), {"flow": bad})()
    with pytest.raises((AssertionError, pytest.fail.Exception), match="after event"):
        suite.test_a_pass_over_any_part_of_a_log_asks_for_what_the_log_has()
