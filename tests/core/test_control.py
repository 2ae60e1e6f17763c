"""What is paused, waits or has no time left begins nothing; what ends loses nothing that is there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.histories import NOON, History, failure
from core.own import Commanded, asks, assigned, current, decided, history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.approval import Approval, Question, args_hash
from leadhand.core.decide import due, run_out, when_idle
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
from leadhand.core.limits import LONGEST_WAIT_S, Limits, Money
from leadhand.core.run import RunStatus
from leadhand.core.state import AttemptState
from leadhand.core.tool import Delegate, Effect, SetTodos, ToolSpec
from leadhand.core.work_order import Step, Subtask, WorkOrder
from leadhand.core.work_result import ResultData
from leadhand.core.worker import ALL_TOOLS, Worker

LEAD = Worker(name="lead", tools=(ALL_TOOLS,), counts=True)
HELPER = Worker(name="helper", tools=(ALL_TOOLS,))
MANAGER = Worker(name="manager", tools=(ALL_TOOLS,), delegates=("helper",))
GO_ON, PAUSE, WAIT = do.SetStatus(), do.SetStatus(RunStatus.PAUSED), do.SetStatus(RunStatus.WAITING)


def at_work(*keys: str, **more: Any) -> History:
    """A run with these steps at work."""
    history = History(
        history_of(LEAD, HELPER, MANAGER, timeout=100).state.definition.evolve(**more), policy=Commanded()
    )
    for key in keys:
        assigned(history, key, "lead")
    return history


def parked(history: History, key: str) -> None:
    """A step waits for a person, who was asked."""
    history.parks(current(history, key), ["approval"])
    (call,) = parked_at(history, key).open_calls
    attempt = parked_at(history, key).attempt
    asked = Approval(approval_id=call.call_id, attempt=attempt, tool="send", args=call.args, effect=Effect.ONCE)
    assert history.command(do.Ask(asked))


def parked_at(history: History, key: str) -> AttemptState:
    attempt = history.state.steps[key].attempt
    assert attempt is not None
    return attempt


def ends_with_time(history: History) -> set[str]:
    """The steps that end when the time for work is used up."""
    return {each.step for each in run_out(history.state) if isinstance(each, do.Conclude)}


def plan() -> Approval:
    return Approval(approval_id="p", kind="plan", attempt="", tool="", args={}, effect=Effect.PURE)


# --- pausing and waiting ---------------------------------------------------------------------------------------------


def test_a_paused_run_judges_what_comes_back_and_begins_and_answers_nothing_until_it_is_resumed():
    history = at_work("a", "b", "c")
    call_id = asks(history, "a", SetTodos(todos=()))
    parked(history, "b")
    history.answers_all(parked_at(history, "b"))
    assert history.command(PAUSE)
    history.returns(current(history, "c"), data=ResultData(summary="done"))

    assert due(history.state) == [do.Settle("c")]
    assert history.command(do.Settle("c"))
    assert due(history.state) == []
    history.write(ev.RunRequested(what="resume", by="me"))
    assert due(history.state) == [GO_ON]
    assert history.command(GO_ON)
    assert due(history.state) == [do.Answer(call_id), do.Start("b")]


def test_a_run_that_is_to_pause_judges_what_came_back_and_begins_nothing():
    history = at_work("a", "b")
    parked(history, "a")
    history.answers_all(parked_at(history, "a"))
    history.returns(current(history, "b"), data=ResultData(summary="done"))
    history.write(ev.RunRequested(what="pause", by="me", reason="lunch"))

    assert due(history.state) == [do.Settle("b"), do.SetStatus(RunStatus.PAUSED, "lunch")]


def test_a_resume_of_a_run_that_goes_on_does_not_end_a_later_pause():
    history = at_work("a")
    history.write(ev.RunRequested(what="resume", by="me"), ev.RunRequested(what="pause", by="me"))
    history.decide_all()

    assert history.state.status is RunStatus.PAUSED


def test_a_run_waits_for_each_of_its_questions_and_goes_on_when_something_is_settled():
    history = at_work("a", "b")
    parked(history, "a")
    parked(history, "b")
    assert [type(each) for each in when_idle(history.state)] == [do.SetStatus]
    assert history.command(WAIT)
    assert due(history.state) == []
    history.write(ev.StepSettled(step="a", ok=False, failure=failure("rejected"), by="ann"))

    assert due(history.state) == [GO_ON], "its flow has not seen what was settled"


@pytest.mark.parametrize("asked", [plan(), Question(id="q", text="where?")])
def test_a_run_waits_for_the_answer_to_a_question_and_goes_on_with_it(asked: Approval | Question):
    history = at_work()
    assert history.command(do.Ask(asked))
    (wait,) = when_idle(history.state)
    assert isinstance(wait, do.SetStatus)
    assert wait.status is RunStatus.WAITING
    assert history.command(wait)
    assert due(history.state) == []
    history.write(
        ev.QuestionAnswered(question_id="q", text="here", by="ann")
        if isinstance(asked, Question)
        else ev.ApprovalAnswered(approval_id="p", approve=True, args_hash=args_hash(asked.args), by="ann")
    )

    assert due(history.state) == [GO_ON]


@pytest.mark.parametrize("kind", ["timer", "signal"])
def test_a_run_that_waits_for_the_time_or_for_a_signal_has_not_come_to_nothing(kind: str):
    history = at_work()
    assert history.command(do.Ask(Question.model_validate({"id": "q", "text": "x", "kind": kind})))

    assert when_idle(history.state) == []


def test_a_signal_that_came_before_it_was_waited_for_answers_one_question():
    history = at_work()
    history.write(*(ev.SignalSent(name="x", value=number, by="ann") for number in (1, 2)))
    for name in ("p", "q", "r"):
        assert history.command(do.Ask(Question(id=name, text="x", kind="signal")))

    assert [each.reply for each in history.state.questions.values()] == ["1", "2", None]


def test_a_run_comes_to_nothing_only_when_all_is_judged_and_at_most_what_is_held_back_is_left():
    history = at_work("a")
    assert when_idle(history.state) == []
    assert [type(each) for each in when_idle(history.state, held=1)] == [do.End]
    history.returns(current(history, "a"), data=ResultData(summary="done"))

    assert when_idle(history.state) == []


# --- the end ---------------------------------------------------------------------------------------------------------


def test_a_run_that_ends_keeps_what_came_back_and_ends_all_else():
    history = at_work("a", "b", "c")
    assert history.command(do.IssueStep(Step(step_id="f", worker="lead", kind="flow")))
    history.returns(current(history, "a"), data=ResultData(summary="a hill"))
    history.parks(current(history, "b"), ["effect"])
    history.write(ev.RunRequested(what="cancel", by="me"))
    stop = due(history.state)[0]
    assert history.command(stop)

    finished, steps = history.state.finished, history.state.steps
    assert finished is not None
    assert {key: each.status for key, each in steps.items()} == {
        "a": "completed",
        "b": "failed",
        "c": "failed",
        "f": "failed",
    }
    assert sorted(gap.step or "" for gap in finished.gaps) == ["b", "c"]


def test_an_attempt_that_ends_while_it_works_is_lost_and_what_it_reserved_is_spent():
    history = at_work("a")
    assert history.asks_model(current(history, "a"), Money(requests=1, tokens=100, nanousd=10))
    assert history.command(do.Conclude("a", failure("exhausted", "time")))

    assert (history.state.reserved, history.state.spent) == ({}, Money(requests=1, tokens=100, nanousd=10))
    returned = [entry.event for entry in history.log if isinstance(entry.event, ev.AttemptReturned)]
    assert [(each.attempt, each.lost) for each in returned] == [("a/a1", True)]


# --- the time that is left -------------------------------------------------------------------------------------------


def test_the_time_for_work_ends_what_works_and_neither_the_answer_nor_what_waits_for_others():
    history = at_work("a", "b", "c", "d")
    assert history.command(do.IssueOrder(WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="s"),))))
    parked(history, "b")
    asks(history, "c", SetTodos(todos=()))
    decided(history, "d", Delegate(worker="helper"), tool="research")
    assigned(history, "answer", "lead", kind="ask", final=True)
    decided(history, "answer", Delegate(worker="helper"), tool="research")
    assigned(history, "manager", "manager")
    assigned(history, "helper", "helper")

    ended = {"a", "c", "d/t1/c0", "manager", "wo-001.0"}
    assert ends_with_time(history) == ended
    history.answers_all(parked_at(history, "b"))
    assert ends_with_time(history) == {*ended, "b"}


@pytest.mark.parametrize(
    ("wait_s", "work", "answer"), [(59, "pending", "pending"), (60, "failed", "pending"), (100, "failed", "failed")]
)
def test_work_is_tried_again_only_in_the_time_for_work_and_the_answer_in_all_of_it(wait_s: int, work: str, answer: str):
    history = at_work("a", held_back_s=40)
    assigned(history, "answer", "lead", kind="ask", final=True)
    for key in ("a", "answer"):
        history.returns(current(history, key), failure=failure("rate_limited").evolve(retry_after_s=float(wait_s)))
        assert history.command(do.Settle(key))

    assert (history.state.steps["a"].status, history.state.steps["answer"].status) == (work, answer)


@pytest.mark.parametrize("kind", ["timer", "person"])
@pytest.mark.parametrize("beside", ["nothing", "work", "approval"])
def test_time_counts_unless_all_of_a_run_waits_for_a_timer(kind: str, beside: str):
    history = at_work(*["a"] * (beside != "nothing"))
    if beside == "approval":
        parked(history, "a")
    assert history.command(do.Ask(Question.model_validate({"id": "q", "text": "x", "kind": kind})))
    history.now += timedelta(seconds=30)
    assert history.command(do.SetStatus(slept_s=10))
    history.now += timedelta(seconds=30)
    history.write(ev.QuestionAnswered(question_id="q", text="", by="ann"))

    rested = 60 if kind == "timer" and beside == "nothing" else 10
    assert history.state.deadline == NOON + timedelta(seconds=100 + rested), "sleep was not counted, or counted twice"


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


def test_a_next_group_begins_when_all_of_the_group_before_it_is_settled():
    history = at_work(limits=at_work().state.definition.limits.evolve(batch_size=1))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=(Subtask(name="a"), Subtask(name="b")))
    assert history.command(do.IssueOrder(order))
    assert due(history.state) == [do.Start("wo-001.0")]
    assert history.command(do.Start("wo-001.0"))
    parked(history, "wo-001.0")

    assert due(history.state) == []
