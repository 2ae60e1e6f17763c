"""What events do to assignments and the attempts at them. What a late attempt returns is ignored; its spend is not."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.domain import events as ev
from leadhand.domain.assignment import Assignment
from leadhand.domain.evidence import with_evidence
from leadhand.domain.ids import assignment_of, event_id
from leadhand.domain.lifecycle import AssignmentStatus, AttemptStatus
from leadhand.domain.state import AssignmentState, AttemptState, CallAnswer, ModelTurn, RunState
from leadhand.domain.value import Json
from leadhand.domain.work_result import WorkResult

from .needs import await_needs, needs_settled

INTERRUPTED = "interrupted"
"""The type of the failure that pausing a run causes. It does not count against the attempt."""


def assigned(state: RunState, _entry: ev.Entry, event: ev.AssignmentIssued) -> None:
    key = event.assignment.assignment_id
    if key not in state.assignments:
        planned(state, event.assignment)
    if key in state.ready:  # nothing to wait for: its first attempt is scheduled by the same event
        _schedule(state, key, AttemptState(attempt=f"{key}/a1", number=1))


def planned(state: RunState, assignment: Assignment, order: str = "", position: int = 0) -> None:
    """Take a new assignment into the state; it starts once its needs are completed."""
    key = assignment.assignment_id
    state.assignments[key] = AssignmentState(assignment=assignment, order=order, position=position)
    if not order:  # an order's own assignments may need each other: see orders.order_issued
        await_needs(state, key, assignment.needs)


def _schedule(state: RunState, key: str, attempt: AttemptState) -> None:
    before = state.assignments[key]
    state.assignments[key] = before._replace(
        status=AssignmentStatus.RUNNING, attempt=attempt, attempts=max(before.attempts, attempt.number)
    )
    for place in (state.ready, state.parked, state.retrying):
        place.pop(key, None)
    state.live[key] = None
    if before.counts:
        state.busy[key] = None


def scheduled(state: RunState, _entry: ev.Entry, event: ev.AttemptScheduled) -> None:
    key = assignment_of(event.attempt)
    assignment = state.assignments[key]
    before = assignment.attempt
    afresh = event.continues is None
    answers: Mapping[str, CallAnswer] = (
        before.answers if before is not None and event.continues == before.attempt else {}
    )
    state.assignments[key] = assignment._replace(
        calls=() if afresh else assignment.calls,
        begun=(),
        compacted=(-1, 0) if afresh else assignment.compacted,
    )
    attempt = AttemptState(
        attempt=event.attempt,
        number=int(event.attempt.rpartition("/a")[2]),
        continues=event.continues,
        not_before=event.not_before,
        feedback=event.feedback,
        answers=answers,
    )
    _schedule(state, key, attempt)


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
    changed = assignment._replace(
        failures=failures, failure=event.failure, event_ids=(*assignment.event_ids, event_id(entry.seq))
    )
    if not event.final:
        state.assignments[key] = changed._replace(attempt=attempt._replace(status=AttemptStatus.SETTLED))
        state.retrying[key] = None
        return
    result = attempt.result
    data = result.data if event.ok and result is not None else None
    if data is not None and result is not None:
        data = with_evidence(data, result.used, assignment.evidence)
    # An attempt at a subtask has words as its result; what a model wrote as JSON is the value of anything else.
    structured = event.ok and assignment.assignment.subtask is None
    state.assignments[key] = changed._replace(
        status=AssignmentStatus.COMPLETED if event.ok else AssignmentStatus.FAILED,
        attempt=None,
        calls=(),
        begun=(),
        data=data,
        value=last_value(assignment) if structured else None,
        acted=assignment.has_acted,
    )
    state.busy.pop(key, None)
    needs_settled(state, key, ok=event.ok)


def last_value(assignment: AssignmentState) -> Json:
    """The structured answer of an assignment: that of the last reply in its lineage, which the log holds once."""
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
    """Count what an attempt still had reserved in full: what its calls used will not become known."""
    for amount in state.reserved.pop(attempt, {}).values():
        state.spent = state.spent + amount


def lost(state: RunState, _entry: ev.Entry, event: ev.AttemptLost) -> None:
    settle_reservations(state, event.attempt)
    assignment = current(state, event.attempt)
    if assignment is not None:
        name = assignment_of(event.attempt)
        _return(state, assignment, WorkResult.failed(name, event.failure))


def attempt_started(state: RunState, _entry: ev.Entry, event: ev.AttemptStarted) -> None:
    assignment = current(state, event.attempt)
    if assignment is not None and assignment.attempt is not None:
        state.assignments[assignment.key] = assignment._replace(
            attempt=assignment.attempt._replace(status=AttemptStatus.RUNNING, host=event.host)
        )


def attempt_returned(state: RunState, _entry: ev.Entry, event: ev.AttemptReturned) -> None:
    settle_reservations(state, event.attempt)
    assignment = current(state, event.attempt)
    if assignment is not None:
        _return(state, assignment, event.result)


def _return(state: RunState, assignment: AssignmentState, result: WorkResult) -> None:
    key = assignment.key
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
    attempt = assignment.attempt._replace(
        status=AttemptStatus.PARKED, host=None, open_calls=event.open_calls, answers={}
    )
    state.live.pop(assignment.key, None)
    _park(state, assignment, attempt)


def effect_questioned(state: RunState, _entry: ev.Entry, event: ev.EffectQuestioned) -> None:
    key = assignment_of(event.attempt)
    assignment = state.assignments[key]
    attempt = assignment.attempt
    if attempt is None or attempt.attempt != event.attempt or key not in state.unsettled:
        return
    del state.unsettled[key]
    parked_ = attempt._replace(
        status=AttemptStatus.PARKED, host=None, open_calls=event.open_calls, answers={}, result=None
    )
    _park(state, assignment, parked_)


def _park(state: RunState, assignment: AssignmentState, attempt: AttemptState) -> None:
    state.parked[assignment.key] = None
    state.assignments[assignment.key] = assignment._replace(status=AssignmentStatus.WAITING, attempt=attempt)
