"""A worker with a tool budget makes as many calls as that, whatever happens to its process, and then has to answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.core.approval import args_hash
from leadhand.core.conversation import ToolMessage
from leadhand.core.events import ApprovalAnswered, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.core.tool import Delegate, ToolReturn
from leadhand.engine.forking import fork
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool

USED_UP = "the tool budget of 3 calls is used up: answer now"


@tool(parallel=True)
def together(calls: list[dict[str, Any]]) -> list[Any]:
    """Make several calls at once."""
    raise AssertionError("its calls are made, and it is never called")


@tool
def task() -> ToolReturn:
    """Have it looked at, in three calls."""
    return ToolReturn(asks=(Delegate(title="look", input={"what": "look"}, max_calls=3),))


def told(request: ModelRequest) -> list[Any]:
    """What tools have answered so far."""
    return [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def models(*child: Any) -> FakeModels:
    """A worker that delegates, and a child that answers by what it was told so far: a step for each turn."""

    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        said = told(request)
        if facts.get("subtask", {}).get("name") == "a":
            return f"I am told: {said[-1].get('summary') or said[-1].get('message')}" if said else calls(("task", {}))
        turns = sum(message.role == "assistant" for message in request.messages)
        return child[min(turns, len(child) - 1)]

    return FakeModels(plan(ask("a")), work=work)


def of_child(world: World) -> list[ModelRequest]:
    asked = world.models.requests("work")
    return [request for request in asked if "/c0/t" in request.key]


def look(*numbers: int) -> Any:
    return calls(*(("look", {"n": n}) for n in numbers))


@pytest.mark.parametrize("listed", [False, True])
async def test_calls_beyond_the_budget_are_refused_with_the_reason(open_world: Any, listed: bool):
    wanted = [("look", {"n": n}) for n in range(5)]
    inner = calls(("together", {"calls": [{"tool": name, "args": args} for name, args in wanted]}))
    bench = Bench()
    world = open_world(models(inner if listed else calls(*wanted), "saw three"), [bench.look, task, together])
    state = await world.run()

    assert bench.made == [("look", 0), ("look", 1), ("look", 2)]
    answers = told(of_child(world)[-1])
    assert [each.get("message") for each in answers] == [None] * 3 + [USED_UP] * 2
    assert state.steps["wo-001.0"].data.summary == "I am told: saw three"


async def test_the_budget_holds_over_all_turns_and_a_refused_call_costs_nothing(open_world: Any):
    bench = Bench()
    steps = [look(1), calls(("peek", {}), ("look", {"n": "x"})), look(2), look(3), look(4), "saw three"]
    world = open_world(models(*steps), [bench.look, task])
    await world.run()

    assert [n for _, n in bench.made] == [1, 2, 3]
    assert told(of_child(world)[-1])[-1]["message"] == USED_UP


async def test_a_worker_that_asks_for_more_calls_all_the_same_is_stopped(open_world: Any):
    world = open_world(models(*(look(n) for n in range(20))), [Bench().look, task])
    state = await world.run()

    assert len(of_child(world)) == 6, "three calls, and three that were refused"
    said = state.steps["wo-001.0"].data.summary
    assert USED_UP in said


async def test_the_budget_holds_after_a_crash_wherever_it_happens(open_world: Any):
    steps = [look(1, 2), calls(("peek", {}), ("look", {"n": 3})), look(4), look(5), "saw three"]
    bench = Bench()
    world = open_world(models(*steps), [bench.look, task])
    whole = await world.run()
    prompts = {request.key.partition("/")[2]: request.messages for request in of_child(world)}
    entries = await world.entries()
    for cut in range(8, len(entries) - 1, 3):
        bench.made.clear()
        world.models.asked.clear()
        name = f"fork_{cut}"
        done = sum(isinstance(each.event, ToolCallReturned) and each.event.tool == "look" for each in entries[:cut])
        await fork(world.store, "run_1", cut, name)
        again = await world.drive(name)

        assert len(bench.made) == 3 - done
        assert again.finished.answer == whole.finished.answer
        for request in of_child(world):
            assert request.messages == prompts[request.key.partition("/")[2]], "a resumed worker is told the same"


async def test_a_call_that_waits_for_a_person_is_part_of_the_budget(open_world: Any):
    bench = Bench()
    steps = [calls(("send", {"amount": 1}), ("look", {"n": 1}), ("look", {"n": 2}), ("look", {"n": 3})), "done"]
    world = open_world(models(*steps), [bench.look, bench.send(), task])
    assert (await world.run()).status is RunStatus.WAITING
    assert sorted(bench.made) == [("look", 1), ("look", 2)]
    await world.answer("run_1")
    await world.take_over("run_1")

    assert bench.counts == {"look": 2, "send": 1}
    assert told(of_child(world)[-1])[-1]["message"] == USED_UP


async def test_what_an_approved_call_asks_for_is_decided_wherever_the_process_ended(open_world: Any):
    bench = Bench()

    @tool(approval="ask")
    async def task() -> ToolReturn:
        """Have it looked at."""
        bench.made.append(("task", 0))
        return ToolReturn(asks=(Delegate(title="look", input={"what": "look"}),))

    world = open_world(models("seen"), [bench.look, task])
    whole = await world.run_answered()
    assert whole.steps["wo-001.0"].data.summary == "I am told: seen"
    entries = await world.entries()
    returned = next(entry.seq for entry in entries if isinstance(entry.event, ToolCallReturned))
    bench.made.clear()
    await fork(world.store, "run_1", returned, "fork_1")
    again = await world.drive("fork_1")

    assert again.steps["wo-001.0"].data.summary == "I am told: seen"
    assert bench.made == []


async def test_a_call_that_a_person_denied_is_not_asked_about_again_when_the_turn_waits_once_more(open_world: Any):
    @tool(effect="once")
    async def order() -> ToolReturn:
        """Order it."""
        return ToolReturn(raw="ordered", asks=(Delegate(title="look", input={"what": "look"}),))

    bench = Bench()
    steps = [calls(("send", {"amount": 1}), ("order", {})), calls(("look", {"n": 1})), "all done"]

    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        if facts.get("subtask", {}).get("name") != "a":
            return "looked"
        return steps[sum(message.role == "assistant" for message in request.messages)]

    world = open_world(FakeModels(plan(ask("a")), work=work), [bench.send(), bench.look, order])
    waiting = await world.run()
    send, other = waiting.approvals.values()
    for asked, approve in ((send, False), (other, True)):
        word = {"args_hash": args_hash(asked.args), "by": "me", "reason": "" if approve else "too much"}
        await world.append("run_1", ApprovalAnswered(approval_id=asked.approval_id, approve=approve, **word))
    state = await world.take_over("run_1")

    assert state.status is RunStatus.SUCCEEDED
    assert len(state.approvals) == 2
    told_last = told([each for each in world.models.requests("work") if "/c" not in each.key][-1])
    assert "too much" in told_last[0]["message"]
    assert told_last[1]["summary"] == "looked"
