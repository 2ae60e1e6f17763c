"""The work-order flow: plan, fan out, review, repair, and compose one answer.

::

    plan ─▶ order ─▶ workers in parallel ─▶ review, shard by shard; over when none runs or waits ─▶ answer
              ▲                                                                             │
              └────────────── repair order: what is open or missing ◀───────────────────────┘  at most max_steps orders
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from leadhand.core.errors import Failure
from leadhand.core.outcome import FlowAnswer, failure_gap
from leadhand.core.state import RunState, StepState
from leadhand.core.value import object_of
from leadhand.core.work_order import Subtask
from leadhand.flows.facts import context_budget, fitting, is_too_large, tokens
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.orders import order_problems
from leadhand.flows.seam.outcomes import stated
from leadhand.flows.seam.pending import Details
from leadhand.flows.seam.results import Result

from . import briefs, planning, reviewing
from .roles import COMPOSER, ROLES, Plan, RoleName, parse
from .work import Work, is_new, repair


async def work_order(run: FlowContext) -> FlowAnswer:
    """Plan the request as a work order, carry it out in parallel, review, repair and answer."""
    planned = await planning.plan(run)
    if isinstance(planned, FlowAnswer):
        return planned
    plan, first = planned
    work = Work(run)
    work.note_cannot(plan.cannot)
    answer = await _answered(run, work, plan, first, plan.subtasks)
    missing = await _missing(run, work, answer)
    plan = plan.evolve(goal="; ".join(each.name for each in missing))
    if not missing or not await planning.is_approved(run, work, plan.goal, missing, first):
        return answer
    return await _answered(run, work, plan, first, missing)


async def _answered(run: FlowContext, work: Work, plan: Plan, first: Result, wanted: Sequence[Subtask]) -> FlowAnswer:
    """Carry out an order, and the repairs that its review leads to, and return the answer."""
    while wanted:
        repairs = work.orders[-1] if work.orders else None
        issued = run.order(plan.goal, wanted, repairs=repairs)
        work.carried_out(issued.key, await issued)
        work.reviewed(await reviewing.review(run, work))
        await run.reviewed(issued.key, work.review)
        wanted = [] if work.is_last else repair(work)
        if wanted and not await planning.is_approved(run, work, plan.goal, wanted, first):
            break
    if work.review.answer:
        return FlowAnswer(work.review.answer, uses=work.usable(), gaps=work.gaps(), writer=RoleName.COMPOSE)
    return await _compose(run, work)


async def _missing(run: FlowContext, work: Work, answer: FlowAnswer) -> Sequence[Subtask]:
    """Return what the judge misses in an answer and the lead confirms, as subtasks; if the lead names no call that can
    be made, their workers choose their tools."""
    asked = run.state.definition
    if asked.check != "judge" or asked.shape or work.is_last:
        return []
    from leadhand.flows.answering import judged  # a run without a judge does not import it

    found = await judged(run, stated(run.of, answer), choices={"tools": briefs.choices(run.state)["tools"]})
    wanted: list[Subtask] = []
    for gap, said in found.missing:
        if said["admitted"] or said.get("made"):  # it was looked for in vain, or what found it is there
            continue
        call = {"name": gap.name[:200], "tool": said.get("tool"), "args": object_of(said.get("args"))}
        subtask, _ = parse(Subtask, call)
        if subtask is None or not subtask.tool or order_problems(asked, [subtask], work.results):
            subtask = Subtask(name=gap.name[:200], expected_output=gap.name)
        wanted.append(subtask)
    return [each for each in wanted if is_new(work, each)]


# --- the answer ------------------------------------------------------------------------------------------------------


async def _compose(run: FlowContext, work: Work) -> FlowAnswer:
    """Return the answer. If there is nothing to compose, it is empty; if it could not be written, that is a gap of an
    answer that is a list of the results."""
    uses, gaps = work.usable(), work.gaps()
    text, failure = await _written(run, work, uses) if uses else ("", None)
    if failure is not None:
        reason = f"it could not be written, so the results are listed: {failure.message}"
        gaps.append(failure_gap("the answer", failure, reason))
    return FlowAnswer(text, uses=uses, gaps=gaps, writer=RoleName.COMPOSE)


async def _written(run: FlowContext, work: Work, uses: Sequence[Result]) -> tuple[str, Failure | None]:
    """Return the text of the answer, or why it could not be written. Results for which the window has no room are
    listed below the text."""
    state = run.state
    name = f"compose{len(work.orders)}" if len(work.orders) > 1 else "compose"
    numbers = briefs.numbers_of(uses)
    gaps: list[Any] = [[each.name, each.reason] for each in work.gaps()]
    gaps += [
        [key, each.failure and each.failure.message] for key, each in work.results.items() if not work.may_be_used(key)
    ]
    shown = [[briefs.result(each, numbers), *(source.url for source in each.sources)] for each in uses]
    count = len(fitting(shown, context_budget(state, RoleName.COMPOSE) - tokens(run.request))) or 1
    while True:
        given, rest = uses[:count], uses[count:]
        details = Details(
            title="Write the answer", shows=partial(_brief, work=work, results=given, numbers=numbers, listed=len(rest))
        )
        known = {"results": given, "gaps": gaps, **({"listed": rest} if rest else {})}
        written = await run.step(COMPOSER, key=name, input=known, details=details, final=True, optional=True)
        if count == 1 or not is_too_large(written.failure):
            break
        count //= 2
    text = "\n\n".join(filter(None, (written.text, "\n".join(_line(each, numbers) for each in rest))))
    return text if written.ok else "", written.failure


def _brief(state: RunState, _step: StepState, **given: Any) -> dict[str, Any]:
    return briefs.compose(state, **given)


def _line(result: Result, numbers: briefs.Numbers) -> str:
    """Return a result as an item of a list."""
    return f"- {result.text}" + "".join(f" [{numbers[source.title, source.url]}]" for source in result.sources)


WORK_ORDER = FunctionFlow(work_order, name="work-order", workers=ROLES)
