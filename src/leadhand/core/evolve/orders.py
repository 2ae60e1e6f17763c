"""Apply events of orders, reviews and people's decisions to the state."""

from __future__ import annotations

from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.evidence import made_calls, needs_failed, skipped
from leadhand.core.ids import assignment_of, event_id
from leadhand.core.lifecycle import SETTLED, AssignmentStatus
from leadhand.core.state import AssignmentState, OrderState, RetryWanted, RunState
from leadhand.core.work_order import Assignment, Subtask
from leadhand.core.work_result import Verdict, VerdictKind

from .attempts import await_needs, blocked_by, descendants, needs_settled, planned
from .begun import replace_begun
from .continued import continued

WORKER = "work"
"""The role that carries out the subtasks of a work order."""


def order_issued(state: RunState, entry: ev.Entry, event: ev.WorkOrderIssued) -> None:
    order = event.order
    keys = order.subtask_keys()
    adopted = state.assignments.keys() & set(keys) if event.begun else ()
    unsettled = len(keys) - sum(state.assignments[key].closed for key in adopted)
    state.orders[order.work_order_id] = OrderState(order=order, at=entry.at, open=unsettled, by=event.by)
    wanted = dict(state.retries_wanted) if event.by else {}
    if event.by:
        state.retries_wanted.clear()
    for position, (key, subtask) in enumerate(zip(keys, order.subtasks, strict=True)):
        if key in adopted:
            state.assignments[key] = state.assignments[key]._replace(order=order.work_order_id, position=position)
            continue
        planned(state, subtask_assignment(state, key, subtask), order.work_order_id, position)
        if subtask.repairs_subtask is not None:
            repaired = state.assignments[subtask.repairs_subtask]
            state.assignments[repaired.key] = repaired._replace(superseded_by=key)
            by_hand = repaired.by_hand or (repaired.key in wanted and _by_hand(repaired, wanted[repaired.key].args))
            state.assignments[key] = state.assignments[key]._replace(by_hand=by_hand)
    fresh = [key for key in keys if key not in adopted]
    if len(state.orders) == 1 and not adopted:
        replace_begun(state, order)
    for key in fresh:
        if not state.assignments[key].reuses:
            await_needs(state, key)


def subtask_assignment(state: RunState, key: str, subtask: Subtask) -> Assignment:
    """Return the assignment that carries out a subtask: with the worker of the project that it names, if it names one.

    Subtasks of old logs can name workers that do not exist.
    """
    declared = any(role.name == subtask.worker for role in state.definition.workers)
    role = subtask.worker if declared and subtask.worker is not None else WORKER
    return Assignment(
        assignment_id=key, role=role, title=subtask.name, needs=subtask.needs, subtask=subtask, counts=True
    )


def blocked(state: RunState, entry: ev.Entry, event: ev.SubtaskBlocked) -> None:
    key = event.subtask
    assignment = state.assignments[key]
    for place in (state.blocked, state.ready, state.awaited):
        place.pop(key, None)
    state.assignments[key] = assignment._replace(
        status=AssignmentStatus.FAILED,
        event_ids=(*assignment.event_ids, event_id(entry.seq)),
        failure=needs_failed(event.cause),
    )
    needs_settled(state, key, ok=False)


def retry_granted(state: RunState, entry: ev.Entry, event: ev.RetryGranted) -> None:
    """Record which subtasks to repeat in another order; restart other assignments, and those that they had blocked."""
    state.pending_requests = state.pending_requests[1:]
    for key in event.subtasks:
        if state.assignments[key].order:
            state.retries_wanted[key] = RetryWanted(by=event.by, args=event.args, data=event.data)
    again = [key for key in event.subtasks if not state.assignments[key].order]
    if event.args is None:
        again += [child for key in again for child in continued(state, key)]
    reopened = list(dict.fromkeys([*again, *blocked_by(state, set(again))]))
    for key in reopened:
        assignment = state.assignments[key]
        given = assignment.assignment
        if given.judges in state.orders:
            state.orders[given.judges] = state.orders[given.judges]._replace(review=None)
        if event.args is not None and key in again:
            given = given.model_copy(update={"input": event.args})
            assignment = assignment._replace(stopped=None)  # another task begins afresh
        state.assignments[key] = assignment._replace(
            assignment=given,
            status=AssignmentStatus.PENDING,
            failures=(),
            data=None,
            value=None,
            failure=None,
            verdict=None,
            by="",
            by_hand=assignment.by_hand or (key in again and _by_hand(assignment, event.args)),
        )
    for key in (*reopened, *(key for key, cause in list(state.blocked.items()) if cause in reopened)):
        await_needs(state, key)


def _by_hand(assignment: AssignmentState, args: dict[str, Any] | None) -> bool:
    """Whether a retry with these arguments (None: the same) is a call that no plan made: a person chose it."""
    return args is not None or assignment.acted


def resolved(state: RunState, entry: ev.Entry, event: ev.SubtaskResolved) -> None:
    """Settle an assignment by a person's decision; the assignments that it had blocked are retried."""
    request = next(iter(state.pending_requests), None)
    if isinstance(request, ev.SkipRequested | ev.ResultSupplied) and request.subtask == event.subtask:
        state.pending_requests = state.pending_requests[1:]
    key = event.subtask
    assignment = state.assignments[key]
    was = assignment.status
    failure, verdict = None, Verdict(subtask=key, verdict=VerdictKind.ACCEPT, reason=f"supplied by {event.by}")
    if event.data is None:
        doubted = assignment.indeterminate_calls
        failure = skipped(event.by, event.reason, doubted[0].tool if doubted else "")
        verdict = Verdict(subtask=key, verdict=VerdictKind.DROP, reason=failure.message)
    for name in (key, *descendants(state, key)):
        _close(state, name, event)
    state.assignments[key] = state.assignments[key]._replace(
        status=AssignmentStatus.DROPPED if event.data is None else AssignmentStatus.COMPLETED,
        data=event.data,
        value=event.data.raw if event.data is not None else None,
        failure=failure,
        verdict=verdict,
        by=event.by,
        acted=assignment.has_acted,
        made=made_calls(assignment),
        event_ids=(*assignment.event_ids, event_id(entry.seq)),
    )
    if was not in SETTLED:
        needs_settled(state, key, ok=event.data is not None)
    elif event.data is not None:
        for dependent in [dependent for dependent, cause in state.blocked.items() if cause == key]:
            await_needs(state, dependent)
        for dependent in blocked_by(state, {key}):
            if state.assignments[dependent].order:
                state.retries_wanted[dependent] = RetryWanted(by=event.by)
            else:
                state.assignments[dependent] = state.assignments[dependent]._replace(
                    status=AssignmentStatus.PENDING, failure=None
                )
                await_needs(state, dependent)


def _close(state: RunState, name: str, event: ev.SubtaskResolved) -> None:
    """End an assignment that is no longer needed: withdraw its approvals and release its reservations."""
    for asked in list(state.approvals.values()):
        if asked.status is ApprovalStatus.PENDING and assignment_of(asked.attempt) == name:
            state.approvals[asked.approval_id] = asked.evolve(status=ApprovalStatus.DENIED, by=event.by)
    assignment = state.assignments.get(name)
    if assignment is None or assignment.closed:
        return
    waiting = (state.ready, state.blocked, state.awaited, state.reusable)
    for place in (*waiting, state.live, state.parked, state.unsettled, state.retrying, state.busy):
        place.pop(name, None)
    failure = skipped(event.by, event.reason)
    state.assignments[name] = assignment._replace(
        status=AssignmentStatus.DROPPED,
        attempt=None,
        calls=(),
        begun=(),
        failure=failure,
        acted=assignment.has_acted,
        made=made_calls(assignment),
    )


def judged(state: RunState, _entry: ev.Entry, event: ev.ResultsJudged) -> None:
    if event.work_order_id:
        order = state.orders[event.work_order_id]
        state.orders[event.work_order_id] = order._replace(review=event.review)
    for verdict in event.review.verdicts:
        assignment = state.assignments[verdict.subtask]
        if assignment.by:
            continue  # a person's decision takes precedence
        status, failure = assignment.status, assignment.failure
        if assignment.order:
            if verdict.verdict is VerdictKind.DROP:
                status = AssignmentStatus.DROPPED
            elif verdict.verdict is not VerdictKind.ACCEPT and status is AssignmentStatus.COMPLETED:
                status = AssignmentStatus.FAILED
        if status is not assignment.status and failure is None:
            reason = verdict.reason or "the review rejected the result"
            failure = Failure.of(reason, "found_wanting", FailureClass.INSUFFICIENT)
        state.assignments[verdict.subtask] = assignment._replace(status=status, failure=failure, verdict=verdict)
