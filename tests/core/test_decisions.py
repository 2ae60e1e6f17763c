"""A command happens or is refused; nothing is half done, and nothing is decided behind anybody's back."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given

from core.histories import NOON, History, decided, definition, failure
from core.invariants import differences
from core.moves import histories
from core.own import history_of
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.decide import due
from leadhand.core.errors import FailureClass, Refused
from leadhand.core.limits import Money, Usage
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.tool import Effect
from leadhand.core.words.failures import needs_failed
from leadhand.core.work_order import Step, Subtask, WorkOrder
from leadhand.core.work_result import ResultData, Review
from leadhand.flows.work_order.roles import RoleName


def ordered(*subtasks: Subtask, **limits: int) -> History:
    """A history in which an order was just issued."""
    history = History(definition(**limits))
    order = WorkOrder(work_order_id="wo-001", goal="it", subtasks=subtasks or (Subtask(name="a"),))
    assert history.command(do.IssueOrder(order=order))
    return history


def handed_out(*subtasks: Subtask, **limits: int) -> History:
    """A history in which every subtask that may start has started."""
    history = ordered(*subtasks, **limits)
    for attempt in history.live:
        history.starts(attempt)
    return history


def settled(history: History, *oks: bool) -> History:
    """Every attempt returns, as well or badly as said, and is settled."""
    for attempt, ok in zip(history.live, oks, strict=True):
        if ok:
            history.works(attempt)
        else:
            history.fails(attempt, FailureClass.UNAVAILABLE)
        assert history.command(do.Settle(step=attempt.attempt.rpartition("/a")[0]))
    return history


@given(histories())
def test_deciding_changes_nothing_by_itself(history: History):
    before = copy.deepcopy(history.state)
    following = history.policy.next(history.state) if history.state.finished is None else []
    wanted = [*due(history.state), *following, do.SetStatus(RunStatus.PAUSED), do.End()]
    for command in wanted:
        try:
            first = decided(history.state, command, history.now, history.policy)
        except Refused:
            continue
        again = decided(history.state, command, history.now, history.policy)
        assert again == first, "the same state decided differently"
    assert differences(history.state, before) == {}


@pytest.mark.parametrize(
    "command",
    [
        do.Settle(step="wo-009.0"),
        do.Conclude(step="wo-009.0", failure=needs_failed("wo-009.1")),
        do.Start(step="wo-009.0"),
        do.Answer("plan/t0/c0"),
        do.Answer("wo-009.0/t0/c0"),
        do.Lose(attempt="wo-009.0/a1", failure=failure("lost")),
        do.Judge(work_order_id="wo-009", review=Review(verdicts=(), complete=True)),
    ],
    ids=lambda command: type(command).__name__,
)
def test_a_command_about_something_that_is_not_there_is_refused(command: do.Command):
    history = History()
    with pytest.raises(Refused):
        decided(history.state, command, NOON, history.policy)


def test_orders_are_numbered_and_issued_once():
    history = ordered()
    order = history.state.orders["wo-001"].order
    following = order.evolve(work_order_id="wo-002")

    for other in (order, order.evolve(work_order_id="wo-003")):
        assert not history.command(do.IssueOrder(order=other))
    assert history.command(do.IssueOrder(order=following))


def test_an_accepted_subtask_is_not_done_again_and_none_is_done_again_twice():
    history = settled(handed_out(Subtask(name="a"), Subtask(name="b")), True, False)
    verdicts = [{"subtask": "wo-001.0", "verdict": "accept"}, {"subtask": "wo-001.1", "verdict": "retry"}]
    review = Review.model_validate({"verdicts": verdicts, "complete": False})
    assert history.command(do.Judge(work_order_id="wo-001", review=review))

    again = WorkOrder(work_order_id="wo-002", goal="it", subtasks=(Subtask(name="b", repairs_subtask="wo-001.1"),))
    assert not history.command(do.IssueOrder(order=again.evolve(subtasks=again.subtasks * 2)))
    assert not history.command(
        do.IssueOrder(order=again.evolve(subtasks=(Subtask(name="a", repairs_subtask="wo-001.0"),)))
    )
    assert not history.command(do.IssueOrder(order=again.evolve(subtasks=(Subtask(name="a", repairs_subtask="x"),))))
    assert history.command(do.IssueOrder(order=again))


def test_work_is_handed_out_once_and_only_when_it_may_start():
    history = ordered(Subtask(name="a"), Subtask(name="b", needs=("wo-001.0",)), Subtask(name="c"))
    first, second = (do.Start(step=f"wo-001.{index}") for index in range(2))

    assert [*history.state.live] == ["wo-001.0", "wo-001.2"]
    assert not history.command(first)
    assert not history.command(second)
    settled(history, True, True)
    assert history.command(do.SetStatus(RunStatus.PAUSED))
    assert not history.command(do.IssueStep(Step(step_id="plan", worker=RoleName.PLAN)))
    assert not history.command(second)


@pytest.mark.parametrize(("wait_s", "status"), [(59.0, "pending"), (60.0, "failed")])
def test_no_attempt_begins_after_the_time_limit(wait_s: float, status: str):
    history = handed_out(timeout=60)
    limited = failure("rate_limited").evolve(retry_after_s=wait_s)
    history.returns(history.live[0], failure=limited)
    history.command(do.Settle(step="wo-001.0"))

    step = history.state.steps["wo-001.0"]
    assert step.status == status
    assert step.failure is not None
    assert step.failure.type == ("time" if status == "failed" else limited.type)


def test_a_run_that_is_being_cancelled_tries_nothing_again():
    history = handed_out()
    history.write(ev.RunRequested(what="cancel", by="me"))
    history.fails(history.live[0], FailureClass.TRANSIENT)
    history.command(do.Settle(step="wo-001.0"))

    assert not history.live
    assert history.state.steps["wo-001.0"].status == "failed"


def test_a_call_that_was_begun_once_is_not_begun_again_by_a_retry():
    history = handed_out(Subtask(name="a", tool="send"))
    attempt = history.live[0]
    history.calls_tool(attempt, history.state.tools["send"], ok=None)
    history.fails(attempt, FailureClass.TRANSIENT, "timeout")
    history.command(do.Settle(step="wo-001.0"))

    assert history.state.tools["send"].effect is Effect.ONCE
    assert not history.live, "a call that may have happened would be made again"
    (held,) = history.attempts(AttemptStatus.PARKED)
    assert [(call.kind, call.tool) for call in held.open_calls] == [("effect", "send")]


def test_an_order_is_judged_once_and_only_when_it_is_over():
    history = handed_out()
    review = Review.model_validate({"verdicts": [{"subtask": "wo-001.0", "verdict": "accept"}], "complete": True})

    assert not history.command(do.Judge(work_order_id="wo-001", review=review))
    settled(history, True)
    assert history.command(do.Judge(work_order_id="wo-001", review=review))
    assert not history.command(do.Judge(work_order_id="wo-001", review=review))


def test_a_late_result_is_ignored_and_what_it_cost_is_counted():
    history = handed_out()
    attempt = history.live[0]
    call_id = history.asks_model(attempt, Money(requests=1, tokens=500, nanousd=70))
    assert call_id is not None
    history.command(do.Lose(attempt=attempt.attempt, failure=failure("lost")))
    assert history.state.spent == Money(requests=1, tokens=500, nanousd=70), "unknown usage settles in full"

    history.model_answers(attempt.attempt, call_id, Usage(input_tokens=1, nanousd=1))
    history.returns(attempt, data=ResultData(summary="at last"))

    assert history.state.spent == Money(requests=1, tokens=500, nanousd=70), "it was counted twice"
    assert history.state.steps["wo-001.0"].data is None


@pytest.mark.parametrize(
    ("usage", "spent"), [(Usage(requests=1, input_tokens=9, nanousd=7), (1, 9, 7)), (None, (1, 500, 70))]
)
def test_a_model_call_is_counted_once_as_it_was_used_or_in_full(usage: Usage | None, spent: tuple[int, int, int]):
    history = handed_out()
    attempt = history.live[0]
    call_id = history.asks_model(attempt, Money(requests=1, tokens=500, nanousd=70))
    assert call_id is not None
    history.model_answers(attempt.attempt, call_id, usage)
    history.model_answers(attempt.attempt, call_id, usage)
    history.works(attempt)

    assert (history.state.spent, history.state.reserved) == (Money(*spent), {})


def test_an_attempt_returns_once_and_waits_for_nobody_after_that():
    history = handed_out()
    attempt = history.live[0]
    history.works(attempt)
    history.fails(attempt, FailureClass.UNAVAILABLE)
    history.parks(attempt, ["approval"])

    assert [*history.state.unsettled] == ["wo-001.0"]
    assert history.command(do.Settle(step="wo-001.0"))
    assert history.state.steps["wo-001.0"].ok


def test_a_pause_and_a_resume_that_cross_leave_the_run_going():
    history = handed_out()
    history.write(ev.RunRequested(what="pause", by="me"), ev.RunRequested(what="resume", by="me"))
    history.decide_all()

    assert history.state.status is RunStatus.RUNNING


def test_a_run_whose_flow_wants_nothing_more_and_does_not_end_it_has_failed():
    history = history_of()
    history.decide_all()

    finished = history.state.finished
    assert finished is not None
    assert finished.failure is not None
    assert (finished.status, finished.failure.type) == (RunStatus.FAILED, "no_progress")
    assert finished.failure.class_ is FailureClass.EXHAUSTED


def test_a_review_cannot_accept_what_was_not_completed():
    history = settled(handed_out(Subtask(name="a"), Subtask(name="b")), True, False)
    verdicts = [{"subtask": key, "verdict": "accept"} for key in ("wo-001.0", "wo-001.1")]
    review = Review.model_validate({"verdicts": verdicts, "complete": True, "answer": "all is well"})

    (event,) = decided(history.state, do.Judge(work_order_id="wo-001", review=review), NOON, history.policy)

    assert isinstance(event, ev.ResultsJudged)
    assert [verdict.verdict for verdict in event.review.verdicts] == ["accept", "drop"]


def test_a_review_with_a_verdict_missing_leaves_that_subtask_unverified_and_releases_no_answer():
    history = settled(handed_out(Subtask(name="a"), Subtask(name="b")), True, True)
    review = Review.model_validate(
        {"verdicts": [{"subtask": "wo-001.0", "verdict": "accept"}], "complete": True, "answer": "all is well"}
    )
    history.command(do.Judge(work_order_id="wo-001", review=review))

    reviewed = history.state.orders["wo-001"].review
    assert reviewed is not None
    assert reviewed.answer is None
    assert history.state.steps["wo-001.1"].verdict is None
    assert not history.state.steps["wo-001.1"].accepted
