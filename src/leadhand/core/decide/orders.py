"""Issue work orders, and record reviews of their results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from leadhand.core import events as ev
from leadhand.core.errors import Refused
from leadhand.core.ids import order_id
from leadhand.core.run import StepStatus
from leadhand.core.state import RunState
from leadhand.core.work_order import WorkOrder
from leadhand.core.work_result import Review, Verdict, VerdictKind
from leadhand.core.worker import Worker

from .attempts import define


class IssueOrder(NamedTuple):
    """Issue an order, which is immutable from then on. ``workers`` carry it out, and are defined if the run does not
    know them."""

    order: WorkOrder
    workers: Sequence[Worker] = ()

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        order, expected = self.order, order_id(len(state.orders) + 1)
        if order.work_order_id != expected:
            raise Refused(f"the next order is {expected}, not {order.work_order_id}")
        repaired = [each.repairs_subtask for each in order.subtasks if each.repairs_subtask is not None]
        if len({*repaired}) < len(repaired) or not all(_repairable(state, key) for key in repaired):
            raise Refused("a subtask does not need repair, or is repaired twice")
        for key, subtask in zip(order.subtask_keys, order.subtasks, strict=True):
            if key in state.steps and (not state.steps[key].is_early or state.steps[key].subtask != subtask):
                raise Refused(f"{key} is another subtask")
        return [*define(state, self.workers), ev.OrderIssued(order=order)]


def _repairable(state: RunState, key: str) -> bool:
    subtask = state.steps.get(key)
    return subtask is not None and bool(subtask.order) and not subtask.accepted


class Judge(NamedTuple):
    """Record a review of an order whose subtasks are settled. A result without a verdict is not accepted."""

    work_order_id: str
    review: Review

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        given = {verdict.subtask: verdict for verdict in self.review.verdicts}
        order = state.orders.get(self.work_order_id)
        if order is None or order.open or order.review is not None:
            raise Refused(f"{self.work_order_id} is not waiting for a review")
        verdicts = tuple(_recorded(state, given[key]) for key in order.order.subtask_keys if key in given)
        review = self.review.evolve(verdicts=verdicts, answer=None)
        return [ev.ResultsJudged(work_order_id=self.work_order_id, review=review)]


def _recorded(state: RunState, verdict: Verdict) -> Verdict:
    """The verdict to record: a person's decision takes precedence, and only a completed result can be accepted."""
    step = state.steps[verdict.subtask]
    if step.by and step.verdict is not None:
        return step.verdict
    if verdict.verdict is VerdictKind.ACCEPT and step.status is not StepStatus.COMPLETED:
        return verdict.evolve(verdict=VerdictKind.DROP, reason=f"it is {step.status} and cannot be accepted")
    return verdict
