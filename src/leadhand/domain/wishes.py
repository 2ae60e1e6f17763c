"""What people want of a run beyond its flow: subtasks done again, left undone, or settled by a result of theirs."""

from __future__ import annotations

from typing import Literal

from . import commands as do
from . import events as ev
from .children import descendants
from .ids import split_key
from .lifecycle import AttemptStatus, SubtaskStatus
from .state import RunState, SubtaskState
from .work_result import ResultData

Wish = ev.RetryRequested | ev.SkipRequested | ev.ResultSupplied

FAILED = (SubtaskStatus.FAILED, SubtaskStatus.DROPPED)
OPEN = (SubtaskStatus.PENDING, SubtaskStatus.WAITING, SubtaskStatus.RUNNING)


def honour(state: RunState) -> list[ev.AnyEvent]:
    """What becomes of the oldest wish. Raises Refused when there is none."""
    if not state.wishes:
        raise do.Refused("nobody wants anything")
    wish = state.wishes[0]
    objection = objection_to(state, wish)
    if objection:
        return [ev.RequestDeclined(request=wish.type, reason=objection)]
    reopened: list[ev.AnyEvent] = [ev.RunReopened(by=_by(wish))] if state.finished is not None else []
    match wish:
        case ev.RetryRequested():
            keys = wish.subtasks or retriable(state, confirmed=wish.confirmed)
            return [*reopened, ev.RetryGranted(subtasks=tuple(keys), args=wish.args, by=_by(wish))]
        case ev.SkipRequested():
            counted = _counted(state.subtasks[wish.subtask])
            left_out = ev.SubtaskResolved(subtask=wish.subtask, by=_by(wish), reason=wish.reason, counted=counted)
            return [*reopened, left_out]
        case ev.ResultSupplied():
            data = ResultData(summary=wish.summary, raw=wish.raw)
            if state.orders[state.subtasks[wish.subtask].order].review is None and state.finished is None:
                counted = _counted(state.subtasks[wish.subtask])
                return [ev.SubtaskResolved(subtask=wish.subtask, data=data, by=_by(wish), counted=counted)]
            # Its order is judged and stays as it is: the result is that of a subtask which repairs it.
            return [*reopened, ev.RetryGranted(subtasks=(wish.subtask,), data=data, by=_by(wish))]


def retriable(state: RunState, *, confirmed: bool = False) -> list[str]:
    """The subtasks that failed, or were left, and that nothing has replaced: what a retry of all does again.

    What did, or may have done, what cannot be taken back is among them only if ``confirmed``.
    """
    return [
        key
        for key, subtask in state.subtasks.items()
        if subtask.status in FAILED
        and subtask.superseded_by is None
        and not _blocked(subtask)
        and (confirmed or not subtask.acted)
    ]


def objection_to(state: RunState, wish: Wish, *, resting: bool = False) -> str:
    """Why a wish cannot be granted, in one sentence; empty when it can.

    ``resting``: no process carries the run out, so that nothing of it is really under way.
    """
    if isinstance(wish, ev.RetryRequested):
        if not wish.subtasks and not retriable(state, confirmed=wish.confirmed):
            acted = retriable(state, confirmed=True)
            return f"{acted[0]} {ACTED}" if acted else "no subtask has failed"
        if wish.args is not None and len(wish.subtasks) != 1:
            return "other arguments are for one subtask: name it"
        said = (_not_again(state, key, confirmed=wish.confirmed) for key in wish.subtasks)
        return next((each for each in said if each), "")
    subtask = state.subtasks.get(wish.subtask)
    if subtask is None:
        return _unknown(state, wish.subtask)
    if subtask.superseded_by is not None:
        return f"{wish.subtask} was done again as {subtask.superseded_by}: name that"
    if not resting and _under_way(state, wish.subtask):
        return f"{wish.subtask} is under way: pause the run first, or wait"
    if isinstance(wish, ev.SkipRequested):
        if subtask.by or subtask.status not in (*OPEN, *FAILED):
            return f"{wish.subtask} is {subtask.status}: there is nothing to leave out"
        return ""
    if subtask.status not in (*OPEN, *FAILED):
        return f"{wish.subtask} is {subtask.status} already"
    return ""


def _counted(subtask: SubtaskState) -> Literal["open", "completed", "failed"]:
    """What lists count a subtask as: one whose result the review found wanting was done all the same."""
    if subtask.data is not None:
        return "completed"
    return "failed" if subtask.status in FAILED else "open"


ACTED = "did, or may have done, what cannot be taken back: confirm that it is to be done again"


def _under_way(state: RunState, key: str) -> bool:
    """Whether a worker is at it now, or at something that it has another worker do."""
    for name in (key, *descendants(state, key)):
        assignment = state.assignments.get(name)
        attempt = assignment.attempt if assignment is not None else None
        if attempt is not None and attempt.status is AttemptStatus.RUNNING:
            return True
    return False


def _not_again(state: RunState, key: str, *, confirmed: bool) -> str:
    subtask = state.subtasks.get(key)
    if subtask is None:
        return _unknown(state, key)
    if subtask.superseded_by is not None:
        return f"{key} was done again as {subtask.superseded_by}: name that"
    if subtask.accepted:
        return f"{key} was accepted: fork the run to do it in another way"
    if subtask.status in OPEN:
        return f"{key} is {subtask.status}: it has not failed"
    return f"{key} {ACTED}" if subtask.acted and not confirmed else ""


def _unknown(state: RunState, key: str) -> str:
    try:
        split_key(key)
    except ValueError as error:
        return str(error)
    return f"there is no subtask {key}; there are {len(state.subtasks)}" if state.subtasks else "there are no subtasks"


def _blocked(subtask: SubtaskState) -> bool:
    """Given up for another's failure: it goes again with that one."""
    return subtask.failure is not None and subtask.failure.type == "needs_failed"


def _by(wish: Wish) -> str:
    return wish.by or "somebody"
