"""What people want of steps is granted or declined with a reason, and never repeats anything behind their backs."""

from __future__ import annotations

from typing import Any

import pytest

from core.histories import History, failure
from core.own import assigned, current, decided, history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.approval import Approval, Question
from leadhand.core.decide import due
from leadhand.core.decide.requests import repeated, why_refused
from leadhand.core.errors import FailureClass
from leadhand.core.ids import question_id
from leadhand.core.limits import Money
from leadhand.core.outcome import FlowAnswer
from leadhand.core.tool import Delegate, Effect
from leadhand.core.words.failures import needs_failed
from leadhand.core.work_order import OpenCall, Subtask, WorkOrder
from leadhand.core.work_result import Review
from leadhand.core.worker import ALL_TOOLS, Worker

LEAD = Worker(name="lead", tools=(ALL_TOOLS,), counts=True)
HELPER = Worker(name="helper", tools=(ALL_TOOLS,))
WORK = Worker(name="work", tools=(ALL_TOOLS,), counts=True)
CHILD = "answer/t1/c0"
A, B, C, D = (f"wo-001.{number}" for number in range(4))


def ordered(*subtasks: Subtask) -> History:
    """A run whose subtasks have begun where they may."""
    history = history_of(LEAD, HELPER, WORK)
    assert history.command(do.IssueOrder(WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks)))
    history.commands([do.Start(key) for key in history.state.ready])
    return history


def ends(history: History, key: str, *, ok: bool = False, type_: str = "made_up") -> None:
    """A step comes back, well or badly, and is settled."""
    attempt = current(history, key)
    if ok:
        history.works(attempt)
    else:
        history.fails(attempt, FailureClass.EXHAUSTED, type_)
    assert history.command(do.Settle(key))


def acts(history: History, key: str) -> None:
    """A step makes a call that cannot be taken back, and fails after it."""
    history.calls_tool(current(history, key), history.state.tools["send"], ok=True)
    ends(history, key)


def gives_up(history: History, *keys: str) -> None:
    for key in keys:
        assert history.command(do.Conclude(key, needs_failed(history.state.blocked[key])))


def wants(history: History, what: str, *steps: str, by: str = "ann", **more: Any) -> str:
    """Somebody wants something of steps. Return why it is declined, "" if it is granted."""
    history.write(ev.StepRequested.model_validate({"what": what, "by": by, "steps": steps, **more}))
    assert due(history.state) == [do.DecideRequest()]
    assert history.command(do.DecideRequest())
    event = history.log[-1].event
    return event.declined if isinstance(event, ev.RequestDecided) else ""


def statuses(history: History, *keys: str) -> list[str]:
    return [history.state.steps[key].status for key in keys]


# --- doing it again --------------------------------------------------------------------------------------------------


def failed() -> History:
    """A run in which one subtask is done, one failed with two that it blocked, and one failed after it had acted."""
    send = Subtask(name="d", tool="send")
    history = ordered(
        Subtask(name="a"), Subtask(name="b"), send, Subtask(name="c", needs=(B,)), Subtask(name="e", needs=(D,))
    )
    ends(history, A, ok=True)
    ends(history, B)
    acts(history, C)
    gives_up(history, D, "wo-001.4")
    return history


def test_what_a_child_did_for_good_is_repeated_with_its_parent_only_if_that_is_confirmed():
    history = history_of(LEAD, HELPER)
    assigned(history, "a", "lead")
    decided(history, "a", Delegate(worker="helper"), tool="research")
    decided(history, "a/t1/c0", Delegate(worker="helper"), tool="research")
    acts(history, "a/t1/c0/t1/c0")
    for key in ("a/t1/c0", "a"):
        history.decide_all()
        ends(history, key)

    assert wants(history, "retry", "a")
    assert wants(history, "retry", "a", confirmed=True) == ""
    assert history.state.steps["a"].by_hand == "ann"


def test_what_is_repeated_is_carried_out_by_its_worker_of_today_and_nothing_else_is():
    history = failed()
    history.write(ev.StepRequested(what="retry", by="ann", steps=(B,)))
    today = {key: WORK.evolve(name=f"today {number}") for number, key in enumerate((B, C))}
    assert history.command(do.DecideRequest(today))

    assert [history.state.steps[key].step.worker for key in (B, C)] == ["today 0", "work"]
    assert [*history.state.workers] == ["today 0"]


def test_what_was_replaced_is_not_repeated():
    history = failed()
    repair = WorkOrder(work_order_id="wo-002", goal="it", subtasks=(Subtask(name="b", repairs_subtask=B),))
    assert history.command(do.IssueOrder(repair))

    assert repeated(history.state) == []
    assert "wo-002.0" in wants(history, "retry", B)


def test_what_was_blocked_and_replaced_is_not_repeated_with_what_it_needed():
    history = failed()
    repair = WorkOrder(work_order_id="wo-002", goal="it", subtasks=(Subtask(name="d", repairs_subtask=D),))
    assert history.command(do.IssueOrder(repair))
    assert wants(history, "retry", B) == ""

    assert statuses(history, B, D) == ["pending", "failed"]


def test_thoughts_and_what_they_asked_for_are_repeated_only_by_themselves_and_once_the_run_is_over():
    history = ordered(Subtask(name="a"))
    ends(history, A, ok=True)
    assigned(history, "thought", "helper")
    decided(history, "thought", Delegate(worker="helper"), tool="research")
    ends(history, "thought/t1/c0", type_="time")
    assert history.command(do.Answer("thought/t1/c0"))
    assert history.command(do.Start("thought"))
    ends(history, "thought", type_="time")
    assert repeated(history.state) == []
    assert history.command(do.End())

    assert repeated(history.state) == ["thought"]


def test_a_run_keeps_every_answer_that_it_has_given():
    history = failed()
    for number in range(3):
        assert history.command(do.End())
        assert len(history.state.answers) == number
        assert wants(history, "retry", B) == ""
        assert history.command(do.Start(B))
        ends(history, B)


def test_requests_are_decided_one_by_one_and_a_declined_one_changes_nothing():
    history = failed()
    history.write(
        *(ev.StepRequested(what="retry", by="ann", steps=(key,)) for key in (A, C)),
        ev.StepRequested(what="skip", by="ann", steps=(B,)),
    )
    assert history.command(do.DecideRequest())
    assert [each.steps for each in history.state.pending_requests] == [(C,), (B,)]
    assert statuses(history, A) == ["pending"], "nobody has accepted it"
    assert history.command(do.DecideRequest())
    assert statuses(history, C) == ["failed"]
    history.write(ev.StepSettled(step=A, ok=False, failure=failure("rejected"), by="bob"))
    assert [each.steps for each in history.state.pending_requests] == [(B,)], "that was about another step"
    assert history.command(do.DecideRequest())

    assert statuses(history, B) == ["dropped"]


def test_other_arguments_begin_afresh_by_hand_and_need_only_what_they_refer_to():
    refers = {"n": {"$result": {"subtask": A, "path": "/raw/n"}}}
    history = ordered(
        Subtask(name="a"), Subtask(name="b"), Subtask(name="c", args=refers, needs=(A, B)), Subtask(name="d")
    )
    for key in (A, B, D):
        ends(history, key, ok=True)
    assert history.command(do.Start(C))
    ends(history, C)
    assert D in wants(history, "retry", C, args={"n": {"$result": {"subtask": D, "path": "/raw/n"}}})
    assert wants(history, "retry", C, args={"n": 2}) == ""

    again = history.state.steps[C]
    assert (again.step.needs, again.subtask.needs, again.subtask.args, again.by_hand) == ((B,), (B,), {"n": 2}, "ann")


# --- what a limit stopped --------------------------------------------------------------------------------------------


def stopped(type_: str) -> History:
    """An answer that the time of its run stopped while a child worked for it, which was stopped before."""
    history = history_of(LEAD, HELPER)
    assigned(history, "answer", "lead", final=True)
    call_id = history.asks_model(current(history, "answer"), Money(requests=1, tokens=100, nanousd=10))
    assert call_id == "answer/t1"
    history.model_answers("answer/a1", call_id, None, text="hm")
    decided(history, "answer", Delegate(worker="helper"), tool="research")
    ends(history, CHILD, type_=type_)
    assert history.command(do.End(FlowAnswer(failure=failure("exhausted", "time"))))
    return history


def test_what_a_limit_stopped_goes_on_where_it_was_with_its_children():
    history = stopped("time")
    assert wants(history, "retry") == ""

    assert statuses(history, "answer", CHILD) == ["pending", "pending"]
    for key in (CHILD, "answer"):
        assert history.command(do.Start(key))
        attempt = history.state.steps[key].attempt
        assert attempt is not None
        assert (attempt.attempt, attempt.continues) == (f"{key}/a2", f"{key}/a1")


def test_a_child_that_used_up_its_turns_does_not_go_on():
    history = stopped("max_turns")
    assert wants(history, "retry") == ""

    assert statuses(history, "answer", CHILD) == ["pending", "failed"]


def test_what_a_limit_stopped_begins_afresh_with_other_arguments():
    history = stopped("time")
    assert wants(history, "retry", "answer", args={"n": 2}) == ""
    assert history.command(do.Start("answer"))

    again = history.state.steps["answer"].attempt
    assert again is not None
    assert again.continues is None


def test_what_nobody_approved_before_the_run_ended_is_not_open_when_it_is_reopened():
    history = ordered(Subtask(name="a"), Subtask(name="b"))
    attempt, call_id = current(history, A).attempt, f"{A}/t1/c0"
    history.parks(current(history, A), ["approval"])
    asked = Approval(approval_id=call_id, attempt=attempt, tool="send", args={"n": 0}, effect=Effect.ONCE)
    assert history.command(do.Ask(asked))
    ends(history, B)
    assert history.command(do.End())
    assert wants(history, "retry", B) == ""

    assert (history.state.approvals[call_id].status, history.state.asking) == ("expired", {})
    assert wants(history, "supply", A, summary="three", may_approve=False) == ""


# --- leaving out and supplying ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["skip", "supply"])
def test_what_is_done_stays_and_what_runs_itself_or_by_a_child_is_left_alone(what: str):
    history = ordered(Subtask(name="a"), Subtask(name="b"), Subtask(name="c"))
    ends(history, A, ok=True)
    current(history, B)
    decided(history, C, Delegate(worker="helper"), tool="research")
    current(history, f"{C}/t1/c0")

    assert all(wants(history, what, key, summary="I know") for key in (A, B, C))
    assert statuses(history, A, B, C) == ["completed", "running", "waiting"]


def test_what_ran_when_its_process_died_may_be_settled_while_the_run_rests():
    history = ordered(Subtask(name="a"))
    current(history, A)
    skip = ev.StepRequested(what="skip", by="ann", steps=(A,))

    assert why_refused(history.state, skip)
    assert why_refused(history.state, skip, resting=True) == ""


def test_what_was_left_out_is_left_out_once_and_may_be_supplied():
    history = failed()
    assert wants(history, "skip", B) == ""
    assert statuses(history, B, D) == ["dropped", "failed"]
    assert wants(history, "skip", B)

    assert wants(history, "supply", B, summary="three") == ""


@pytest.mark.parametrize("kind", ["approval", "question"])
@pytest.mark.parametrize("first", ["asked", "skipped"])
def test_nobody_is_asked_for_a_step_that_was_left_out(kind: str, first: str):
    history = ordered(Subtask(name="a"))
    attempt, call_id = current(history, A).attempt, f"{A}/t1/c0"
    open_call = OpenCall(call_id=call_id if kind == "approval" else question_id(call_id, 1), kind=kind, tool="send")
    history.write(ev.AttemptParked(attempt=attempt, open_calls=(open_call,)))
    approval = Approval(approval_id=call_id, attempt=attempt, tool="send", args={}, effect=Effect.ONCE)
    ask = do.Ask(approval if kind == "approval" else Question(id=open_call.call_id, text="which one?"))
    if first == "asked":
        assert history.command(ask)
    assert wants(history, "skip", A) == ""

    assert (first == "asked") or not history.command(ask)
    assert (history.state.asking, history.state.unanswered) == ({}, {})


@pytest.mark.parametrize("may_approve", [True, False])
@pytest.mark.parametrize("key", [A, f"{A}/t1/c0"])
def test_nobody_supplies_what_waits_for_approval_without_the_right_to_approve(key: str, may_approve: bool):
    history = ordered(Subtask(name="a"))
    if key != A:
        decided(history, A, Delegate(worker="helper"), tool="research")
    attempt = current(history, key)
    history.parks(attempt, ["approval"])
    wanted = Approval(
        approval_id=f"{key}/t1/c0", attempt=attempt.attempt, tool="send", args={"n": 0}, effect=Effect.ONCE
    )
    assert history.command(do.Ask(wanted))

    assert bool(wants(history, "supply", A, summary="I know", may_approve=may_approve)) is not may_approve
    assert bool(history.state.asking) is not may_approve


def test_what_a_person_supplies_for_a_subtask_with_a_schema_is_its_value():
    history = ordered(Subtask(name="a", expected_output={"type": "object"}))
    ends(history, A)
    assert wants(history, "supply", A, raw={"n": 3}) == ""

    data = history.state.steps[A].data
    assert data is not None
    assert data.value == {"n": 3}


def test_a_review_does_not_overrule_a_person():
    history = ordered(Subtask(name="a"), Subtask(name="b"))
    ends(history, A)
    ends(history, B, ok=True)
    assert wants(history, "supply", A, summary="three") == ""
    verdicts = [{"subtask": key, "verdict": "drop", "reason": "no"} for key in (A, B)]
    review = Review.model_validate({"verdicts": verdicts, "complete": True})
    assert history.command(do.Judge(work_order_id="wo-001", review=review))

    assert statuses(history, A, B) == ["completed", "dropped"]
    recorded = history.state.orders["wo-001"].review
    assert recorded is not None
    assert [each.verdict for each in recorded.verdicts] == ["accept", "drop"]
