"""What a lead says is a proposal: what is wrong with it is found by code, and told back in one sentence each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.histories import History, definition
from leadhand.core import decide as do
from leadhand.core.errors import Failure
from leadhand.core.outcome import unproven_call
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.flows.seam.results import Result
from leadhand.flows.work_order.planning import plan_problems
from leadhand.flows.work_order.reviewing import review_problems
from leadhand.flows.work_order.work import Work


def over(*oks: bool) -> History:
    """A history of one order whose subtasks came back, as well or badly as said; review is next."""
    history = History()
    subtasks = tuple(Subtask(name=f"s{number}", tool="look", args={"n": 1}) for number in range(len(oks)))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks)))
    history.decide_all()
    working = [each for each in history.live if history.worker(each) == "work"]
    for attempt, ok in zip(working, oks, strict=True):
        history.works(attempt) if ok else history.fails(attempt, "unavailable")  # pyright: ignore[reportArgumentType]
    for key in list(history.state.unsettled):
        history.command(do.Settle(step=key))
    return history


def problems(history: History, review: Any) -> list[str]:
    keys = history.state.orders["wo-001"].order.subtask_keys
    run: Any = SimpleNamespace(state=history.state)
    work, results = Work(run), [Result(history.state.steps[key]) for key in keys]
    work.carried_out("wo-001", results)
    return review_problems(work, results, review, whole=True)


OVER = over(True)
ACCEPT = {"subtask": "wo-001.0", "verdict": "accept"}


@pytest.mark.parametrize(
    ("review", "named"),
    [
        (None, ()),
        ({"verdicts": [], "complete": False}, ("complete",)),
        ({"verdicts": [ACCEPT, ACCEPT], "complete": True}, ("wo-001.0",)),
        ({"verdicts": [ACCEPT, {**ACCEPT, "subtask": "wo-001.9"}], "complete": True}, ("wo-001.9",)),
        ({"verdicts": [{**ACCEPT, "verdict": "splendid"}], "complete": True}, ("verdict",)),
        ({"verdicts": [{**ACCEPT, "verdict": "replan"}], "complete": False}, ("wo-001.0", "replacement")),
        (
            {
                "verdicts": [{**ACCEPT, "verdict": "replan", "replacement": {"name": "a", "tool": "fly"}}],
                "complete": False,
            },
            ("'fly'",),
        ),
        (
            {
                "verdicts": [{**ACCEPT, "verdict": "replan", "replacement": {"name": "a", "needs": ["wo-001.0"]}}],
                "complete": False,
            },
            ("wo-001.0",),
        ),
        ({"verdicts": [ACCEPT], "complete": False, "missing": [{"name": "m", "tool": "look"}]}, ("lacks n",)),
        ({"verdicts": [ACCEPT], "complete": False}, ("complete",)),
    ],
)
def test_a_review_that_cannot_be_acted_on_has_one_problem_that_names_its_cause(review: Any, named: tuple[str, ...]):
    (problem,) = problems(over(True), review)
    assert all(each in problem for each in named)


def test_a_failed_subtask_cannot_be_accepted():
    (problem,) = problems(over(False), {"verdicts": [ACCEPT], "complete": True})
    assert "wo-001.0" in problem


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        ({"goal": "it", "subtasks": []}, "subtasks"),
        ({"goal": "", "subtasks": [{"name": "a"}]}, "goal"),
        ({"goal": "it", "subtasks": [{"name": "a", "tool": "fly"}]}, "'fly'"),
        ({"goal": "it", "subtasks": [{"name": "a", "needs": [1]}, {"name": "b", "needs": [0]}]}, "cycle"),
        ({"goal": "it", "subtasks": [{"name": "a"}], "steps": 3}, "steps"),
        ({"answer": "4", "question": "where?"}, "question"),
        ({"answer": "4", "subtasks": [{"name": "a"}]}, "answer"),
        ({"question": " "}, "empty"),
        ("a plan in words", ""),
        ([], ""),
    ],
)
def test_a_plan_that_cannot_be_acted_on_has_a_problem_that_names_its_cause(plan: Any, named: str):
    assert any(named in each for each in plan_problems(definition(), (), plan))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["goal", "subtasks", "name", "needs", "args", "verdicts", "missing", "tool"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=2 * settings().max_examples)
@given(_JSON)
def test_whatever_a_lead_says_is_judged_and_never_breaks_anything(said: Any):
    for found in (plan_problems(definition(), (), said), problems(OVER, said)):
        assert all(isinstance(fault, str) and fault for fault in found)


# --- evidence --------------------------------------------------------------------------------------------------------


def unproven(*calls: tuple[str, bool], tool: str | None = "look") -> Failure | None:
    """What the gate finds wrong with a result, after calls of tools with or without success."""
    history = History()
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a", tool=tool, args={"n": 1}),))
    history.command(do.IssueOrder(order=order))
    history.decide_all()
    attempt = history.live[0]
    for position, (name, ok) in enumerate(calls):
        history.calls_tool(attempt, history.state.tools[name], ok=ok, position=position)
    step = history.state.steps["wo-001.0"]
    return unproven_call(step.subtask, step.evidence)


@pytest.mark.parametrize(
    ("calls", "class_", "named"),
    [
        ((), "invalid", "look"),
        ((("write", True),), "invalid", "look"),
        ((("look", False),), "transient", "it did not work"),
    ],
)
def test_a_claim_that_the_log_does_not_show_does_not_count(
    calls: tuple[tuple[str, bool], ...], class_: str, named: str
):
    failure = unproven(*calls)
    assert failure is not None
    assert failure.class_ == class_
    assert named in failure.message
