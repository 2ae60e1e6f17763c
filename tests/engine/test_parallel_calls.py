"""A call that lists calls: they replace it in the reply, are made like any, and each has its own result."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fakes import FakeModels, calls
from engine.tools import Bench, refusal
from engine.worlds import World, ask, plan
from leadhand.core.approval import args_hash
from leadhand.core.conversation import ToolMessage
from leadhand.core.events import ApprovalAnswered, ArtifactWritten, AttemptParked, ToolCallBegan, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.core.tool import Delegate, ToolReturn, WriteArtifact
from leadhand.engine.forking import fork
from leadhand.engine.session.turn import with_listed_calls
from leadhand.ports.models import ModelRequest
from leadhand.tools.decorator import tool


@tool(parallel=True)
def together(calls: list[dict[str, Any]]) -> list[Any]:
    """Make several calls at once."""
    raise AssertionError("its calls are made, and it is never called")


@tool(delegate=True)
def helper(what: str) -> str:
    """Say in one sentence what came of it."""
    raise AssertionError("it is carried out by a worker, and never called")


def listing(*made: tuple[str, Any]) -> tuple[str, Any]:
    """A call that lists these calls."""
    return "together", {"calls": [{"tool": name, "args": args} for name, args in made]}


def told(request: ModelRequest) -> list[Any]:
    """What the calls of a reply were answered with."""
    return [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]


async def test_the_calls_in_a_list_are_made_at_once_and_answered_in_their_order(open_world: Any):
    bench = Bench()
    reply = calls(("look", {"n": 1}), listing(("look", {"n": 3}), ("measure", {"n": 1})), ("look", {"n": 2}))
    models = FakeModels(plan(ask("a")), work=[reply, "all seen"])
    world = open_world(models, [bench.look, bench.measure, together])
    state = await world.run()

    assert sorted(bench.made) == [("look", 1), ("look", 2), ("look", 3), ("measure", 1)]
    assert bench.most_at_once == 4
    assert [each["raw"] for each in told(models.requests("work")[1])] == [{"n": 1}, {"n": 3}, {"value": 10}, {"n": 2}]
    began = {event.call_id: (event.tool, event.args["n"]) for event in await world.events(ToolCallBegan)}
    assert began == {
        "wo-001.0/t1/c0": ("look", 1),
        "wo-001.0/t1/c1": ("look", 3),
        "wo-001.0/t1/c2": ("measure", 1),
        "wo-001.0/t1/c3": ("look", 2),
    }, "each is a call of its own, numbered like any"
    assert state.steps["wo-001.0"].data.raw.keys() == began.keys(), "and is evidence like any"


async def test_a_failed_call_of_a_list_fails_alone(open_world: Any):
    bench = Bench()
    bad = [("peek", {}), ("look", "x"), ("look", {"m": 1}), ("broken", {"n": 1}), listing(("look", {"n": 2}))]
    models = FakeModels(plan(ask("a")), work=[calls(listing(*bad, ("look", {"n": 1}))), "one of six"])
    world = open_world(models, [bench.look, bench.broken(refusal("no such number")), together])
    state = await world.run()

    listed = told(models.requests("work")[1])
    assert [each.get("isError", False) for each in listed] == [True] * 5 + [False]
    reasons = [
        "there is no tool peek; choose from: broken, look, together",
        "the arguments are not a JSON object",
        "is missing",
        "no such number",
        "together needs calls, which cannot be nested",
    ]
    for each, reason in zip(listed, reasons, strict=False):
        assert reason in each["message"]
    assert [made for made in bench.made if made[0] == "look"] == [("look", 1)]
    assert state.status is RunStatus.SUCCEEDED


@pytest.mark.parametrize(
    ("args", "named"),
    [({}, '{"calls": '), ({"calls": []}, "calls"), ({"calls": "look"}, "calls"), ('{"calls": [', "JSON")],
    ids=["no list", "empty", "a text", "no JSON"],
)
async def test_a_malformed_list_is_one_error(open_world: Any, args: Any, named: str):
    models = FakeModels(plan(ask("a")), work=[calls(("together", args)), "so be it"])
    state = await open_world(models, [Bench().look, together]).run()

    (error,) = told(models.requests("work")[1])
    assert error["isError"]
    assert named in error["message"]
    assert state.steps["wo-001.0"].data.summary == "so be it"


async def test_a_worker_without_the_right_to_list_calls_makes_none_of_them(open_world: Any):
    bench = Bench()
    models = FakeModels(
        plan(ask("a", "broken", n=1)), work=[calls(listing(("broken", {"n": 2}), ("broken", {"n": 3}))), "so be it"]
    )
    world = open_world(models, [bench.broken(refusal()), together])
    await world.run()

    _, refused = told(models.requests("work")[1])
    assert "there is no tool together" in refused["message"]
    assert bench.made == [("broken", 1)]


async def test_a_call_with_an_effect_waits_behind_one_that_may_be_denied_in_its_list(open_world: Any):
    bench = Bench()
    reply = calls(listing(("send", {"amount": 1}), ("send", {"amount": 2})), ("look", {"n": 1}))
    models = FakeModels(plan(ask("a")), work=[reply, "done"])
    world = open_world(models, [bench.look, bench.send(), together])
    waiting = await world.run()

    assert [*waiting.approvals] == ["wo-001.0/t1/c0", "wo-001.0/t1/c1"]
    assert bench.made == [("look", 1)]


def delegating(child: Any) -> FakeModels:
    """A worker that has two tasks carried out and looks at a number, in one list, and says what it was told."""

    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        if facts["subtask"]["name"] == "helper":
            return child(request, facts)
        if not told(request):
            return calls(listing(("helper", {"what": "tea"}), ("look", {"n": 1}), ("helper", {"what": "milk"})))
        return " ".join(each.get("summary") or each["message"] for each in told(request))

    return FakeModels(plan(ask("a")), work=work)


async def test_delegated_calls_of_a_list_run_at_once_and_one_that_fails_costs_nothing_else(open_world: Any):
    def child(request: ModelRequest, facts: dict[str, Any]) -> Any:
        what = facts["subtask"]["args"]["what"]
        return "tea is ready" if what == "tea" else calls(("give_up", {"reason": "the milk is sour"}))

    bench = Bench()
    models = delegating(child)
    world = open_world(models, [bench.look, helper, together])
    state = await world.run()

    assert state.steps["wo-001.0"].data.summary == "tea is ready saw 1 the milk is sour"
    (parked,) = await world.events(AttemptParked)
    assert [call.call_id for call in parked.open_calls] == ["wo-001.0/t1/c0", "wo-001.0/t1/c2"]
    assert bench.made == [("look", 1)]


NAMED = st.builds(lambda n: ("look", {"n": n}), st.integers(0, 9))


@given(st.lists(st.one_of(NAMED, st.lists(NAMED, min_size=1, max_size=5))))
def test_every_call_has_its_own_place_and_id_whatever_lists_it(reply: list[Any]):
    message = calls(*(listing(*each) if isinstance(each, list) else each for each in reply))
    flat = [call for each in reply for call in (each if isinstance(each, list) else [each])]

    made = with_listed_calls(message, {"together": together.spec}).tool_calls

    assert [(call.name, call.arguments) for call in made] == flat
    assert len({call.id for call in made}) == len(made)
    assert {call.id for call in message.tool_calls} <= {call.id for call in made}, "the first keeps the id of the list"
    assert with_listed_calls(message, {"together": together.spec}).tool_calls == made, "ids are stable"


@pytest.mark.parametrize("approve", ["auto", "ask"])
async def test_a_call_that_reads_waits_for_one_of_its_toolset_that_writes_before_it(open_world: Any, approve: str):
    made: list[str] = []

    @tool(toolset="diary", effect="idempotent", approval="ask" if approve == "ask" else None)
    async def write() -> str:
        """Write."""
        await asyncio.sleep(0)
        made.append("write")
        return "written"

    @tool(toolset="diary")
    async def read() -> str:
        """Read."""
        made.append("read")
        return "read"

    bench = Bench()
    work = [calls(("read", {}), ("write", {}), ("read", {}), ("look", {"n": 1})), "all done"]
    world = open_world(FakeModels(plan(ask("a")), work=work), [write, read, bench.look])
    run_id = await world.start()
    state = await world.drive(run_id)
    if approve == "ask":
        assert made == ["read"]
        assert bench.counts["look"] == 1, "other calls wait for nobody"
        await world.answer(run_id)
        state = await world.take_over(run_id)

    assert state.status is RunStatus.SUCCEEDED
    assert made == ["read", "write", "read"]


async def test_a_call_that_reads_waits_until_the_store_has_what_one_before_it_writes(open_world: Any):
    @tool(toolset="diary", effect="idempotent")
    async def write() -> ToolReturn:
        """Write."""
        return ToolReturn(raw="written", asks=(WriteArtifact(path="diary.md", content="written"),))

    @tool(toolset="diary")
    async def read() -> str:
        """Read."""
        return "read"

    world = open_world(FakeModels(plan(ask("a")), work=[calls(("write", {}), ("read", {})), "done"]), [write, read])
    await world.run()
    events = [entry.event for entry in await world.entries()]
    (written,) = [n for n, event in enumerate(events) if isinstance(event, ArtifactWritten)]
    (reads,) = [n for n, event in enumerate(events) if isinstance(event, ToolCallBegan) and event.tool == "read"]
    assert written < reads


async def test_calls_that_cannot_change_what_another_one_sees_are_made_at_once(open_world: Any):
    all_begun = asyncio.Barrier(4)

    @tool(toolset="board", effect="idempotent")
    async def put(n: int) -> str:
        """Put something on the board."""
        await all_begun.wait()
        return "put"

    @tool(toolset="diary")
    async def read(n: int) -> str:
        """Read a page."""
        await all_begun.wait()
        return "read"

    wanted = [("put", {"n": 1}), ("put", {"n": 2}), ("read", {"n": 1}), ("read", {"n": 2})]
    world = open_world(FakeModels(plan(ask("a")), work=[calls(*wanted), "done"]), [put, read])
    assert (await world.run()).status is RunStatus.SUCCEEDED


async def test_a_delegated_task_is_carried_out_although_a_call_beside_it_waits_for_a_person(open_world: Any):
    def work(request: ModelRequest, facts: dict[str, Any]) -> Any:
        beside = calls(("helper", {"what": "look"}), ("send", {"amount": 1}))
        return beside if facts.get("subtask", {}).get("name") == "a" else "looked"

    bench = Bench()
    world = open_world(FakeModels(plan(ask("a")), work=work), [helper, bench.send()])
    state = await world.run()
    assert state.status is RunStatus.WAITING
    assert [step.data.summary for step in state.steps.values() if step.step.parent and step.data] == ["looked"]


USED_UP = "the tool budget of 3 calls is used up: answer now"


@tool
def task() -> ToolReturn:
    """Have it looked at, in three calls."""
    return ToolReturn(asks=(Delegate(title="look", input={"what": "look"}, max_calls=3),))


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
