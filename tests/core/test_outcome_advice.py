"""What a person is told to do about a gap: what helps in this run, by the cause that is known, and nothing else."""

from __future__ import annotations

from typing import Any

from core.histories import History, definition
from leadhand.core import decide as do
from leadhand.core import events as ev
from leadhand.core.errors import FailureClass
from leadhand.core.ids import step_of
from leadhand.core.outcome import FlowAnswer, all_gaps
from leadhand.core.run import RunStatus
from leadhand.core.words.failures import out_of_time
from leadhand.core.work_order import Subtask, WorkOrder

RAISE_TIMEOUT = "raise timeout, and resume the run"


def ordered(subtasks: int, **limits: Any) -> History:
    """A run whose order is handed out."""
    history = History(definition(**limits))
    issued = tuple(Subtask(name=f"s{number}") for number in range(subtasks))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    return history


def finish_first(history: History) -> None:
    """The first subtask comes back and passes the code checks; the others are still under way."""
    history.works(next(attempt for attempt in history.live if step_of(attempt.attempt) == "wo-001.0"))
    history.command(do.Settle(step="wo-001.0"))


def test_a_cancelled_run_lists_what_was_found_and_has_gaps_for_the_rest() -> None:
    history = ordered(2)
    finish_first(history)
    history.write(ev.RunRequested(what="cancel", by="ann"))
    history.decide_all()

    finished = history.state.finished
    assert finished is not None
    assert (finished.status, finished.answer) == (RunStatus.CANCELLED, "- wo-001.0 is done")
    assert [(gap.step, gap.class_) for gap in finished.gaps] == [("wo-001.1", FailureClass.REJECTED)]
    assert all("ann" in gap.reason for gap in finished.gaps)
    assert not any("raise" in gap.next_action for gap in finished.gaps), "no limit was reached"


def test_what_was_never_begun_names_the_limit_that_ended_the_rest() -> None:
    history = History(definition(batch_size=1, timeout_s=90))
    issued = (Subtask(name="a"), Subtask(name="b"))
    history.command(do.IssueOrder(order=WorkOrder(work_order_id="wo-001", goal="it", subtasks=issued)))
    history.decide_all()
    history.command(do.End(FlowAnswer(failure=out_of_time("so it is", 90))))

    gaps = all_gaps(history.state, history.policy.answer(history.state))
    assert all("so it is" in gap.reason for gap in gaps)
    assert [gap.next_action for gap in gaps] == [RAISE_TIMEOUT] * 2
    assert history.state.finished is not None
    assert history.state.finished.gaps == tuple(gaps)
