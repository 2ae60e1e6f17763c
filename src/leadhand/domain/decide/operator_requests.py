"""What people ask of a run beyond its flow: assignments retried, skipped, or settled by a result that they supply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from leadhand.domain import commands as do
from leadhand.domain import events as ev
from leadhand.domain.evolve.attempts import blocked_by, descendants
from leadhand.domain.ids import split_key
from leadhand.domain.lifecycle import UNSUCCESSFUL, AttemptStatus
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.work_result import ResultData

OperatorRequest = ev.RetryRequested | ev.SkipRequested | ev.ResultSupplied


def decide_request(state: RunState) -> list[ev.AnyEvent]:
    """Decide the oldest pending request of a person. Raises Refused when no request is pending."""
    if not state.pending_requests:
        raise do.Refused("nothing is requested")
    request = state.pending_requests[0]
    reason = why_refused(state, request)
    if reason:
        return [ev.RequestDeclined(request=request.type, reason=reason)]
    reopened: list[ev.AnyEvent] = [ev.RunReopened(by=_by(request))] if state.finished is not None else []
    match request:
        case ev.RetryRequested():
            keys = request.subtasks or retriable(state, confirmed=request.confirmed)
            granted = ev.RetryGranted(
                subtasks=tuple(keys), args=request.args, by=_by(request), reopened=_reopened(state, keys)
            )
            return [*reopened, granted]
        case ev.SkipRequested():
            counted = _counted(state.assignments[request.subtask])
            skipped = ev.SubtaskResolved(
                subtask=request.subtask, by=_by(request), reason=request.reason, counted=counted
            )
            return [*reopened, skipped]
        case ev.ResultSupplied():
            data = ResultData(summary=request.summary, raw=request.raw)
            assignment = state.assignments[request.subtask]
            judged = bool(assignment.order) and (
                state.orders[assignment.order].review is not None or state.finished is not None
            )
            if not judged:
                supplied = ev.SubtaskResolved(
                    subtask=request.subtask, data=data, by=_by(request), counted=_counted(assignment)
                )
                return [*reopened, supplied]
            # Its order is judged and stays as it is: the result becomes that of a subtask which repairs it.
            return [*reopened, ev.RetryGranted(subtasks=(request.subtask,), data=data, by=_by(request))]


def retriable(state: RunState, *, confirmed: bool = False) -> list[str]:
    """Return the assignments that failed or were skipped and that nothing has replaced: what a retry of all repeats.

    One that did, or may have done, something irreversible is among them only if ``confirmed``.
    """
    return [
        key
        for key, subtask in state.assignments.items()
        if subtask.counts
        and subtask.status in UNSUCCESSFUL
        and subtask.superseded_by is None
        and not subtask.given_up  # a retry of what it needs includes it
        and (confirmed or not subtask.acted)
    ]


def why_refused(state: RunState, request: OperatorRequest, *, resting: bool = False) -> str:
    """Return why a request cannot be granted, in one sentence; empty when it can.

    ``resting``: no process drives the run, so nothing of it is really under way.
    """
    if isinstance(request, ev.RetryRequested):
        if not request.subtasks and not retriable(state, confirmed=request.confirmed):
            acted = retriable(state, confirmed=True)
            return f"{acted[0]} {ACTED}" if acted else "no subtask has failed"
        if request.args is not None and len(request.subtasks) != 1:
            return "other arguments are for one subtask: name it"
        said = (_not_again(state, key, confirmed=request.confirmed) for key in request.subtasks)
        return next((each for each in said if each), "")
    missing = _missing(state, request.subtask)
    if missing:
        return missing
    subtask = state.assignments[request.subtask]
    if not resting and _under_way(state, request.subtask):
        return f"{request.subtask} is under way: pause the run first, or wait"
    if isinstance(request, ev.SkipRequested):
        settled = subtask.by or subtask.ok
        return f"{request.subtask} is {subtask.status}: there is nothing to leave out" if settled else ""
    return f"{request.subtask} is {subtask.status} already" if subtask.ok else ""


def _reopened(state: RunState, keys: Iterable[str]) -> int:
    """How many failed assignments a retry starts again: those outside of work orders, and what they had blocked."""
    again = {key for key in keys if not state.assignments[key].order}
    return sum(state.assignments[key].counts for key in again.union(blocked_by(state, again)))


def _counted(subtask: AssignmentState) -> Literal["open", "completed", "failed"]:
    """What lists count a subtask as: one whose result the review found wanting was done all the same."""
    if subtask.data is not None:
        return "completed"
    return "failed" if subtask.status in UNSUCCESSFUL else "open"


ACTED = "did, or may have done, something irreversible: confirm that it is to be done again"


def _under_way(state: RunState, key: str) -> bool:
    """Whether an attempt at an assignment, or at one of its descendants, is running."""
    attempts = (state.assignments[name].attempt for name in (key, *descendants(state, key)))
    return any(attempt is not None and attempt.status is AttemptStatus.RUNNING for attempt in attempts)


def _not_again(state: RunState, key: str, *, confirmed: bool) -> str:
    missing = _missing(state, key)
    if missing:
        return missing
    subtask = state.assignments[key]
    if subtask.accepted:
        return f"{key} was accepted: fork the run to do it in another way"
    if not subtask.closed or (subtask.ok and not subtask.order):
        return f"{key} is {subtask.status}: it has not failed"
    return f"{key} {ACTED}" if subtask.acted and not confirmed else ""


def _missing(state: RunState, key: str) -> str:
    """Why no subtask of this key can be named; "" when one can."""
    subtask = state.assignments.get(key)
    if subtask is not None and subtask.counts:
        return "" if subtask.superseded_by is None else f"{key} was done again as {subtask.superseded_by}: name that"
    counting = [name for name, assignment in state.assignments.items() if assignment.counts]
    if not counting or state.orders:
        try:
            split_key(key)
        except ValueError as error:
            return str(error)
    if not counting:
        return "there are no subtasks"
    return f"there is no subtask {key}; there are {len(counting)}"


def _by(request: OperatorRequest) -> str:
    return request.by or "somebody"
