"""What events do to assignments and the attempts at them. What a late attempt returns is ignored; its spend is not."""

from __future__ import annotations

from collections.abc import Mapping

from . import events as ev
from .evidence import with_evidence
from .evolve_orders import subtask_settled
from .ids import assignment_of, event_id
from .lifecycle import AttemptStatus, SubtaskStatus
from .state import Answered, AssignmentState, AttemptState, ModelTurn, RunState
from .tool import Effect
from .value import Json
from .work_result import WorkResult

INTERRUPTED = "interrupted"
"""The type of a failure that is nobody's: a person paused the run. It does not count against the attempt."""


def assigned(state: RunState, _entry: ev.Entry, event: ev.AssignmentIssued) -> None:
    assignment = event.assignment
    key = assignment.assignment_id
    state.assignments[key] = AssignmentState(assignment=assignment, attempt=AttemptState(attempt=f"{key}/a1", number=1))
    state.live[key] = None
    subtask = state.subtasks.get(key)
    if subtask is not None:
        state.ready.pop(key, None)
        state.subtasks[key] = subtask._replace(status=SubtaskStatus.RUNNING)
        order = state.orders[subtask.order]
        state.orders[subtask.order] = order._replace(running=order.running + 1)


def scheduled(state: RunState, _entry: ev.Entry, event: ev.AttemptScheduled) -> None:
    key = assignment_of(event.attempt)
    assignment = state.assignments[key]
    before = assignment.attempt
    afresh = event.continues is None
    answers: Mapping[str, Answered] = before.answers if before is not None and event.continues == before.attempt else {}
    state.assignments[key] = assignment._replace(
        attempt=AttemptState(
            attempt=event.attempt,
            number=int(event.attempt.rpartition("/a")[2]),
            continues=event.continues,
            not_before=event.not_before,
            feedback=event.feedback,
            answers=answers,
        ),
        calls=() if afresh else assignment.calls,
        begun=(),
        compacted=(-1, 0) if afresh else assignment.compacted,
    )
    state.parked.pop(key, None)
    state.retrying.pop(key, None)
    state.live[key] = None
    _show(state, key, SubtaskStatus.RUNNING)


def settled(state: RunState, entry: ev.Entry, event: ev.AttemptSettled) -> None:
    key = assignment_of(event.attempt)
    assignment = state.assignments[key]
    attempt = assignment.attempt
    if attempt is None or attempt.attempt != event.attempt:
        return
    for place in (state.unsettled, state.live, state.parked, state.retrying):
        place.pop(key, None)
    failures = assignment.failures
    if event.failure is not None and event.failure.type != INTERRUPTED:
        failures = (*failures, event.failure.class_)
    subtask = state.subtasks.get(key)
    if event.final:
        # A thought's value is what the flow goes on with; a subtask's data goes to the subtask, once.
        state.assignments[key] = assignment._replace(
            attempt=None,
            failures=failures,
            calls=(),
            begun=(),
            ok=event.ok,
            result=None if subtask is not None else attempt.result,
            value=thought(assignment) if event.ok else None,
            failure=event.failure,
        )
    else:
        state.assignments[key] = assignment._replace(
            attempt=attempt._replace(status=AttemptStatus.SETTLED), failures=failures, failure=event.failure
        )
        state.retrying[key] = None
    if subtask is None:
        return
    changed = subtask._replace(event_ids=(*subtask.event_ids, event_id(entry.seq)), failure=event.failure)
    if event.final:
        order = state.orders[subtask.order]
        state.orders[subtask.order] = order._replace(running=order.running - 1)
        data = attempt.result.data if event.ok and attempt.result is not None else None
        if data is not None and attempt.result is not None:
            data = with_evidence(data, attempt.result.used, assignment.evidence)
        changed = changed._replace(
            status=SubtaskStatus.COMPLETED if event.ok else SubtaskStatus.FAILED,
            data=data,
            acted=any(call.effect is Effect.ONCE for call in (*assignment.evidence, *assignment.begun)),
        )
        state.subtasks[key] = changed
        subtask_settled(state, key, ok=event.ok)
    else:
        state.subtasks[key] = changed


def thought(assignment: AssignmentState) -> Json:
    """The structured value of a thought: that of the last reply in its lineage, which the log holds once."""
    turns = [call for call in assignment.calls if isinstance(call, ModelTurn)]
    return turns[-1].value if turns else None


def current(state: RunState, attempt: str) -> AssignmentState | None:
    """The assignment of an attempt while that attempt is the current one; a late observation finds None."""
    assignment = state.assignments.get(assignment_of(attempt))
    if assignment is None or assignment.attempt is None or assignment.attempt.attempt != attempt:
        return None
    return assignment if assignment.attempt.status in _UNDER_WAY else None


_UNDER_WAY = (AttemptStatus.SCHEDULED, AttemptStatus.RUNNING)


def settle_reservations(state: RunState, attempt: str) -> None:
    """Count what an attempt still held in full: nobody will say any more what its calls used."""
    for held in state.reserved.pop(attempt, {}).values():
        state.spent = state.spent + held


def lost(state: RunState, _entry: ev.Entry, event: ev.AttemptLost) -> None:
    settle_reservations(state, event.attempt)
    assignment = current(state, event.attempt)
    if assignment is not None:
        name = assignment_of(event.attempt)
        _return(state, assignment, WorkResult.failed(name, event.failure))


def attempt_started(state: RunState, _entry: ev.Entry, event: ev.AttemptStarted) -> None:
    assignment = current(state, event.attempt)
    if assignment is not None and assignment.attempt is not None:
        state.assignments[assignment.assignment.assignment_id] = assignment._replace(
            attempt=assignment.attempt._replace(status=AttemptStatus.RUNNING, host=event.host)
        )


def attempt_returned(state: RunState, _entry: ev.Entry, event: ev.AttemptReturned) -> None:
    settle_reservations(state, event.attempt)
    assignment = current(state, event.attempt)
    if assignment is not None:
        _return(state, assignment, event.result)


def _return(state: RunState, assignment: AssignmentState, result: WorkResult) -> None:
    key = assignment.assignment.assignment_id
    assert assignment.attempt is not None
    state.assignments[key] = assignment._replace(
        attempt=assignment.attempt._replace(status=AttemptStatus.RETURNED, result=result),
    )
    state.live.pop(key, None)
    state.unsettled[key] = None


def parked(state: RunState, _entry: ev.Entry, event: ev.AttemptParked) -> None:
    settle_reservations(state, event.attempt)
    assignment = current(state, event.attempt)
    if assignment is None or assignment.attempt is None:
        return
    key = assignment.assignment.assignment_id
    state.assignments[key] = assignment._replace(
        attempt=assignment.attempt._replace(
            status=AttemptStatus.PARKED, host=None, open_calls=event.open_calls, answers={}
        ),
    )
    state.live.pop(key, None)
    state.parked[key] = None
    _show(state, key, SubtaskStatus.WAITING)


def held(state: RunState, _entry: ev.Entry, event: ev.AttemptHeld) -> None:
    key = assignment_of(event.attempt)
    assignment = state.assignments[key]
    attempt = assignment.attempt
    if attempt is None or attempt.attempt != event.attempt or key not in state.unsettled:
        return
    state.assignments[key] = assignment._replace(
        attempt=attempt._replace(
            status=AttemptStatus.PARKED, host=None, open_calls=event.open_calls, answers={}, result=None
        )
    )
    del state.unsettled[key]
    state.parked[key] = None
    _show(state, key, SubtaskStatus.WAITING)


def _show(state: RunState, key: str, status: SubtaskStatus) -> None:
    subtask = state.subtasks.get(key)
    if subtask is not None:
        state.subtasks[key] = subtask._replace(status=status)
