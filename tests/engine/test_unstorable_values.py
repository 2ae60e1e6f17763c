"""Values of tools and models that could not be read back: their call fails by itself, and the log stays readable."""

from __future__ import annotations

from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.worlds import ask, plan
from leadhand.core.errors import FailureClass
from leadhand.core.events import ModelCallReturned, ToolCallReturned
from leadhand.core.tool import ToolReturn
from leadhand.tools.decorator import tool

GIVE_UP = calls(("give_up", {"reason": "it does not work"}))


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [101, 199, 200, 240, 254, 300, 900])
async def test_a_tool_whose_answer_is_nested_too_deeply_fails_by_itself_and_the_log_can_be_read(
    open_world: Any, levels: int
):
    @tool(retries=0)
    async def odd() -> Any:
        """Return something odd."""
        return nested(levels)

    world = open_world(FakeModels(plan(ask("a", "odd")), work=["I looked.", GIVE_UP]), [odd])
    await world.run()

    (call,) = await world.events(ToolCallReturned)
    assert call.failure is not None
    assert call.failure.type == "not_json"
    assert ToolCallReturned.model_validate_json(call.model_dump_json()) == call


async def test_an_irreversible_call_whose_answer_cannot_be_stored_failed_and_is_not_made_again(open_world: Any):
    made: list[int] = []

    @tool(effect="once", approval="auto")
    async def pay() -> Any:
        """Pay."""
        made.append(1)
        return nested(240)

    world = open_world(FakeModels(plan(ask("a", "pay")), work=[calls(("pay", {})), calls(("pay", {}))]), [pay])
    state = await world.run()

    assert made == [1]
    assert not state.approvals
    assert state.steps["wo-001.0"].failure.type == "unreadable_result"
    assert state.steps["wo-001.0"].acted


async def test_what_a_tool_raises_is_cut_to_a_length_that_can_be_read(open_world: Any):
    @tool(retries=0)
    async def verbose() -> str:
        """Fail at length."""
        raise RuntimeError("x" * 1_000_000)

    world = open_world(FakeModels(plan(ask("a", "verbose")), work=[GIVE_UP]), [verbose])
    await world.run()

    for event in await world.events(ToolCallReturned):
        assert len(event.failure.message) == 10_000


@pytest.mark.parametrize("answer", ["x" * 2_000_001, ToolReturn(summary="x" * 2_000_001)], ids=["raw", "summary"])
async def test_a_tool_whose_answer_is_too_large_fails_by_itself(open_world: Any, answer: Any):
    @tool(retries=0)
    async def large() -> Any:
        """Return too much."""
        return answer

    world = open_world(FakeModels(plan(ask("a", "large")), work=["I looked.", GIVE_UP]), [large])
    await world.run()

    (call,) = await world.events(ToolCallReturned)
    assert call.failure is not None
    assert "more than 2,000,000 characters" in call.failure.message


@pytest.mark.parametrize("where", ["arguments", "answer"])
async def test_a_model_that_nests_too_deeply_fails_by_itself_and_the_log_can_be_read(open_world: Any, where: str):
    @tool
    async def look(at: Any) -> str:
        """Look."""
        return "seen"

    work = [calls(("look", {"at": nested(240)})), calls(("look", {"at": nested(240)})), GIVE_UP]
    planned = plan(ask("a")) if where == "arguments" else plan(ask("a", "look", at=nested(240)))
    world = open_world(FakeModels(planned, work=work), [look])
    state = await world.run()

    assert state.finished is not None
    for entry in await world.entries():
        assert type(entry.event).model_validate_json(entry.event.model_dump_json()) == entry.event
    failed = [event for event in await world.events(ModelCallReturned) if event.failure is not None]
    assert failed
    assert {each.failure.class_ for each in failed} == {FailureClass.INVALID}
    assert all("100 levels" in each.failure.message for each in failed)


@pytest.mark.parametrize("levels", [99, 100])
async def test_arguments_that_references_make_too_deep_are_refused_before_the_call(open_world: Any, levels: int):
    made: list[Any] = []

    @tool
    async def dig() -> ToolReturn:
        """Return something as deep as it may be."""
        return ToolReturn(raw=nested(levels), summary="dug")

    @tool(retries=0)
    async def look(at: Any) -> str:
        """Look."""
        made.append(at)
        return "seen"

    reference = {"$result": {"subtask": "0", "path": "/raw"}}
    planned = plan(ask("a", "dig"), {**ask("b", "look", at=reference), "needs": [0]})
    world = open_world(FakeModels(planned, work=["I looked.", GIVE_UP]), [dig, look])
    state = await world.run()

    assert state.finished is not None
    assert made == ([nested(99)] if levels == 99 else [])
    for entry in await world.entries():
        assert type(entry.event).model_validate_json(entry.event.model_dump_json()) == entry.event
