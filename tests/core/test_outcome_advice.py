"""What a person is told to do about a gap: what helps in this run, by the cause that is known, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from core.histories import History, definition
from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.advice import next_action
from leadhand.core.approval import Approval, ApprovalStatus
from leadhand.core.errors import Failure, FailureClass, usual_action
from leadhand.core.ids import step_of
from leadhand.core.limits import Money
from leadhand.core.outcome import all_gaps
from leadhand.core.run import RunStatus
from leadhand.core.tool import ApprovalPolicy, Effect
from leadhand.core.work_order import Subtask, WorkOrder


def failure(class_: str, type_: str, action: str = "") -> Failure:
    return Failure.model_validate({"message": "so it is", "type": type_, "class": class_, "next_action": action})


def ordered(subtasks: int, **limits: Any) -> History:
    """A run whose order is handed out."""
    history = History(definition(**limits))
    issued = tuple(Subtask(name=f"s{number}") for number in range(subtasks))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    return history


def flags_in(action: str) -> set[str]:
    """The options that an advice names."""
    return {*re.findall(r"--[a-z-]+", action)}


def finish_first(history: History) -> None:
    """The first subtask comes back and passes the code checks; the others are still under way."""
    history.works(next(attempt for attempt in history.live if step_of(attempt.attempt) == "wo-001.0"))
    history.command(do.Settle(step="wo-001.0"))


def test_a_cancelled_run_lists_what_was_found_and_has_gaps_for_all_that_was_not_evaluated() -> None:
    history = ordered(2)
    finish_first(history)
    history.write(ev.RunRequested(what="cancel", by="ann"))
    history.decide_all()

    finished = history.state.finished
    assert finished is not None
    assert (finished.status, finished.answer) == (RunStatus.CANCELLED, "- wo-001.0 is done")
    assert [(gap.step, gap.class_) for gap in finished.gaps] == [
        ("wo-001.0", FailureClass.REJECTED),
        ("wo-001.1", FailureClass.REJECTED),
    ]
    assert all("ann" in gap.reason for gap in finished.gaps)
    assert not any("--" in gap.next_action for gap in finished.gaps), "no limit was reached"


def test_what_ran_out_of_time_names_the_time_limit_and_no_other() -> None:
    history = ordered(2, timeout_s=90)
    finish_first(history)
    history.command(do.Finish(failure=failure("exhausted", "time")))

    finished = history.state.finished
    assert finished is not None
    for gap in finished.gaps:
        assert flags_in(gap.next_action) == {"--timeout"}
        assert "90" in gap.next_action


@pytest.mark.parametrize(
    ("short", "flags"),
    [
        ({"nanousd": 5}, {"--budget": "0.000004"}),
        ({"requests": 1, "tokens": 9}, {"--max-requests": "1", "--max-tokens": "40,000"}),
    ],
)
def test_a_spent_allowance_names_the_limits_that_bound(short: dict[str, int], flags: dict[str, str]) -> None:
    state = History(definition(max_requests=1)).state
    action = next_action(state, failure("exhausted", "allowance").evolve(short_of=Money(**short)))
    assert flags_in(action) == flags.keys()
    assert all(f"{flag} (it was {most})" in action for flag, most in flags.items())


def test_a_denial_by_policy_is_told_from_that_of_a_person() -> None:
    denied = failure("rejected", "denied")
    never = next_action(History(definition().evolve(approve=ApprovalPolicy.NEVER)).state, denied)
    assert flags_in(never) == {"--approve"}

    asked = History().state
    by_the_tool = next_action(asked, denied)
    question = Approval(
        approval_id="a", attempt="b", tool="send", args={}, effect=Effect.ONCE, status=ApprovalStatus.DENIED
    )
    denied_by = replace(asked, approvals={"a": question})
    by_a_person = next_action(denied_by, denied)
    assert len({never, by_the_tool, by_a_person}) == 3
    assert not flags_in(by_the_tool) | flags_in(by_a_person)


def test_more_orders_are_named_only_where_none_was_left() -> None:
    wanting = failure("insufficient", "found_wanting")
    assert not flags_in(next_action(ordered(1, max_steps=3).state, wanting))
    assert flags_in(next_action(ordered(1, max_steps=1).state, wanting)) == {"--max-steps"}


def test_a_failure_that_says_itself_what_to_do_is_believed() -> None:
    assert next_action(History().state, failure("exhausted", "time", "buy a clock")) == "buy a clock"


def test_a_model_that_does_not_follow_schemas_is_to_be_replaced() -> None:
    for type_ in ("malformed_answer", "bad_thought"):
        assert flags_in(usual_action(FailureClass.INVALID, type_)) == {"--lead-model"}
        assert failure("invalid", type_).next_action == usual_action(FailureClass.INVALID, type_)


def test_what_was_never_begun_names_the_limit_that_ended_the_rest() -> None:
    history = History(definition(batch_size=1, timeout_s=90))
    issued = (Subtask(name="a"), Subtask(name="b"))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    history.command(do.Finish(failure=failure("exhausted", "time")))

    gaps = all_gaps(history.state, history.policy.outcome(history.state))
    assert all("so it is" in gap.reason for gap in gaps)
    assert [flags_in(gap.next_action) for gap in gaps] == [{"--timeout"}] * 2
    assert history.state.finished is not None
    assert history.state.finished.gaps == tuple(gaps)
