"""A worker has another worker do something: it waits without holding anything, however deep it goes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.core.conversation import ToolMessage
from leadhand.core.events import AttemptParked, StepIssued, StepRequested
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.core.tool import Delegate, ToolReturn
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool


@tool(delegate=True)
def helper(what: str) -> str:
    """Say in one sentence what came of it."""
    raise AssertionError("it is carried out by a worker, and never called")


def told(request: ModelRequest) -> list[Any]:
    """What tools have answered so far."""
    return [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def workers(**by_name: Any) -> Any:
    """Workers that answer by the name of what they are to do: a function of the request and what tools said."""

    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        return by_name[facts["subtask"]["name"]](request, facts, told(request))

    return work


def delegates(request: ModelRequest, facts: dict[str, Any], said: list[Any]) -> Any:
    return (
        f"I am told: {said[-1].get('summary') or said[-1].get('message')}"
        if said
        else calls(("helper", {"what": "it"}))
    )


async def test_a_parent_waits_for_a_child_that_waits_for_a_person_while_a_hundred_siblings_run_in_two_slots(
    open_world: Any,
):
    def child(request: ModelRequest, facts: dict[str, Any], said: list[Any]) -> Any:
        return "sent" if said else calls(("send", {"amount": 5}))

    bench = Bench()
    siblings = [ask(f"s{n}", "look", n=n) for n in range(100)]
    models = FakeModels(plan(ask("a"), *siblings), work=workers(a=delegates, helper=child))
    world = open_world(models, [bench.send(), bench.look, helper], limits=Limits(max_workers=2))
    waiting = await world.run()

    assert waiting.status is RunStatus.WAITING
    assert bench.counts == {"look": 100}
    assert bench.most_at_once <= 2
    assert len(waiting.parked) == 2
    assert waiting.reserved == {}, "somebody who waits holds money"
    await world.answer("run_1")
    state = await world.take_over("run_1")

    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts == {"look": 100, "send": 1}
    assert state.steps["wo-001.0"].data.summary == "I am told: sent"


async def test_a_person_s_word_on_a_parent_closes_its_children_and_withdraws_their_questions(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=workers(a=delegates, helper=lambda *_: calls(("send", {"amount": 5}))))
    world = open_world(models, [bench.send(), helper])
    assert (await world.run()).status is RunStatus.WAITING
    await world.append("run_1", StepRequested(what="supply", by="me", steps=("wo-001.0",), summary="by hand"))
    state = await world.take_over("run_1")

    assert state.status is RunStatus.SUCCEEDED
    assert [asked.status for asked in state.approvals.values()] == ["denied"]
    assert bench.made == []


@pytest.mark.parametrize("cut", range(6, 30, 2))
async def test_a_run_with_children_goes_on_from_any_event(open_world: Any, cut: int):
    def child(request: ModelRequest, facts: dict[str, Any], said: list[Any]) -> Any:
        return "the child saw 7" if said else calls(("look", {"n": 7}))

    bench = Bench()
    models = FakeModels(plan(ask("a")), work=workers(a=delegates, helper=child))
    world = open_world(models, [bench.look, helper])
    whole = await world.run()
    entries = await world.entries()
    if cut >= len(entries) - 1:
        pytest.skip("the run is shorter")
    from leadhand.engine.forking import fork

    await fork(world.store, "run_1", cut, "fork_1")
    again = await world.drive("fork_1")

    assert again.finished.answer == whole.finished.answer
    assert len(await world.events(AttemptParked, "fork_1")) == 1


@pytest.mark.parametrize("polling", [False, True])
async def test_nine_equal_calls_of_one_reply_have_one_task_carried_out(open_world: Any, polling: bool):
    def asks_nine_times(request: ModelRequest, facts: dict[str, Any], said: list[Any]) -> Any:
        return "done" if said else calls(*[("helper", {"what": "it"})] * 9)

    models = FakeModels(plan(ask("a")), work=workers(a=asks_nine_times, helper=lambda *_: "it is ready"))
    own = tool(delegate=True, polling=polling, name="helper")(helper.function)
    world = open_world(models, [own])
    await world.run()

    issued = [event for event in await world.events(StepIssued) if event.step.parent]
    assert len(issued) == (9 if polling else 1)
    (answered, *others) = [m for m in models.requests("work")[-1].messages if isinstance(m, ToolMessage)]
    assert answered.ok
    assert [each.ok for each in others] == [polling] * 8
    assert polling or "helper" in others[0].content


async def test_a_child_answers_in_the_shape_that_its_delegation_asks_for(open_world: Any):
    schema = {"type": "object", "properties": {"hills": {"type": "integer"}}, "required": ["hills"]}

    @tool
    def survey() -> ToolReturn:
        """Have the hills counted."""
        return ToolReturn(asks=(Delegate(title="Count", input={"what": "hills"}, output=schema),))

    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        if request.output is not None:
            assert request.output.schema_ == schema
            return {"hills": "many"} if len(request.messages) == 2 else {"hills": 7}
        said = told(request)
        return f"there are {said[-1]['hills']}" if said else calls(("survey", {}))

    state = await open_world(FakeModels(plan(ask("a")), work=work), [survey]).run()

    assert state.steps["wo-001.0"].data.summary == "there are 7"


async def test_a_delegation_whose_shape_is_no_schema_is_an_error_of_its_tool(open_world: Any):
    @tool
    def survey() -> ToolReturn:
        """Have the hills counted."""
        return ToolReturn(asks=(Delegate(output={"type": "object", "properties": {"hills": {"type": "hill"}}}),))

    def surveys(request: ModelRequest, facts: dict[str, Any], said: list[Any]) -> Any:
        return str(said[-1]) if said else calls(("survey", {}))

    models = FakeModels(plan(ask("a")), work=workers(a=surveys))
    state = await open_world(models, [survey]).run()

    assert "hill" in state.steps["wo-001.0"].data.summary
