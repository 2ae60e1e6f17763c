"""The work-order flow: plan, fan out, review, repair, and compose one answer.

::

    plan ─▶ order ─▶ workers in parallel ─▶ review, shard by shard; over when none runs or waits ─▶ answer
              ▲                                                                             │
              └────────────── repair order: what is open or missing ◀───────────────────────┘  at most max_steps orders
"""

from __future__ import annotations

from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.results import FlowAnswer

from . import composing, planning, reviewing
from .repair import Wanted, repair
from .roles import RoleName, roles
from .work import Work


async def work_order(run: FlowContext) -> FlowAnswer:
    """Plan the request as a work order, carry it out in parallel, review, repair and answer."""
    planned = await planning.plan(run)
    if isinstance(planned, FlowAnswer):
        return planned
    plan, first = planned
    work = Work(run)
    work.note_cannot(plan.cannot)
    written = ""
    wanted = Wanted(plan.subtasks) if plan.subtasks else None
    repairs: str | None = None
    while wanted is not None:
        issued = run.order(plan.goal, wanted.subtasks, repairs=repairs, instead_of=wanted.instead_of)
        repairs = issued.key
        found = await reviewing.review(run, work, issued)
        await run.judged(issued.key, found.review)
        written = found.review.answer or ""
        wanted = None if work.is_last(found.results) else repair(work, found.review)
        if wanted is not None and not await planning.is_approved(run, work, plan.goal, wanted, first):
            wanted = None
    if written and not work.cannot:
        return FlowAnswer(written, uses=work.usable(), gaps=work.gaps())
    text, failure, gaps = await composing.compose(run, work)
    return FlowAnswer(text, uses=work.usable(), gaps=[*work.gaps(), *gaps], failure=failure)


WORK_ORDER = FunctionFlow(work_order, name="work-order", workers=roles(), writer=RoleName.COMPOSE)
