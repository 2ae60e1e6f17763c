"""What a person is told to do about a gap: what helps in this run, by the cause that is known, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from domain.histories import History, definition
from leadhand.domain import commands as do
from leadhand.domain import events as ev
from leadhand.domain.advice import next_action
from leadhand.domain.approval import Approval, ApprovalStatus
from leadhand.domain.errors import Failure, FailureClass, usual_action
from leadhand.domain.ids import assignment_of
from leadhand.domain.outcome import all_gaps, gap, plain_summary
from leadhand.domain.run import RunStatus
from leadhand.domain.tool import ApprovalPolicy, Effect
from leadhand.domain.work_order import Subtask, WorkOrder
from leadhand.domain.work_result import ResultData


def failure(class_: str, type_: str, action: str = "") -> Failure:
    return Failure.model_validate({"message": "so it is", "type": type_, "class": class_, "next_action": action})


def ordered(subtasks: int, **limits: Any) -> History:
    """A run whose order is handed out."""
    history = History(definition(**limits))
    issued = tuple(Subtask(name=f"s{number}") for number in range(subtasks))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    return history


def finish_first(history: History) -> None:
    """The first subtask comes back and passes the code checks; the others are still under way."""
    history.works(next(attempt for attempt in history.live if assignment_of(attempt.attempt) == "wo-001.0"))
    history.command(do.Settle(assignment="wo-001.0"))


def test_a_cancelled_run_says_who_cancelled_it_and_lists_what_was_found_once() -> None:
    history = ordered(2)
    finish_first(history)
    history.write(ev.CancelRequested(by="ann"))
    history.decide_all()

    finished = history.state.finished
    assert finished is not None
    assert finished.status is RunStatus.CANCELLED
    assert [gap.next_action for gap in finished.gaps] == ["ask again", "ask again"]
    told, found, open_ = finished.answer.split("\n\n")
    assert told == "The run was cancelled by ann."
    assert found.startswith("Found, but not verified: ")
    assert "wo-001.0 is done (unverified)" in found
    assert open_ == "Not answered:\n- s1: cancelled by ann (rejected; ask again)"
    assert "--max-steps" not in finished.answer
    assert "a person denied the call" not in finished.answer


def test_results_with_several_doubts_are_one_list_that_names_each() -> None:
    history = ordered(2)
    for attempt in list(history.live):
        history.works(attempt)
    done = [history.state.assignments[f"wo-001.{number}"] for number in range(2)]
    reasons = ("the reviewer was away", "the reviewer did not answer")
    gaps = [gap(each, FailureClass.TRANSIENT, why, "try again") for each, why in zip(done, reasons, strict=True)]
    shown = [each._replace(data=ResultData(summary=each.key)) for each in done]

    assert plain_summary(history.state, shown, gaps).splitlines() == [
        "Found, but not verified (try again).",
        "- s0: wo-001.0 (unverified: the reviewer was away)",
        "- s1: wo-001.1 (unverified: the reviewer did not answer)",
    ]


def test_what_ran_out_of_time_names_the_time_limit_and_no_other() -> None:
    history = ordered(2, timeout_s=90)
    finish_first(history)
    history.command(do.Finish(failure=failure("exhausted", "time")))

    finished = history.state.finished
    assert finished is not None
    assert {gap.next_action for gap in finished.gaps} == {"raise --timeout (it was 90), and resume the run"}
    assert "--budget" not in finished.answer
    assert "--max-steps" not in finished.answer


@pytest.mark.parametrize(
    ("limits", "action"),
    [
        ({"max_requests": None, "max_tokens": None}, "raise --budget (it was 0.000004), and resume the run"),
        ({"max_requests": 1}, "raise --max-requests (it was 1), and resume the run"),
        ({"budget_nanousd": None, "max_requests": None}, "raise --max-tokens (it was 40,000), and resume the run"),
        (
            {"max_requests": None},
            "raise --budget (it was 0.000004) or --max-tokens (it was 40,000), and resume the run",
        ),
    ],
)
def test_a_spent_allowance_names_the_limits_that_may_have_bound(limits: dict[str, Any], action: str) -> None:
    assert next_action(History(definition(**limits)).state, failure("exhausted", "allowance")) == action


def test_a_denial_by_policy_is_told_from_that_of_a_person() -> None:
    denied = failure("rejected", "denied")
    never = History(definition().evolve(approve=ApprovalPolicy.NEVER)).state
    assert next_action(never, denied) == "to be asked for approval, run it with --approve ask"

    asked = History().state
    assert "the approval setting of the tool" in next_action(asked, denied)
    question = Approval(
        approval_id="a", attempt="b", tool="send", args={}, effect=Effect.ONCE, status=ApprovalStatus.DENIED
    )
    asked.approvals["a"] = question
    assert next_action(asked, denied) == "ask for something else: a person denied the call"


def test_more_orders_are_named_only_where_none_was_left() -> None:
    wanting = failure("insufficient", "found_wanting")
    assert next_action(ordered(1, max_steps=3).state, wanting) == "ask more precisely"
    last = next_action(ordered(1, max_steps=1).state, wanting)
    assert last == "allow more work orders with --max-steps (it was 1), and ask again"


def test_a_failure_that_says_itself_what_to_do_is_believed() -> None:
    assert next_action(History().state, failure("exhausted", "time", "buy a clock")) == "buy a clock"


def test_a_model_that_does_not_follow_schemas_is_to_be_replaced() -> None:
    for type_ in ("malformed_answer", "bad_thought"):
        assert usual_action(FailureClass.INVALID, type_) == "choose a model that follows schemas (--lead-model)"
        assert failure("invalid", type_).next_action == usual_action(FailureClass.INVALID, type_)


@pytest.mark.slow
def test_a_summary_of_megabytes_is_told_in_part_and_says_where_the_rest_is() -> None:
    history = ordered(1)
    subtask = history.state.assignments["wo-001.0"]
    finish_first(history)
    subtask = history.state.assignments["wo-001.0"]
    assert subtask.data is not None
    long = subtask._replace(data=subtask.data.evolve(summary="x" * 2_000_000))
    history.state.assignments["wo-001.0"] = long

    told = plain_summary(history.state, [long], [])

    assert len(told) < 3_000
    assert "x… (2,000,000 characters in all, see leadhand runs show run_1 --json)" in told


def test_what_was_never_begun_names_the_limit_that_ended_the_rest() -> None:
    history = History(definition(batch_size=1, timeout_s=90))
    issued = (Subtask(name="a"), Subtask(name="b"))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    history.command(do.Finish(failure=failure("exhausted", "time")))

    gaps = all_gaps(history.state, history.policy.outcome(history.state))
    assert [gap.reason for gap in gaps] == ["so it is", "it was not started: so it is"]
    assert {gap.next_action for gap in gaps} == {"raise --timeout (it was 90), and resume the run"}
    assert history.state.finished is not None
    assert history.state.finished.gaps == tuple(gaps)
