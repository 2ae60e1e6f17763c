"""The class of a failure chooses what happens next; every loop ends."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.histories import History, failure
from core.own import current, history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.decide.attempts import (
    FIRST_DELAY_S,
    LONGEST_DELAY_S,
    backoff_s,
    retry_after_s,
)
from leadhand.core.errors import INTERRUPTED, Failure, FailureClass
from leadhand.core.limits import Limits
from leadhand.core.tool import ToolSpec
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.core.worker import Worker

LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object"}, retries=2)


def again(what: Failure, before: tuple[FailureClass, ...] = (), **more: Any) -> float | None:
    asked = {"key": "run_1/wo-001.0/a2", "limits": Limits(), "tool": LOOK, **more}
    return retry_after_s(what, before.count(what.class_), **asked)


@settings(max_examples=2 * settings().max_examples)
@given(st.integers(0, 60), st.text(max_size=40))
def test_the_delay_lies_between_half_and_the_whole_of_the_exponential_one(count: int, key: str):
    whole = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**count)

    assert 0.5 * whole <= backoff_s(count, key) <= whole
    assert backoff_s(count, key) == backoff_s(count, key)


def test_transient_failures_are_tried_again_as_often_as_the_tool_allows():
    transient = failure("transient")

    assert again(transient, (FailureClass.TRANSIENT,)) is not None
    assert again(transient, (FailureClass.TRANSIENT,) * 2) is None
    assert again(transient, (FailureClass.LOST, FailureClass.INVALID, FailureClass.RATE_LIMITED) * 2) is not None
    assert again(transient, tool=LOOK.evolve(retries=0)) is None
    assert again(transient, tool=None, limits=Limits(max_retries=0)) is None


KEY = "wo-001.0"


def looking() -> History:
    """A run in which a subtask looks, with a tool that has fewer retries than its run."""
    history = history_of(Worker(name="work", tools=("look",)))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a", tool="look", args={"n": 1}),))
    assert history.command(do.IssueOrder(order))
    assert (history.state.tools["look"].retries, history.state.definition.limits.max_retries) == (1, 2)
    return history


def test_only_failures_of_one_class_use_up_its_tries_and_a_tool_has_its_own():
    history = looking()
    for class_, type_ in (("lost", ""), ("transient", INTERRUPTED), ("lost", ""), ("transient", "")):
        history.fails(current(history, KEY), FailureClass(class_), type_)
        assert history.command(do.Settle(KEY))
        assert history.state.steps[KEY].status == "pending"
    history.fails(current(history, KEY), FailureClass.TRANSIENT)
    assert history.command(do.Settle(KEY))

    assert history.state.steps[KEY].status == "failed"


def test_rate_limits_do_not_count_as_failures():
    assert again(failure("rate_limited"), (FailureClass.RATE_LIMITED,) * 1_000) is not None


@pytest.mark.parametrize(
    "class_", ["unavailable", "rejected", "blocked", "too_large", "insufficient", "exhausted"], ids=str
)
def test_what_would_only_fail_again_is_never_tried_again(class_: str):
    assert again(failure(class_)) is None


@pytest.mark.parametrize("tool", ["write", "send"])
def test_a_new_attempt_never_goes_silently_past_a_call_with_an_effect(tool: str):
    assert retried(failure("invalid", "unproven"), tool=tool).continues == "wo-001.0/a1"


def retried(what: Failure, tool: str = "look") -> ev.AttemptScheduled:
    """The attempt after one that called its tool, and failed."""
    history = History()
    subtask = Subtask(name="a", tool=tool, args={"n": 1})
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=(subtask,))))
    history.decide_all()
    attempt = history.state.steps["wo-001.0"].attempt
    assert attempt is not None
    history.starts(attempt)
    history.calls_tool(attempt, history.state.tools[tool], ok=True)
    history.returns(attempt, failure=what)
    history.command(do.Settle("wo-001.0"))
    event = history.log[-1].event
    assert isinstance(event, ev.AttemptScheduled)
    return event
