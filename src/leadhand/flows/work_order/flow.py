"""The work-order flow: plan, fan out, review, repair what fell short, compose one answer.

::

    plan ─▶ order ─▶ workers in parallel ─▶ over when none runs or waits ─▶ review ─▶ answer
              ▲                                                               │
              └────────────── repair order: what is open or missing ◀─────────┘        at most max_steps orders
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from leadhand.domain import commands as do
from leadhand.domain.assignment import Assignment, Role
from leadhand.domain.errors import Failure
from leadhand.domain.review import Review
from leadhand.domain.run import RunStatus
from leadhand.domain.state import OrderState, RunState
from leadhand.flows import briefs, composing, planning, reviewing
from leadhand.flows.flow import Brief
from leadhand.flows.repair import person_order, repair_order


class WorkOrderFlow:
    """Plan a request as an order, carry it out, judge the evidence, repair only what fell short, answer."""

    name = "work-order"
    version = 1

    def next(self, state: RunState) -> Sequence[do.Command]:
        if state.finished is not None:
            return []
        if state.cancel_by is not None:
            return [do.Finish(answer=None, status=RunStatus.CANCELLED, failure=_cancelled(state.cancel_by))]
        if state.status is not RunStatus.RUNNING or state.pause_reason is not None:
            return []
        order = state.order
        if order is None:
            return _plan(state)
        if order.open:
            return list(_hand_out(state, order))
        if order.review is None:
            return reviewing.review(state, order)
        if state.again:
            return _as_asked(state, order)
        repair = repair_order(state, order) if state.steps < state.definition.limits.max_steps else None
        if repair is not None:
            return [do.IssueOrder(order=repair), *_refuse(state, order.review)]
        return [*_refuse(state, order.review), *_answer(state, order)]

    def brief(self, state: RunState, assignment: Assignment) -> Brief:
        match assignment.role:
            case Role.PLAN:
                return briefs.plan(state, assignment)
            case Role.REVIEW:
                return briefs.review(state, assignment)
            case Role.COMPOSE:
                return _compose_brief(state, assignment)
            case _ if assignment.parent is not None:
                return briefs.child(state, assignment)
            case _:
                return briefs.work(state, assignment)


def _plan(state: RunState) -> list[do.Command]:
    wanted = planning.plan(state)
    if isinstance(wanted, list):
        return wanted
    commands = planning.issued(state, wanted)
    return commands if wanted.subtasks else [*commands, *composing.compose(state)]


def _hand_out(state: RunState, order: OrderState) -> Iterator[do.Command]:
    """Every subtask that may start; with a batch size, the next group once the one before is through."""
    size = state.definition.limits.batch_size
    if size is not None and order.running:
        return
    for key in islice(state.ready, size):
        yield do.Assign(assignment=Assignment(assignment_id=key, role=Role.WORK, covers=(key,)))


def _as_asked(state: RunState, order: OrderState) -> list[do.Command]:
    """The order that people asked for: what failed once more, or a result of theirs in its place."""
    wanted = person_order(state, order)
    if wanted is None:
        return [do.Decline(reason="it needs a subtask that failed: ask for that one, too, or supply its result")]
    return [do.IssueOrder(order=wanted, by=next(iter(state.again.values())).by)]


def _refuse(state: RunState, review: Review) -> list[do.Command]:
    fresh = tuple(part for part in review.cannot if part not in state.cannot)
    return [do.RefuseParts(parts=fresh)] if fresh else []


def _answer(state: RunState, order: OrderState) -> list[do.Command]:
    """Release the answer the review composed, if everything was accepted, first time and whole; else compose."""
    if order.review is not None and order.review.answer and len(state.orders) == 1 and not order.review.cannot:
        return [do.Finish(answer=order.review.answer)]
    return composing.compose(state)


def _compose_brief(state: RunState, assignment: Assignment) -> Brief:
    """All results and gaps; or, for a part of the tree, its own results or the texts it stands over."""
    over = assignment.options.get("over")
    if assignment.covers:
        return briefs.section(state, assignment)
    if over is None:
        return briefs.compose(state)
    texts = [composing.text_of(state, state.assignments[node]) for node in over]
    return briefs.compose_over(state, texts, digest=bool(assignment.options.get("part")))


def _cancelled(by: str) -> Failure:
    return Failure.model_validate({"message": f"cancelled by {by}", "type": "cancelled", "class": "rejected"})
