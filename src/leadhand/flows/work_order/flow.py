"""The work-order flow: plan, fan out, review, repair, and compose one answer.

::

    plan ─▶ order ─▶ workers in parallel ─▶ review, shard by shard; over when none runs or waits ─▶ answer
              ▲                                                                             │
              └────────────── repair order: what is open or missing ◀───────────────────────┘  at most max_steps orders
"""

from __future__ import annotations

from leadhand.core.work_order import ProposedSubtask
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.outcomes import outcome_with
from leadhand.flows.seam.results import FlowAnswer, Result

from . import composing, planning, reviewing
from .repair import Wanted, repair
from .roles import ROLES, Plan, RoleName
from .work import Work


async def work_order(run: FlowContext) -> FlowAnswer:
    """Plan the request as a work order, carry it out in parallel, review, repair and answer."""
    planned = await planning.plan(run)
    if isinstance(planned, FlowAnswer):
        return planned
    plan, first = planned
    work = Work(run)
    work.note_cannot(plan.cannot)
    answer = await _answered(run, work, plan, first, [(each, None) for each in plan.subtasks])
    missing = await _missing(run, work, answer)
    if not missing or not await planning.is_approved(run, work, plan.goal, missing, first):
        return answer
    return await _answered(run, work, plan, first, missing)


async def _answered(run: FlowContext, work: Work, plan: Plan, first: Result, wanted: Wanted) -> FlowAnswer:
    """Carry out an order, and the repairs that its review leads to, and return the answer."""
    while wanted:
        repairs = work.orders[-1] if work.orders else None
        asked = [{**dict(each), "repairs_subtask": of} for each, of in wanted]
        issued = run.order(plan.goal, asked, repairs=repairs)
        work.carried_out(issued.key, await issued)
        work.reviewed(await reviewing.review(run, work))
        await run.reviewed(issued.key, work.review)
        wanted = [] if work.is_last else repair(work)
        if wanted and not await planning.is_approved(run, work, plan.goal, wanted, first):
            break
    if work.review.answer and not work.cannot:
        return FlowAnswer(work.review.answer, uses=work.usable(), gaps=work.gaps(), writer=RoleName.COMPOSE)
    return await composing.compose(run, work)


async def _missing(run: FlowContext, work: Work, answer: FlowAnswer) -> Wanted:
    """Return what the judge misses in an answer and the lead confirms, as subtasks whose workers choose their tools."""
    asked = run.state.definition
    if asked.check != "judge" or asked.shape or work.is_last or answer.failure is not None:
        return []
    from leadhand.flows.answering import judged  # a run without a judge does not import it

    found = await judged(run, outcome_with(run.of, answer), answer.writer)
    return [(ProposedSubtask(name=each.name[:200], expected_output=each.name), None) for each in found.missing]


WORK_ORDER = FunctionFlow(work_order, name="work-order", workers=ROLES)
