"""Issue work orders, and record reviews."""

from __future__ import annotations

from typing import TypeVar

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.counting import subtask_counts
from leadhand.core.evolve import evolve
from leadhand.core.evolve.begun import begun, next_order_id
from leadhand.core.lifecycle import StepStatus
from leadhand.core.plan_approval import unapproved
from leadhand.core.state import RunState
from leadhand.core.work_order import WorkOrder, order_problems
from leadhand.core.work_result import Review, Verdict, VerdictKind

from .beginning import end_unused


def issue_order(state: RunState, order: WorkOrder, by: str) -> list[ev.AnyEvent]:
    """Issue an order that can be carried out; ``by`` is the person who requested it, if any."""
    if order.work_order_id in state.orders:
        raise do.Refused(f"{order.work_order_id} was already issued, and an order cannot change")
    expected = next_order_id(state, order.subtasks)
    if order.work_order_id != expected:
        raise do.Refused(f"the next order is {expected}, not {order.work_order_id}")
    if not by and state.orders_of_lead >= state.definition.limits.max_steps:
        raise do.Refused(f"the run is limited to {state.definition.limits.max_steps} orders")
    latest = state.order
    if latest is not None and (latest.open or latest.review is None):
        raise do.Refused(f"{latest.order.work_order_id} is not finished and reviewed")
    ordered = {key for key, step in state.steps.items() if step.order}
    found = order_problems(order, state.tools, ordered, state.definition.declared)
    found += [
        f"{subtask.name} repairs {subtask.repairs_subtask!r}, which does not need repair"
        for subtask in order.subtasks
        if subtask.repairs_subtask is not None and not _repairable(state, subtask.repairs_subtask)
    ]
    repaired = [subtask.repairs_subtask for subtask in order.subtasks if subtask.repairs_subtask is not None]
    if len(repaired) != len(set(repaired)):
        found.append("two subtasks repair the same one")
    if not by and (new := unapproved(state, order)):
        raise do.Refused(f"nobody has approved the subtask {new[0].name}")
    if found and by:
        return [ev.RequestDeclined(request="retry_granted", reason="; ".join(found))]
    if found:
        raise do.Refused("; ".join(found))
    supplied = [
        ev.SubtaskResolved(subtask=key, data=wanted.data, by=wanted.by)
        for key, subtask in zip(order.subtask_keys(), order.subtasks, strict=True)
        if (wanted := state.retries_wanted.get(subtask.repairs_subtask or "")) is not None and wanted.data is not None
    ]
    keys = set(order.subtask_keys())
    adopted = sum(each.key in keys for each in begun(state))
    unused = [] if adopted else end_unused(state, order)
    issued = ev.WorkOrderIssued(order=order, by=by, begun=adopted)
    return [*unused, _with_counts(state, issued), *(supplied if by else [])]


_Event = TypeVar("_Event", ev.WorkOrderIssued, ev.ResultsJudged)


def _with_counts(state: RunState, event: _Event) -> _Event:
    """Return an event that settles or replaces subtasks, with the counts of the state that includes it."""
    at = state.last_at or state.created_at
    after = evolve(state, ev.Entry(seq=state.seq + 1, at=at, epoch=state.epoch, event=event))
    return event.evolve(listed=subtask_counts(after))


def _repairable(state: RunState, key: str) -> bool:
    subtask = state.steps.get(key)
    return subtask is not None and bool(subtask.order) and subtask.superseded_by is None and not subtask.accepted


def judge(state: RunState, work_order_id: str, review: Review) -> list[ev.AnyEvent]:
    """Record a review. A result without a verdict is not accepted."""
    given = {verdict.subtask: verdict for verdict in review.verdicts}
    if not work_order_id:
        return _judge_results(state, given, review)
    order = state.orders.get(work_order_id)
    if order is None or order.open or order.review is not None:
        raise do.Refused(f"{work_order_id} is not waiting for a review")
    verdicts = [_closed(state, given[key]) for key in order.order.subtask_keys() if key in given]
    sound = review.complete and not review.missing and all(v.verdict is VerdictKind.ACCEPT for v in verdicts)
    covered = len(verdicts) == len(order.order.subtasks)
    answer = review.answer if sound and covered else None
    recorded = review.evolve(verdicts=tuple(verdicts), complete=sound, answer=answer)
    return [_with_counts(state, ev.ResultsJudged(work_order_id=work_order_id, review=recorded))]


def _judge_results(state: RunState, given: dict[str, Verdict], review: Review) -> list[ev.AnyEvent]:
    unknown = [key for key in given if key not in state.steps or not state.steps[key].closed]
    if unknown or not given:
        raise do.Refused(f"{unknown[0] if unknown else 'nothing'} can be judged")
    verdicts = tuple(_closed(state, verdict) for verdict in given.values())
    if all(state.steps[verdict.subtask].verdict == verdict for verdict in verdicts):
        raise do.Refused("these verdicts are already recorded")
    judged = ev.ResultsJudged(review=review.evolve(verdicts=verdicts, answer=None))
    settles = any(state.steps[verdict.subtask].order for verdict in verdicts)
    return [_with_counts(state, judged) if settles else judged]


def _closed(state: RunState, verdict: Verdict) -> Verdict:
    """The verdict to record: a person's decision takes precedence, and only a completed result can be accepted."""
    judged = state.steps[verdict.subtask]
    if judged.by and judged.verdict is not None:
        return judged.verdict
    if verdict.verdict is VerdictKind.ACCEPT and judged.status is not StepStatus.COMPLETED:
        return verdict.evolve(verdict=VerdictKind.DROP, reason=f"it is {judged.status} and cannot be accepted")
    return verdict
