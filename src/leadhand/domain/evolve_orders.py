"""What events do to orders and their subtasks: which may start, which are doomed, what the review made of them."""

from __future__ import annotations

from . import events as ev
from .approval import ApprovalStatus
from .children import descendants
from .errors import Failure, FailureClass
from .evidence import given_up, left_undone
from .ids import assignment_of, event_id
from .lifecycle import SETTLED_SUBTASK, SubtaskStatus
from .review import Decision, Verdict
from .state import Again, OrderState, RunState, SubtaskState
from .tool import Effect


def order_issued(state: RunState, entry: ev.Entry, event: ev.WorkOrderIssued) -> None:
    order = event.order
    keys = order.subtask_keys()
    state.orders[order.work_order_id] = OrderState(order=order, at=entry.at, open=len(keys), by=event.by)
    if event.by:
        state.again = {}
    for position, (key, subtask) in enumerate(zip(keys, order.subtasks, strict=True)):
        state.subtasks[key] = SubtaskState(key=key, order=order.work_order_id, position=position, subtask=subtask)
        if subtask.repairs_subtask is not None:
            repaired = state.subtasks[subtask.repairs_subtask]
            state.subtasks[repaired.key] = repaired._replace(superseded_by=key)
    for key, subtask in zip(keys, order.subtasks, strict=True):
        awaited = 0
        for needed in subtask.needs:
            match state.subtasks[needed].status:
                case SubtaskStatus.COMPLETED:
                    pass
                case SubtaskStatus.FAILED | SubtaskStatus.DROPPED:
                    state.doomed[key] = needed
                case _:
                    awaited += 1
                    state.dependents[needed] = (*state.dependents.get(needed, ()), key)
        if awaited:
            state.awaited[key] = awaited
        elif key not in state.doomed:
            state.ready[key] = None


def subtask_settled(state: RunState, key: str, *, ok: bool) -> None:
    """Count a subtask off its order, and free or doom those that need it."""
    order = state.orders[state.subtasks[key].order]
    state.orders[order.order.work_order_id] = order._replace(open=order.open - 1)
    for dependent in state.dependents.pop(key, ()):
        if not ok:
            if state.subtasks[dependent].status is SubtaskStatus.PENDING:
                state.doomed.setdefault(dependent, key)
            continue
        if dependent not in state.awaited:  # blocked meanwhile by another of its needs
            continue
        state.awaited[dependent] -= 1
        if not state.awaited[dependent]:
            del state.awaited[dependent]
            if dependent not in state.doomed:
                state.ready[dependent] = None


def blocked(state: RunState, entry: ev.Entry, event: ev.SubtaskBlocked) -> None:
    subtask = state.subtasks[event.subtask]
    state.doomed.pop(event.subtask, None)
    state.ready.pop(event.subtask, None)
    state.awaited.pop(event.subtask, None)
    state.subtasks[event.subtask] = subtask._replace(
        status=SubtaskStatus.FAILED,
        event_ids=(*subtask.event_ids, event_id(entry.seq)),
        failure=given_up(event.cause),
    )
    subtask_settled(state, event.subtask, ok=False)


def retry_granted(state: RunState, _entry: ev.Entry, event: ev.RetryGranted) -> None:
    state.wishes = state.wishes[1:]
    for key in event.subtasks:
        state.again[key] = Again(by=event.by, args=event.args, data=event.data)


def resolved(state: RunState, entry: ev.Entry, event: ev.SubtaskResolved) -> None:
    """A person's word settles a subtask, whatever it was waiting for; what had given it up is tried again."""
    state.wishes = state.wishes[1:] if state.wishes and _is_of(state.wishes[0], event.subtask) else state.wishes
    key = event.subtask
    subtask = state.subtasks[key]
    was = subtask.status
    for place in (state.ready, state.doomed, state.awaited):
        place.pop(key, None)
    failure, verdict = None, Verdict(subtask=key, verdict=Decision.ACCEPT, reason=f"supplied by {event.by}")
    assignment = state.assignments.get(key)
    acted = subtask.acted
    if assignment is not None and not assignment.closed:
        acted = acted or any(call.effect is Effect.ONCE for call in (*assignment.evidence, *assignment.begun))
        order = state.orders[subtask.order]
        state.orders[subtask.order] = order._replace(running=order.running - 1)
    if event.data is None:
        doubted = assignment.doubts[0].tool if assignment is not None and assignment.doubts else ""
        failure = left_undone(event.by, event.reason, doubted)
        verdict = Verdict(subtask=key, verdict=Decision.DROP, reason=failure.message)
    for name in (key, *descendants(state, key)):
        _close(state, name, event)
    state.subtasks[key] = subtask._replace(
        status=SubtaskStatus.DROPPED if event.data is None else SubtaskStatus.COMPLETED,
        data=event.data,
        failure=failure,
        verdict=verdict,
        by=event.by,
        acted=acted,
        event_ids=(*subtask.event_ids, event_id(entry.seq)),
    )
    if was not in SETTLED_SUBTASK:
        subtask_settled(state, key, ok=event.data is not None)
    elif event.data is not None:
        for dependent in [dependent for dependent, cause in state.doomed.items() if cause == key]:
            del state.doomed[dependent]
            _await(state, dependent)
        for dependent in blocked_by(state, {key}):
            state.again[dependent] = Again(by=event.by)


def _close(state: RunState, name: str, event: ev.SubtaskResolved) -> None:
    """End an assignment that nobody needs any more: its questions are withdrawn, its attempt holds nothing."""
    assignment = state.assignments.get(name)
    if assignment is None or assignment.closed:
        return
    for place in (state.live, state.parked, state.unsettled, state.retrying):
        place.pop(name, None)
    failure = None if event.data is not None else left_undone(event.by, event.reason)
    state.assignments[name] = assignment._replace(
        attempt=None, calls=(), begun=(), ok=event.data is not None, failure=failure
    )
    for asked in list(state.approvals.values()):
        if asked.status is ApprovalStatus.PENDING and assignment_of(asked.attempt) == name:
            state.approvals[asked.approval_id] = asked.evolve(status=ApprovalStatus.DENIED, by=event.by)


def _is_of(wish: object, key: str) -> bool:
    return isinstance(wish, ev.SkipRequested | ev.ResultSupplied) and wish.subtask == key


def _await(state: RunState, key: str) -> None:
    """Find out anew what a subtask that is not doomed any more waits for."""
    needs = state.subtasks[key].subtask.needs
    statuses = {needed: state.subtasks[needed].status for needed in needs}
    lost = next((n for n, s in statuses.items() if s in (SubtaskStatus.FAILED, SubtaskStatus.DROPPED)), None)
    awaited = sum(1 for status in statuses.values() if status is not SubtaskStatus.COMPLETED)
    state.awaited.pop(key, None)
    if lost is not None:
        state.doomed[key] = lost
    elif awaited:
        state.awaited[key] = awaited
    else:
        state.ready[key] = None


def blocked_by(state: RunState, causes: set[str]) -> list[str]:
    """The subtasks that were given up since they need one of ``causes``, or one that was given up for that reason."""
    found: list[str] = []
    for key, subtask in state.subtasks.items():
        given_up = subtask.failure is not None and subtask.failure.class_ is FailureClass.BLOCKED
        if given_up and subtask.superseded_by is None and causes.intersection(subtask.subtask.needs):
            found.append(key)
            causes = {*causes, key}
    return found


def reviewed(state: RunState, _entry: ev.Entry, event: ev.OrderReviewed) -> None:
    order = state.orders[event.work_order_id]
    state.orders[event.work_order_id] = order._replace(review=event.review)
    for verdict in event.review.verdicts:
        subtask = state.subtasks[verdict.subtask]
        if subtask.by:
            continue  # a person's word stands
        status, failure = subtask.status, subtask.failure
        if verdict.verdict is Decision.DROP:
            status = SubtaskStatus.DROPPED
        elif verdict.verdict is not Decision.ACCEPT and status is SubtaskStatus.COMPLETED:
            status = SubtaskStatus.FAILED
        if status is not subtask.status and failure is None:
            reason = verdict.reason or "the review found it wanting"
            failure = Failure.model_validate({"message": reason, "type": "found_wanting", "class": "insufficient"})
        state.subtasks[verdict.subtask] = subtask._replace(status=status, failure=failure, verdict=verdict)
