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
    CUT,
    FIRST_DELAY_S,
    LONGEST_DELAY_S,
    MAX_LOSSES,
    REPAIRABLE,
    backoff_s,
    retry_after_s,
)
from leadhand.core.errors import AWAY, INTERRUPTED, Failure, FailureClass
from leadhand.core.limits import LONGEST_WAIT_S, Limits
from leadhand.core.tool import ToolSpec
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.core.worker import Worker

LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object"}, retries=2)
CLASSES = st.sampled_from(list(FailureClass))


def again(what: Failure, before: tuple[FailureClass, ...] = (), **more: Any) -> float | None:
    asked = {"key": "run_1/wo-001.0/a2", "limits": Limits(), "tool": LOOK, **more}
    return retry_after_s(what, before.count(what.class_), **asked)


@settings(max_examples=2 * settings().max_examples)
@given(st.integers(0, 60), st.text(max_size=40))
def test_the_delay_lies_between_half_and_the_whole_of_the_exponential_one(count: int, key: str):
    whole = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**count)

    assert 0.5 * whole <= backoff_s(count, key) <= whole
    assert backoff_s(count, key) == backoff_s(count, key)


@given(CLASSES.filter(lambda class_: class_ is not FailureClass.RATE_LIMITED), st.sampled_from(["x", *REPAIRABLE]))
def test_every_class_but_rate_limited_is_given_up_after_a_fixed_number_of_failures(class_: FailureClass, type_: str):
    before: tuple[FailureClass, ...] = ()
    while again(failure(class_, type_), before) is not None:
        before = (*before, class_)
        assert len(before) <= max(LOOK.retries, Limits().max_repairs, MAX_LOSSES)


def test_transient_failures_are_tried_again_as_often_as_the_tool_allows():
    transient = failure("transient")

    assert again(transient, (FailureClass.TRANSIENT,)) is not None
    assert again(transient, (FailureClass.TRANSIENT,) * 2) is None
    assert again(transient, (FailureClass.LOST, FailureClass.INVALID, FailureClass.RATE_LIMITED) * 2) is not None
    assert again(transient, tool=LOOK.evolve(retries=0)) is None
    assert again(transient, tool=None, limits=Limits(max_retries=0)) is None


def test_a_model_that_is_away_for_longer_than_its_calls_wait_is_not_asked_again():
    assert again(failure("transient", AWAY)) is None


def test_lost_and_malformed_answers_are_tried_again_as_often_as_their_limits_allow():
    for class_, most in ((FailureClass.LOST, MAX_LOSSES), (FailureClass.INVALID, Limits().max_repairs)):
        assert again(failure(class_, CUT), (class_,) * (most - 1)) is not None
        assert again(failure(class_, CUT), (class_,) * most) is None


def test_a_service_may_ask_for_a_wait_and_for_no_longer_one_than_the_longest():
    limited = failure("rate_limited")

    assert again(limited.evolve(retry_after_s=3_600.0)) == 3_600
    assert again(limited.evolve(retry_after_s=2 * LONGEST_WAIT_S)) == LONGEST_WAIT_S


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


def test_only_the_attempt_that_runs_can_be_given_up():
    history = looking()
    history.fails(current(history, KEY), FailureClass.LOST)
    assert not history.command(do.Lose(f"{KEY}/a1", failure("lost"))), "it has returned"
    assert history.command(do.Settle(KEY))

    assert current(history, KEY).attempt == f"{KEY}/a2"
    assert not history.command(do.Lose(f"{KEY}/a1", failure("lost")))


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
