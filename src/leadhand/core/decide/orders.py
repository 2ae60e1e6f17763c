"""Issue work orders, and record reviews."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.ids import order_id
from leadhand.core.run import StepStatus
from leadhand.core.state import RunState
from leadhand.core.work_order import WorkOrder
from leadhand.core.work_result import Review, Verdict, VerdictKind
from leadhand.core.worker import Worker

from .attempts import define


def issue_order(state: RunState, order: WorkOrder, workers: Sequence[Worker] = ()) -> list[ev.AnyEvent]:
    """Issue an order that can be carried out."""
    expected = order_id(len(state.orders) + 1)
    if order.work_order_id != expected:
        raise do.Refused(f"the next order is {expected}, not {order.work_order_id}")
    repaired = [each.repairs_subtask for each in order.subtasks if each.repairs_subtask is not None]
    if len({*repaired}) < len(repaired) or not all(_repairable(state, key) for key in repaired):
        raise do.Refused("a subtask does not need repair, or is repaired twice")
    for key, subtask in zip(order.subtask_keys, order.subtasks, strict=True):
        if key in state.steps and (not state.steps[key].is_early or state.steps[key].subtask != subtask):
            raise do.Refused(f"{key} is another subtask")
    return [*define(state, workers), ev.OrderIssued(order=order)]


def _repairable(state: RunState, key: str) -> bool:
    subtask = state.steps.get(key)
    return subtask is not None and bool(subtask.order) and not subtask.accepted


def judge(state: RunState, work_order_id: str, review: Review) -> list[ev.AnyEvent]:
    """Record a review of an order, or of any results. A result without a verdict is not accepted."""
    given = {verdict.subtask: verdict for verdict in review.verdicts}
    order = state.orders.get(work_order_id)
    if work_order_id and (order is None or order.open or order.review is not None):
        raise do.Refused(f"{work_order_id} is not waiting for a review")
    keys = given if order is None else [key for key in order.order.subtask_keys if key in given]
    if unknown := [key for key in keys if key not in state.steps or not state.steps[key].closed]:
        raise do.Refused(f"{unknown[0]} cannot be judged")
    verdicts = tuple(_recorded(state, given[key]) for key in keys)
    if order is None:
        if all(state.steps[verdict.subtask].verdict == verdict for verdict in verdicts):
            raise do.Refused("these verdicts are already recorded")
        return [ev.ResultsJudged(review=review.evolve(verdicts=verdicts, answer=None))]
    return [ev.ResultsJudged(work_order_id=work_order_id, review=review.evolve(verdicts=verdicts, answer=None))]


def _recorded(state: RunState, verdict: Verdict) -> Verdict:
    """The verdict to record: a person's decision takes precedence, and only a completed result can be accepted."""
    step = state.steps[verdict.subtask]
    if step.by and step.verdict is not None:
        return step.verdict
    if verdict.verdict is VerdictKind.ACCEPT and step.status is not StepStatus.COMPLETED:
        return verdict.evolve(verdict=VerdictKind.DROP, reason=f"it is {step.status} and cannot be accepted")
    return verdict
