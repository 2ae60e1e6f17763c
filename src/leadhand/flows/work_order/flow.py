"""The work-order flow: plan, fan out, review, repair, and compose one answer.

::

    plan ─▶ order ─▶ workers in parallel ─▶ review, shard by shard; over when none runs or waits ─▶ answer
              ▲                                                                             │
              └────────────── repair order: what is open or missing ◀───────────────────────┘  at most max_steps orders
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leadhand.core import commands as do
from leadhand.core.commands import Outcome
from leadhand.core.state import OrderState, RunState, StepState
from leadhand.core.value import Json
from leadhand.core.work_order import WorkOrder
from leadhand.core.work_result import Review
from leadhand.core.worker import Worker
from leadhand.flows import plan_gate
from leadhand.flows.flow import Flow, ProposedCall, Result
from leadhand.flows.plan_gate import page_id, plan_number
from leadhand.flows.run_view import RunView, StepView

from . import answer_checks, briefs, composing, missing_parts, planning, results, reviewing, schemas
from .order_checks import order_problems
from .repair import repair_order, retry_order
from .roles import RoleName, roles


class WorkOrderFlow(Flow):
    """Plan a request as an order, carry it out, review the evidence, repair only what is open, and answer."""

    name = "work-order"
    version = 1
    subtask_worker = RoleName.WORK
    plans = True
    description = "Plan the request as a work order, carry it out in parallel, review, repair and answer."
    repairs_answers = True
    writer = RoleName.COMPOSE

    def roles(self, options: Flow.Options) -> Sequence[Worker]:
        return roles()

    def next(self, run: RunView[Flow.Options]) -> Sequence[do.Command]:
        state = run.state
        order = state.order
        if order is None:
            return _plan(state)
        if order.review is None:
            return reviewing.review(state, order)
        if state.retries_wanted:
            return _as_asked(state, order)
        may_order = state.orders_of_lead < state.definition.limits.max_steps and not results.ran_out(state, order)
        following = _issued(state, repair_order(state, order)) if may_order else None
        if following is None:
            following = missing_parts.commands(state, order)
        if following is None and may_order:
            following = _issued(state, missing_parts.wanted(state, order))
        if following is None:
            following = [do.Finish()] if _released(order) else composing.compose(state)
        return [*_note_gaps(state, order.review), *following]

    def problems(self, run: RunView[Flow.Options], step: StepView, result: Result) -> list[str]:
        given = run.state.steps[step.id].step
        return answer_checks.output_problems(run.state, given, result.value)

    def proposed_calls(self, run: RunView[Flow.Options], step: StepState, value: Json) -> Sequence[ProposedCall]:
        return list(answer_checks.proposed_calls(run.state, step.step, value))

    def brief(self, run: RunView[Flow.Options], step: StepState) -> dict[str, Any]:
        state, given = run.state, step.step
        match given.worker:
            case RoleName.PLAN:
                return briefs.plan(state, given)
            case RoleName.REVIEW if given.step_id == missing_parts.MISSING:
                return missing_parts.brief(state)
            case RoleName.REVIEW:
                return briefs.review(state, given)
            case RoleName.COMPOSE:
                return _compose_brief(state, step)
            case _ if given.subtask is None:
                return briefs.child(state, given)
            case _:
                return briefs.work(state, given)

    def schema(self, run: RunView[Flow.Options], step: StepState) -> dict[str, Any] | None:
        given = step.step
        if given.worker not in (RoleName.PLAN, RoleName.REVIEW):
            return None
        role, built_in = run.state.worker(given.worker), next(each for each in roles() if each.name == given.worker)
        if role is None or role.output != built_in.output:
            return None  # the run was started by another release, whose answers have another shape
        make = schemas.plan_schema if given.worker == RoleName.PLAN else schemas.review_schema
        return make(run.state, given)

    def draft(self, run: RunView[Flow.Options], step: StepState) -> Callable[[Json], bool] | None:
        return answer_checks.draft(run.state, step.step)

    def outcome(self, run: RunView[Flow.Options]) -> Outcome:
        state = run.state
        order = state.order
        if order is None and (page := planning.direct(state)) is not None:
            return planning.direct_outcome(state, page)
        return Outcome(
            answer=_released(order) or composing.composed(state),
            uses=[result.key for result in results.answerable_results(state)],
            gaps=[*results.own_gaps(state), *missing_parts.gaps(state), *composing.composition_gaps(state)],
        )


def _plan(state: RunState) -> list[do.Command]:
    wanted = planning.plan(state)
    if isinstance(wanted, list):
        return wanted
    asking = planning.asking(state)
    if asking is not None:
        return asking
    if planning.direct(state) is not None:
        return [do.Finish()]
    commands = planning.issued(state, wanted)
    return commands if wanted.subtasks else [*commands, *composing.compose(state)]


def _issued(state: RunState, order: WorkOrder | None) -> Sequence[do.Command] | None:
    """Return what issues an order, or asks a person about it; None for none, and for one that a person denied."""
    if order is None or plan_gate.is_denied(state, order):
        return None
    gate = plan_gate.repair_held(state, order, state.steps[page_id(1, plan_number(state))])
    return [do.IssueOrder(order=order)] if gate is None else gate


def _as_asked(state: RunState, order: OrderState) -> list[do.Command]:
    """Return the order that people requested: a retry of failed subtasks, or results that they supply."""
    wanted = retry_order(state, order)
    if wanted is None:
        return [do.DecideRequest(declined="it needs a subtask that failed: retry that one, too, or supply its result")]
    known = {key for key, step in state.steps.items() if step.order}
    if problems := order_problems(wanted, state.tools, known, state.definition.declared):
        return [do.DecideRequest(declined="; ".join(problems))]
    return [do.IssueOrder(order=wanted, by=next(iter(state.retries_wanted.values())).by)]


def _note_gaps(state: RunState, review: Review) -> list[do.Command]:
    fresh = tuple(part for part in review.cannot if part not in state.unsupported)
    return [do.NoteGaps(parts=fresh)] if fresh else []


def _released(order: OrderState | None) -> str:
    """The answer that the evaluation of the latest order wrote, since nothing is missing; else ""."""
    if order is not None and order.review is not None and order.review.answer and not order.review.cannot:
        return order.review.answer
    return ""


def _compose_brief(state: RunState, step: StepState) -> dict[str, Any]:
    """Return all results and gaps; for a part of the tree, its own results or the texts below it."""
    given = step.step.input
    if "covers" in given:
        return briefs.section(state, step.step)
    if "over" not in given:
        return briefs.compose(state)
    texts = [results.composed_text(state, state.steps[node]) for node in given["over"]]
    return briefs.compose_over(state, texts, digest=bool(given.get("part")))
