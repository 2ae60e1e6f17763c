"""The head of a run: what its line in a list shows of its state. The process that folds a run gives it to the store."""

from __future__ import annotations

from typing import NamedTuple

from leadhand.core.events import AnyEvent, RunFinished, RunStarted, RunStatusSet
from leadhand.core.run import UNSUCCESSFUL, RunStatus, StepStatus
from leadhand.core.state import RunState
from leadhand.core.work_order import WORKER


class RunHead(NamedTuple):
    """What a list shows of a run after event ``seq``.

    ``subtasks`` counts the subtasks that no other has replaced, 0 while the first plan is being written; ``completed``
    and ``failed`` count those with that status, also before; ``asking`` its open approvals and questions.
    """

    seq: int
    subtasks: int = 0
    completed: int = 0
    failed: int = 0
    asking: int = 0


def head_of(state: RunState) -> RunHead:
    """Return the head of a run in this state."""
    found, open_ = state.counted, state.finished is None
    # While a plan is being written, nobody knows how many there are.
    is_planned = open_ and not state.orders and state.worker(WORKER) is not None
    unanswered = sum(state.questions[key].kind == "person" for key in state.unanswered)
    return RunHead(
        state.seq,
        0 if is_planned else sum(found.values()),
        found.get(StepStatus.COMPLETED, 0),
        sum(found.get(each, 0) for each in UNSUCCESSFUL),
        len(state.asking) + unanswered if open_ else 0,
    )


def status_after(event: AnyEvent) -> RunStatus | None:
    """Return the status that an event gives to its run; None if it changes none."""
    match event:
        case RunStarted():
            return RunStatus.RUNNING
        case RunFinished() | RunStatusSet(slept_s=0.0):
            return event.status
        case _:
            return None
