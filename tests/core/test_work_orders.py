"""Orders and their subtasks, those that begin early, and workers that are made in a run."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from core.histories import History, definition
from core.own import DELEGATES, assigned, decided, history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.decide.attempts import may_begin
from leadhand.core.errors import FailureClass
from leadhand.core.ids import subtask_key
from leadhand.core.relations import tools_of
from leadhand.core.tool import DYNAMIC_WORKERS, ApprovalPolicy, DefineWorker, Delegate, ToolSpec
from leadhand.core.work_order import Subtask, WorkOrder, references_in, renamed, subtask_step, tie_problems
from leadhand.core.worker import ALL_TOOLS, Worker
from leadhand.flows.seam.orders import issue


def order(*needs: list[str]) -> WorkOrder:
    subtasks = tuple(Subtask(name=f"s{number}", needs=tuple(wanted)) for number, wanted in enumerate(needs))
    return WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks)


def graphs() -> st.SearchStrategy[list[list[int]]]:
    """Needs of up to seven subtasks, by index; any graph, loops included."""
    return st.integers(1, 7).flatmap(
        lambda count: st.lists(st.lists(st.integers(0, count - 1), max_size=3), min_size=count, max_size=count)
    )


def reaches_itself(graph: list[list[int]]) -> bool:
    """Whether a node of a graph can be reached from itself: by trying every walk."""

    def reachable(node: int) -> set[int]:
        found: set[int] = set()
        todo = list(graph[node])
        while todo:
            following = todo.pop()
            if following not in found:
                found.add(following)
                todo += graph[following]
        return found

    return any(node in reachable(node) for node in range(len(graph)))


@settings(max_examples=2 * settings().max_examples)
@given(graphs())
def test_a_circle_of_needs_is_found_if_and_only_if_there_is_one(graph: list[list[int]]):
    made = order(*([subtask_key("wo-001", needed) for needed in needs] for needs in graph))
    found = tie_problems(made, ())

    assert bool(found) == reaches_itself(graph)
    if found:
        circle = found[0].partition(": ")[2].split(" -> ")
        assert circle[0] == circle[-1]
        for key, following in pairwise(circle):
            assert following in made.subtasks[made.subtask_keys.index(key)].needs


@pytest.mark.slow
def test_a_circle_among_thousands_is_found_without_deep_recursion():
    chain = [[subtask_key("wo-001", index + 1)] for index in range(4_999)]

    assert tie_problems(order(*chain, []), ()) == []
    assert "cycle" in tie_problems(order(*chain, [subtask_key("wo-001", 0)]), ())[0]


def test_an_order_cannot_be_changed():
    made = order([])
    with pytest.raises(ValidationError):
        made.goal = "another"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValidationError):
        made.subtasks[0].name = "another"  # pyright: ignore[reportAttributeAccessIssue]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$result", "subtask", "path", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_a_name_that_is_unique_in_the_plan_means_its_subtask():
    refers = {"place": {"$result": {"subtask": "town", "path": "/raw"}}}
    plan = (
        Subtask(name="town"),
        Subtask(name="day", needs=("town",), args=refers),
        Subtask(name="day", needs=("day",)),
        Subtask(name="1", needs=(1,)),
    )
    town, first, second, digit = issue(plan, "wo-001", "it").subtasks
    assert (town.needs, first.needs) == ((), ("wo-001.0",))
    assert first.args == {"place": {"$result": {"subtask": "wo-001.0", "path": "/raw"}}}
    assert second.needs == ("day",), "two subtasks have this name"
    assert digit.needs == ("wo-001.1",), "a number is an index"


def named(value: Any) -> list[tuple[str, str | None]]:
    """What a value refers to, from the outside in."""
    inner = value.get("$result") if isinstance(value, dict) else None
    if isinstance(inner, dict) and isinstance(inner.get("subtask"), (str, int)):
        path = inner.get("path")
        return [(str(inner["subtask"]), path if isinstance(path, str) else None)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for part in parts for each in named(part)]


@settings(max_examples=2 * settings().max_examples)
@given(_JSON)
def test_only_what_names_a_subtask_is_a_reference(value: Any):
    assert [*references_in(value)] == named(value)
    renamed_value = renamed(value, lambda subtask: f"{subtask}.0")
    assert [*references_in(renamed_value)] == [(f"{subtask}.0", path) for subtask, path in named(value)]


@pytest.mark.parametrize(
    ("subtask", "agent"),
    [
        (Subtask(name="a", tool="weather_tool"), "worker_weather"),
        (Subtask(name="a", tool="look"), "worker_look"),
        (Subtask(name="a", tool="look", worker="scout"), "scout"),
        (Subtask(name="think_hard"), "worker_think_hard"),
    ],
)
def test_events_name_the_worker_file_or_the_tool(subtask: Subtask, agent: str):
    assert subtask.agent == agent


LOOK = Subtask(name="a", tool="look", args={"n": 1})
REFERENCE = {"n": {"$result": {"subtask": "wo-001.1", "path": "/raw/n"}}}


def run(**more: Any) -> History:
    what = definition()
    return History(what.evolve(**{"tools": (*what.tools, *DELEGATES), **more}))


@pytest.mark.parametrize(
    ("changed", "of_run", "expected"),
    [
        ({}, {}, True),
        ({"tool": "write"}, {}, True),
        ({"tool": "send"}, {}, False),
        ({"tool": "send"}, {"approve": ApprovalPolicy.AUTO}, False),
        ({"tool": "research"}, {}, False),
        ({"tool": "fly"}, {}, False),
        ({"tool": None}, {}, False),
        ({"args": {}}, {}, False),
        ({"args": REFERENCE}, {}, False),
        ({"needs": ("wo-001.1",)}, {}, False),
        ({"worker": "work"}, {}, False),
        ({}, {"approve_plan": True}, False),
        ({}, {"plan_only": True}, False),
        ({}, {"approve_rules": {"tool:look": ApprovalPolicy.ASK}}, False),
        ({}, {"approve_rules": {"tool:look": ApprovalPolicy.NEVER}}, False),
    ],
)
def test_a_subtask_begins_early_only_if_its_call_can_be_repeated_and_nobody_is_asked(
    changed: dict[str, Any], of_run: dict[str, Any], expected: bool
):
    assert may_begin(run(**of_run).state, LOOK.evolve(**changed)) is expected


def test_a_subtask_does_not_begin_early_with_a_tool_that_its_worker_lacks():
    workers = (each.evolve(tools=("write",)) if each.name == "work" else each for each in definition().workers)

    assert not may_begin(run(workers=tuple(workers)).state, LOOK)


def test_an_order_adopts_what_began_early_as_it_is_and_nothing_begins_early_after_it():
    history = run()
    assert history.command(do.IssueStep(subtask_step("wo-001.0", LOOK)))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(LOOK,))
    assert not history.command(do.IssueOrder(order.evolve(subtasks=(LOOK.evolve(args={"n": 2}),))))
    assert history.command(do.IssueOrder(order))

    assert history.state.steps["wo-001.0"].order == "wo-001"
    assert not history.command(do.IssueStep(subtask_step("wo-002.0", LOOK)))


def test_what_began_early_has_the_arguments_that_were_written():
    history = run()
    assert history.command(do.IssueStep(subtask_step("wo-001.0", LOOK)))
    history.fails(history.live[0], FailureClass.UNAVAILABLE)
    assert history.command(do.Settle("wo-001.0"))
    for args, status in (({"n": 2}, "failed"), (None, "pending")):
        history.write(ev.StepRequested(what="retry", by="ann", steps=("wo-001.0",), args=args))
        assert history.command(do.DecideRequest())
        assert history.state.steps["wo-001.0"].status == status


def test_a_plan_that_is_written_again_has_nothing_of_the_one_before_it_from_there_on():
    history = run()
    history.decide_all()
    (planning,) = history.live
    history.starts(planning)
    for index, value in ((0, "a"), (1, "b"), (2, "c"), (1, "d")):
        history.write(ev.ElementWritten(attempt=planning.attempt, index=index, value=value))

    assert history.live[0].written == ((0, "a"), (1, "d"))


LEAD = Worker(name="lead", tools=(ALL_TOOLS,), counts=True)
NARROW = Worker(name="narrow", tools=("look", "research", "make"), counts=True)
DECLARED = Worker(name="evaluator", instructions="Judge it.", tools=("look", "write"), declared=True)


def working(worker: Worker = LEAD) -> History:
    """A run of a project with a declared worker and a tool that makes workers, in which a lead is at work."""
    history = history_of(worker)
    run = history.state.definition
    make = ToolSpec(name="make", description="makes workers", parameters={"type": "object"}, toolset=DYNAMIC_WORKERS)
    history.state = replace(
        history.state,
        definition=run.evolve(tools=(*run.tools, make), workers=(worker, DECLARED)),
    )
    assigned(history, "a", worker.name)
    return history


def refusal(history: History, ask: DefineWorker | Delegate) -> str:
    """Return why an ask is refused."""
    (answered,) = decided(history, "a", ask)
    assert isinstance(answered, ev.CallAnswered)
    assert not answered.ok
    return answered.content


def test_a_declared_worker_can_be_called_with_the_tools_that_its_caller_has_too() -> None:
    history = working(NARROW)
    (issued,) = decided(history, "a", Delegate(worker="evaluator"), tool="research")
    assert isinstance(issued, ev.StepIssued)
    assert tools_of(history.state, issued.step) == {"look"}, "write is the worker's, and not its caller's"


def test_only_another_worker_keeps_the_tool_that_called_it() -> None:
    """A worker may call further workers with it, but neither itself nor a worker of the flow may."""
    history = working()
    wide = DECLARED.evolve(tools=(ALL_TOOLS,))
    history.state = replace(history.state, definition=history.state.definition.evolve(workers=(LEAD, wide)))
    (another,) = decided(history, "a", Delegate(worker="evaluator"), tool="research")
    assert isinstance(another, ev.StepIssued)
    assert "research" in tools_of(history.state, another.step)
    history.decide_all()
    (itself,) = decided(history, "a/t1/c0", Delegate(), tool="research")
    assert isinstance(itself, ev.StepIssued)
    assert itself.step.worker == "evaluator"
    assert "research" not in tools_of(history.state, itself.step)

    history = working()
    (no_worker,) = decided(history, "a", Delegate(), tool="research")
    assert isinstance(no_worker, ev.StepIssued)
    history = working()
    history.state = replace(
        history.state, definition=history.state.definition.evolve(workers=(LEAD, LEAD.evolve(name="other")))
    )
    (other,) = decided(history, "a", Delegate(worker="other"), tool="research")
    assert isinstance(other, ev.StepIssued)
    assert "research" not in tools_of(history.state, other.step)


def test_a_worker_without_a_list_of_tools_has_its_makers_but_cannot_make_workers() -> None:
    history = working()
    (defined, _) = decided(history, "a", DefineWorker(name="poet", instructions="Write."))
    assert isinstance(defined, ev.WorkerDefined)
    assert set(defined.worker.tools) == {tool.name for tool in history.state.definition.tools} - {"make"}


def test_a_worker_that_was_made_makes_no_workers() -> None:
    assert "make" in refusal(working(), DefineWorker(name="poet", instructions="Write.", tools=("make",)))


def test_a_maker_cannot_give_a_tool_that_it_lacks() -> None:
    wanted = DefineWorker(name="poet", instructions="Write.", tools=("write",))
    assert "write" in refusal(working(NARROW), wanted)


def test_a_worker_has_the_limits_of_its_maker() -> None:
    limits = {"max_turns": 3, "max_requests": 4, "max_tokens": 5_000, "budget": 0.5}
    (defined, _) = decided(working(LEAD.evolve(**limits)), "a", DefineWorker(name="poet", instructions="Write."))
    assert isinstance(defined, ev.WorkerDefined)
    assert defined.worker.limits == limits


def test_a_worker_cannot_take_the_name_of_a_declared_one() -> None:
    wanted = DefineWorker(name="evaluator", instructions="Write.")
    assert "'evaluator'" in refusal(working(), wanted)


def test_its_maker_can_define_a_worker_again() -> None:
    history = working()
    decided(history, "a", DefineWorker(name="poet", instructions="Write."))
    history.decide_all()
    (defined, _) = decided(history, "a", DefineWorker(name="poet", instructions="Write verse."), turn=2)
    assert isinstance(defined, ev.WorkerDefined)
    worker = history.state.worker("poet")
    assert worker is not None
    assert worker.instructions == "Write verse."


def test_another_worker_cannot_replace_it() -> None:
    history = working()
    decided(history, "a", DefineWorker(name="poet", instructions="Write."))
    assigned(history, "b", "lead")
    (answered,) = decided(history, "b", DefineWorker(name="poet", instructions="Steal."))
    assert isinstance(answered, ev.CallAnswered)
    assert (answered.ok, "'poet'" in answered.content) == (False, True)


@pytest.mark.parametrize("through", [["evaluator"], ["evaluator", "second"]])
def test_a_worker_cannot_call_itself_also_not_through_others(through: list[str]) -> None:
    history = working()
    wide = DECLARED.evolve(tools=(ALL_TOOLS,))
    history.state = replace(
        history.state,
        definition=history.state.definition.evolve(workers=(LEAD, wide, wide.evolve(name="second"))),
    )
    key = "a"
    for name in through:
        decided(history, key, Delegate(worker=name), tool="research")
        history.decide_all()
        key = f"{key}/t1/c0"
    (answered,) = decided(history, key, Delegate(worker="evaluator"), tool="research")
    assert isinstance(answered, ev.CallAnswered)
    assert "evaluator" in answered.content


def test_the_makers_of_workers_are_part_of_the_state() -> None:
    history = working()
    decided(history, "a", DefineWorker(name="poet", instructions="Write.", description="Writes verse."))
    assert history.state.makers == {"poet": "a"}
    assert history.state.workers["poet"].description == "Writes verse."
    assert history.state.is_worker("poet")
    assert history.state.is_worker("evaluator")
    assert not history.state.is_worker("lead")


@pytest.mark.parametrize("ask", [Delegate(worker="nobody"), Delegate(worker="poet")])
def test_a_worker_that_nobody_defined_cannot_be_called(ask: Delegate) -> None:
    assert repr(ask.worker) in refusal(working(), ask)
