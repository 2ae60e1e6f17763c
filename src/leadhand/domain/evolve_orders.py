"""What events do to orders and their subtasks: which may start, which are doomed, what the review made of them."""

from __future__ import annotations

from . import events as ev
from .errors import Failure
from .ids import event_id
from .lifecycle import SubtaskStatus
from .review import Decision
from .state import OrderState, RunState, SubtaskState


def order_issued(state: RunState, entry: ev.Entry, event: ev.WorkOrderIssued) -> None:
    order = event.order
    keys = order.subtask_keys()
    state.orders[order.work_order_id] = OrderState(order=order, at=entry.at, open=len(keys))
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
        failure=Failure.model_validate(
            {"message": f"it needs {event.cause}, which did not succeed", "type": "needs_failed", "class": "blocked"}
        ),
    )
    subtask_settled(state, event.subtask, ok=False)


def reviewed(state: RunState, _entry: ev.Entry, event: ev.OrderReviewed) -> None:
    order = state.orders[event.work_order_id]
    state.orders[event.work_order_id] = order._replace(review=event.review)
    for verdict in event.review.verdicts:
        subtask = state.subtasks[verdict.subtask]
        status, failure = subtask.status, subtask.failure
        if verdict.verdict is Decision.DROP:
            status = SubtaskStatus.DROPPED
        elif verdict.verdict is not Decision.ACCEPT and status is SubtaskStatus.COMPLETED:
            status = SubtaskStatus.FAILED
        if status is not subtask.status and failure is None:
            reason = verdict.reason or "the review found it wanting"
            failure = Failure.model_validate({"message": reason, "type": "found_wanting", "class": "insufficient"})
        state.subtasks[verdict.subtask] = subtask._replace(status=status, failure=failure, verdict=verdict)
