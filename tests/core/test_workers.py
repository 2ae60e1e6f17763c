"""Workers that are defined during a run have no more rights than their maker, and none calls itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.histories import History
from core.own import assigned, comes_back, decided, history_of
from leadhand.core import events as ev
from leadhand.core.relations import tools_of
from leadhand.core.tool import DYNAMIC_WORKERS, DefineWorker, Delegate, ToolSpec
from leadhand.core.work_result import ResultData
from leadhand.core.worker import ALL_TOOLS, Worker

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


def test_a_call_of_a_worker_returns_what_it_answered() -> None:
    history = working()
    decided(history, "a", Delegate(worker="evaluator"), tool="research")
    comes_back(history, "a/t1/c0", ResultData(summary="a good deck"))
    history.decide_all()
    assert history.state.steps["a"].evidence[0].summary == "a good deck"


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
