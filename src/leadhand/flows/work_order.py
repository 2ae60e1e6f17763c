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
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.ids import order_id
from leadhand.domain.lifecycle import SubtaskStatus
from leadhand.domain.review import Review
from leadhand.domain.run import RunStatus
from leadhand.domain.state import AssignmentState, OrderState, RunState
from leadhand.domain.work_order import Plan, issue

from . import briefs
from .flow import Brief
from .repair import repair_order

PLAN = "plan"
COMPOSE = "compose"
SHARD = 25
"""Subtasks to a review: what a model can still judge one by one. Shards of an order are reviewed in parallel."""


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
            return _review(state, order)
        repair = repair_order(state, order) if len(state.orders) < state.definition.limits.max_steps else None
        if repair is not None:
            return [do.IssueOrder(order=repair), *_refuse(state, order.review)]
        return [*_refuse(state, order.review), *_answer(state, order)]

    def brief(self, state: RunState, assignment: Assignment) -> Brief:
        match assignment.role:
            case Role.PLAN:
                return briefs.plan(state)
            case Role.REVIEW:
                return briefs.review(state, assignment)
            case Role.COMPOSE:
                return briefs.compose(state)
            case _:
                return briefs.work(state, assignment)


def _plan(state: RunState) -> list[do.Command]:
    thought = state.assignments.get(PLAN)
    if thought is None:
        return [do.Assign(assignment=Assignment(assignment_id=PLAN, role=Role.PLAN))]
    if not thought.closed:
        return []
    if not thought.ok:
        return [do.Finish(answer=_could_not("planned", thought), status=RunStatus.FAILED, failure=thought.failure)]
    plan = Plan.model_validate(thought.value)
    refused: list[do.Command] = []
    if plan.cannot and any(part not in state.cannot for part in plan.cannot):
        refused = [do.RefuseParts(parts=plan.cannot)]
    if plan.subtasks:
        return [*refused, do.IssueOrder(order=issue(plan.subtasks, order_id(1), plan.goal))]
    return [*refused, *_compose(state)]


def _hand_out(state: RunState, order: OrderState) -> Iterator[do.Command]:
    """Every subtask that may start; with a batch size, the next group once the one before is through."""
    size = state.definition.limits.batch_size
    if size is not None and order.running:
        return
    for key in islice(state.ready, size):
        yield do.Assign(assignment=Assignment(assignment_id=key, role=Role.WORK, covers=(key,)))


def _shards(order: OrderState) -> Iterator[tuple[str, tuple[str, ...]]]:
    keys = order.order.subtask_keys()
    for number, first in enumerate(range(0, len(keys), SHARD)):
        yield f"review-{order.order.work_order_id}-{number}", tuple(keys[first : first + SHARD])


def _review(state: RunState, order: OrderState) -> list[do.Command]:
    shards = list(_shards(order))
    thoughts = [state.assignments.get(name) for name, _ in shards]
    if any(thought is None for thought in thoughts):
        composing = len(shards) == 1 and all_completed(state, order)
        # One shard is asked about the whole; the others cannot know what they do not see.
        return [
            do.Assign(
                assignment=Assignment(
                    assignment_id=name,
                    role=Role.REVIEW,
                    covers=covers,
                    options={"compose": composing, "whole": number == 0},
                )
            )
            for number, ((name, covers), thought) in enumerate(zip(shards, thoughts, strict=True))
            if thought is None
        ]
    done = [thought for thought in thoughts if thought is not None and thought.closed]
    if len(done) < len(shards):
        return []
    return [do.JudgeOrder(work_order_id=order.order.work_order_id, review=_merged(done))]


def all_completed(state: RunState, order: OrderState) -> bool:
    """Whether every subtask of an order passed the code checks."""
    return all(state.subtasks[key].status is SubtaskStatus.COMPLETED for key in order.order.subtask_keys())


def _merged(thoughts: list[AssignmentState]) -> Review:
    """One review of all shards. A shard that could not be reviewed gives no verdicts: its subtasks stay unverified."""
    reviews = [Review.model_validate(thought.value) for thought in thoughts if thought.ok]
    whole = next(
        (
            Review.model_validate(thought.value)
            for thought in thoughts
            if thought.ok and thought.assignment.options.get("whole")
        ),
        None,
    )
    return Review(
        verdicts=tuple(verdict for review in reviews for verdict in review.verdicts),
        complete=len(reviews) == len(thoughts) and whole is not None and whole.complete,
        missing=whole.missing if whole is not None else (),
        cannot=whole.cannot if whole is not None else (),
        answer=whole.answer if whole is not None and len(thoughts) == 1 else None,
    )


def _refuse(state: RunState, review: Review) -> list[do.Command]:
    fresh = tuple(part for part in review.cannot if part not in state.cannot)
    return [do.RefuseParts(parts=fresh)] if fresh else []


def _answer(state: RunState, order: OrderState) -> list[do.Command]:
    """Release the answer the review composed, if everything was accepted, first time and whole; else compose."""
    if order.review is not None and order.review.answer and len(state.orders) == 1 and not order.review.cannot:
        return [do.Finish(answer=order.review.answer)]
    return _compose(state)


def _compose(state: RunState) -> list[do.Command]:
    thought = state.assignments.get(COMPOSE)
    if thought is None:
        return [do.Assign(assignment=Assignment(assignment_id=COMPOSE, role=Role.COMPOSE))]
    if not thought.closed:
        return []
    if thought.ok and thought.result is not None and thought.result.data is not None:
        return [do.Finish(answer=thought.result.data.summary)]
    # The summary comes in any case: without a model, code writes it.
    return [do.Finish(answer=None, failure=thought.failure)]


def _cancelled(by: str) -> Failure:
    return Failure.model_validate({"message": f"cancelled by {by}", "type": "cancelled", "class": "rejected"})


def _could_not(what: str, thought: AssignmentState) -> str:
    failure = thought.failure or Failure.model_validate(
        {"message": "no reason was given", "type": "unknown", "class": FailureClass.INSUFFICIENT}
    )
    return f"The request could not be {what}: {failure.message} ({failure.class_}). {failure.next_action}"
