"""The head of a run: what its line in a list shows of its state. The process that folds a run gives it to the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from .approval import Approval, ApprovalStatus
from .events import AnyEvent, Entry, RunFinished, RunPaused, RunReopened, RunResumed, RunStarted, RunWaiting
from .evolve import fold
from .lifecycle import UNSUCCESSFUL
from .run import RunStatus
from .state import RunState


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
    subtasks, completed, failed = counted(state)
    unanswered = sum(each.reply is None for each in state.questions.values())
    asking = 0 if state.finished is not None else len(open_approvals(state)) + unanswered
    return RunHead(state.seq, subtasks, completed, failed, asking)


def head_after(state: RunState, events: Sequence[AnyEvent], at: datetime) -> RunHead:
    """Return the head of a run after ``events`` that are not written yet, if they are the next ones of its log."""
    entries = (Entry(seq=state.seq + n, at=at, epoch=state.epoch, event=each) for n, each in enumerate(events, 1))
    return head_of(fold(state, entries))


def counted(state: RunState) -> tuple[int, int, int]:
    """Return how many subtasks there are, are completed, and failed."""
    subtasks = completed = failed = 0
    for each in state.steps.values():
        if each.counts and each.superseded_by is None:
            early = each.step.subtask is not None and not each.order
            subtasks += state.finished is not None or not early  # while a plan is being written, nobody knows how many
            completed += each.ok
            failed += each.status in UNSUCCESSFUL
    return subtasks, completed, failed


def open_approvals(state: RunState) -> list[Approval]:
    """Return the approvals that nobody has answered and that have not expired, oldest first."""
    return [each for each in state.approvals.values() if each.status is ApprovalStatus.PENDING]


def status_after(event: AnyEvent) -> RunStatus | None:
    """Return the status that an event gives to its run; None if it changes none."""
    match event:
        case RunStarted() | RunResumed() | RunReopened():
            return RunStatus.RUNNING
        case RunPaused():
            return RunStatus.PAUSED
        case RunWaiting():
            return RunStatus.WAITING
        case RunFinished():
            return event.status
        case _:
            return None
