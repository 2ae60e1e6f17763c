"""Apply events of orders, reviews and people's decisions to the state."""

from __future__ import annotations

from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.evidence import made_calls, needs_failed, skipped
from leadhand.core.ids import event_id, step_of
from leadhand.core.lifecycle import SETTLED, StepStatus
from leadhand.core.state import OrderState, RetryWanted, RunState, StepState
from leadhand.core.work_order import Step, Subtask
from leadhand.core.work_result import Verdict, VerdictKind

from .attempts import await_needs, blocked_by, descendants, needs_settled, planned
from .begun import replace_begun
from .continued import continued


def order_issued(state: RunState, entry: ev.Entry, event: ev.WorkOrderIssued) -> None:
    order = event.order
    keys = order.subtask_keys()
    adopted = state.steps.keys() & set(keys) if event.begun else ()
    unsettled = len(keys) - sum(state.steps[key].closed for key in adopted)
    state.orders[order.work_order_id] = OrderState(order=order, at=entry.at, open=unsettled, by=event.by)
    wanted = dict(state.retries_wanted) if event.by else {}
    if event.by:
        state.retries_wanted.clear()
    for position, (key, subtask) in enumerate(zip(keys, order.subtasks, strict=True)):
        if key in adopted:
            state.steps[key] = state.steps[key]._replace(order=order.work_order_id, position=position)
            continue
        planned(state, subtask_step(state, key, subtask), order.work_order_id, position)
        if subtask.repairs_subtask is not None:
            repaired = state.steps[subtask.repairs_subtask]
            state.steps[repaired.key] = repaired._replace(superseded_by=key)
            by_hand = repaired.by_hand or (repaired.key in wanted and _by_hand(repaired, wanted[repaired.key].args))
            state.steps[key] = state.steps[key]._replace(by_hand=by_hand)
    fresh = [key for key in keys if key not in adopted]
    if len(state.orders) == 1 and not adopted:
        replace_begun(state, order)
    for key in fresh:
        if not state.steps[key].reuses:
            await_needs(state, key)


def subtask_step(state: RunState, key: str, subtask: Subtask) -> Step:
    """Return the step that carries out a subtask: with the worker of the project that it names, if it names one.

    Subtasks of old logs can name workers that do not exist.
    """
    declared = any(role.name == subtask.worker for role in state.definition.declared)
    role = subtask.worker if declared and subtask.worker is not None else state.definition.subtask_worker
    return Step(step_id=key, worker=role, title=subtask.name, needs=subtask.needs, subtask=subtask, counts=True)


def blocked(state: RunState, entry: ev.Entry, event: ev.SubtaskBlocked) -> None:
    key = event.subtask
    step = state.steps[key]
    for place in (state.blocked, state.ready, state.awaited):
        place.pop(key, None)
    state.steps[key] = step._replace(
        status=StepStatus.FAILED,
        event_ids=(*step.event_ids, event_id(entry.seq)),
        failure=needs_failed(event.cause),
    )
    needs_settled(state, key, ok=False)


def retry_granted(state: RunState, entry: ev.Entry, event: ev.RetryGranted) -> None:
    """Record which subtasks to repeat in another order; restart other steps, and those that they had blocked."""
    state.pending_requests = state.pending_requests[1:]
    for key in event.subtasks:
        if state.steps[key].order:
            state.retries_wanted[key] = RetryWanted(by=event.by, args=event.args, data=event.data)
    again = [key for key in event.subtasks if not state.steps[key].order]
    if event.args is None:
        again += [child for key in again for child in continued(state, key)]
    reopened = list(dict.fromkeys([*again, *blocked_by(state, set(again))]))
    for key in reopened:
        step = state.steps[key]
        given = step.step
        if given.judges in state.orders:
            state.orders[given.judges] = state.orders[given.judges]._replace(review=None)
        if event.args is not None and key in again:
            given = given.model_copy(update={"input": event.args})
            step = step._replace(stopped=None)  # another task begins afresh
        state.steps[key] = step._replace(
            step=given,
            status=StepStatus.PENDING,
            failures=(),
            data=None,
            value=None,
            failure=None,
            verdict=None,
            by="",
            by_hand=step.by_hand or (key in again and _by_hand(step, event.args)),
        )
    for key in (*reopened, *(key for key, cause in list(state.blocked.items()) if cause in reopened)):
        await_needs(state, key)


def _by_hand(step: StepState, args: dict[str, Any] | None) -> bool:
    """Whether a retry with these arguments (None: the same) is a call that no plan made: a person chose it."""
    return args is not None or step.acted


def resolved(state: RunState, entry: ev.Entry, event: ev.SubtaskResolved) -> None:
    """Settle a step by a person's decision; the steps that it had blocked are retried."""
    request = next(iter(state.pending_requests), None)
    if isinstance(request, ev.SkipRequested | ev.ResultSupplied) and request.subtask == event.subtask:
        state.pending_requests = state.pending_requests[1:]
    key = event.subtask
    step = state.steps[key]
    was = step.status
    failure, verdict = None, Verdict(subtask=key, verdict=VerdictKind.ACCEPT, reason=f"supplied by {event.by}")
    if event.data is None:
        doubted = step.indeterminate_calls
        failure = skipped(event.by, event.reason, doubted[0].tool if doubted else "")
        verdict = Verdict(subtask=key, verdict=VerdictKind.DROP, reason=failure.message)
    for name in (key, *descendants(state, key)):
        _close(state, name, event)
    state.steps[key] = state.steps[key]._replace(
        status=StepStatus.DROPPED if event.data is None else StepStatus.COMPLETED,
        data=event.data,
        value=event.data.raw if event.data is not None else None,
        failure=failure,
        verdict=verdict,
        by=event.by,
        acted=step.has_acted,
        made=made_calls(step),
        event_ids=(*step.event_ids, event_id(entry.seq)),
    )
    if was not in SETTLED:
        needs_settled(state, key, ok=event.data is not None)
    elif event.data is not None:
        for dependent in [dependent for dependent, cause in state.blocked.items() if cause == key]:
            await_needs(state, dependent)
        for dependent in blocked_by(state, {key}):
            if state.steps[dependent].order:
                state.retries_wanted[dependent] = RetryWanted(by=event.by)
            else:
                state.steps[dependent] = state.steps[dependent]._replace(status=StepStatus.PENDING, failure=None)
                await_needs(state, dependent)


def _close(state: RunState, name: str, event: ev.SubtaskResolved) -> None:
    """End a step that is no longer needed: withdraw its approvals and release its reservations."""
    for asked in list(state.approvals.values()):
        if asked.status is ApprovalStatus.PENDING and step_of(asked.attempt) == name:
            state.approvals[asked.approval_id] = asked.evolve(status=ApprovalStatus.DENIED, by=event.by)
    step = state.steps.get(name)
    if step is None or step.closed:
        return
    waiting = (state.ready, state.blocked, state.awaited, state.reusable)
    for place in (*waiting, state.live, state.parked, state.unsettled, state.retrying, state.busy):
        place.pop(name, None)
    failure = skipped(event.by, event.reason)
    state.steps[name] = step._replace(
        status=StepStatus.DROPPED,
        attempt=None,
        calls=(),
        begun=(),
        failure=failure,
        acted=step.has_acted,
        made=made_calls(step),
    )


def judged(state: RunState, _entry: ev.Entry, event: ev.ResultsJudged) -> None:
    if event.work_order_id:
        order = state.orders[event.work_order_id]
        state.orders[event.work_order_id] = order._replace(review=event.review)
    for verdict in event.review.verdicts:
        step = state.steps[verdict.subtask]
        if step.by:
            continue  # a person's decision takes precedence
        status, failure = step.status, step.failure
        if step.order:
            if verdict.verdict is VerdictKind.DROP:
                status = StepStatus.DROPPED
            elif verdict.verdict is not VerdictKind.ACCEPT and status is StepStatus.COMPLETED:
                status = StepStatus.FAILED
        if status is not step.status and failure is None:
            reason = verdict.reason or "the review rejected the result"
            failure = Failure.of(reason, "found_wanting", FailureClass.INSUFFICIENT)
        state.steps[verdict.subtask] = step._replace(status=status, failure=failure, verdict=verdict)
