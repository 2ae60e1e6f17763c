"""Plan a request as one work order, in several pages if it is long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.ids import order_id
from leadhand.core.relations import is_gated
from leadhand.core.work_order import ProposedSubtask, Unsupported
from leadhand.flows.plan_gate import DENIED, denial, made_again, page_id
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.details import Details
from leadhand.flows.seam.orders import issue
from leadhand.flows.seam.pending import Pending
from leadhand.flows.seam.results import Approved, FlowAnswer, Result

from . import briefs, checks
from .roles import PLANNER, Plan, RoleName, instructions, with_role
from .work import Wanted, Work

ANSWERED = """\
You asked the person about this request. `answered` has your questions and the answers: plan with them."""
"""Further instructions for a planner whose question was answered."""


async def plan(run: FlowContext) -> tuple[Plan, Result] | FlowAnswer:
    """Return a plan that may be carried out, with the result of its first page, or the answer of the run instead.

    Another plan follows one that a person denied with a reason, and the answer to a question that the plan asked.
    """
    answered: list[dict[str, Any]] = []
    denied: list[dict[str, Any]] = []
    while True:
        number = 1 + len(answered) + len(denied)
        heard = {"answered": answered, "denied": denied}
        whole, first = await _planned(run, number, {name: each for name, each in heard.items() if each})
        if first.failure is not None:
            return FlowAnswer(failure=first.failure)
        if whole.question:
            reply = await run.person(whole.question, key=f"question-{number}")
            answered.append({"question": whole.question, "answer": reply})
            continue
        if whole.answer:
            return FlowAnswer(whole.answer, uses=[first], writer=RoleName.COMPOSE)
        if not whole.subtasks or not is_gated(run.state):
            return whole, first
        shown = shown_plan(run, whole, order_id(1), [(each, None) for each in whole.subtasks])
        if any(each["plan"] == shown for each in denied):
            return FlowAnswer(failure=made_again())
        said = await run.approve(shown, key=page_id(1, number), of=first)
        if isinstance(said, Approved):
            return whole, first
        denied.append({"plan": shown, "reason": said.reason})
        if (failure := denial(said.reason, said.by, len(denied), late=said.late)) is not None:
            return FlowAnswer(failure=failure)


def shown_plan(run: FlowContext, plan: Plan, order: str, wanted: Wanted) -> dict[str, Any]:
    """Return a plan as people are shown it, as JSON data: the ``wanted`` subtasks as they are issued."""
    workers, instead_of = run.state.definition.declared, [of for _, of in wanted]
    issued = issue([each for each, _ in wanted], order, plan.goal, workers=workers, instead_of=instead_of)
    subtasks = [each.model_dump(mode="json", exclude_defaults=True) for each in issued.subtasks]
    cannot = [each.model_dump(mode="json") for each in plan.cannot]
    return {"goal": plan.goal, "subtasks": subtasks, **({"cannot": cannot} if cannot else {})}


async def is_approved(run: FlowContext, work: Work, goal: str, wanted: Wanted, first: Result) -> bool:
    """Whether a repair may be carried out: a person is asked about calls that nobody has approved."""
    if not run.state.definition.approve_plan:
        return True
    order = order_id(len(work.orders) + 1)
    shown = shown_plan(run, Plan(goal=goal), order, wanted)
    approved = [_call(each.state.subtask.model_dump(mode="json")) for each in work.results.values()]
    if all(_call(each) in approved for each in shown["subtasks"]):
        return True
    return isinstance(await run.approve(shown, key=order, of=first), Approved)


def _call(subtask: Mapping[str, Any]) -> Sequence[Any]:
    """Return what a person approves of a subtask; without a tool, also what its worker reads."""
    fields = ["tool", "worker", "args", *([] if subtask.get("tool") else ["name", "expected_output"])]
    return [subtask.get(name) or None for name in fields], [*subtask.get("needs", ())]


async def _planned(run: FlowContext, number: int, heard: Mapping[str, Any]) -> tuple[Plan, Result]:
    """Return a plan with the result of its first page. If a later page fails, only its own subtasks are lost.

    Subtasks that may begin before their order do so while a page is being written.
    """
    pages: list[Result] = []
    whole = Plan(more=True)
    while whole.more:
        step = _page(run, number, pages, whole.subtasks, heard)
        async with run.reading(step, "subtasks") as written:
            async for value in written:
                subtask = issue((ProposedSubtask.model_validate(value),), order_id(1), "-").subtasks[0]
                if not step.done:
                    run.begin_subtask(len(whole.subtasks) + written.index, subtask)
        pages.append(await step)
        if (failure := pages[-1].failure) is not None:
            rest = f"the rest of the request, after its first {len(whole.subtasks)} subtasks"
            lost = Unsupported(what=rest, reason=f"the plan ended early: {failure.message}"[:1_000])
            return whole.evolve(cannot=(*whole.cannot, lost)), pages[0]
        page = Plan.model_validate(pages[-1].value)
        cannot = tuple(dict.fromkeys((*whole.cannot, *page.cannot)))
        goal, subtasks = whole.goal or page.goal, (*whole.subtasks, *page.subtasks)
        whole = page.evolve(goal=goal, subtasks=subtasks, cannot=cannot)
    return whole, pages[0]


def _page(
    run: FlowContext, number: int, pages: Sequence[Result], before: Sequence[ProposedSubtask], heard: Mapping[str, Any]
) -> Pending[Result]:
    part = len(pages) + 1
    known = {"denied": DENIED, "answered": ANSWERED}
    more = [instructions("workers")] if run.state.definition.declared else []
    details = Details(
        title=f"Plan · part {part}" if pages else "Plan",
        doing=f"Planning part {part}" if pages else "",
        instructions=with_role(run.state, RoleName.PLAN, *more, *(known[name] for name in heard)),
        shows=lambda now, _: briefs.plan(now, before, heard),
        checks=lambda now, _, result: checks.plan_problems(now.definition, before, result.value),
        proposes=lambda now, _, value: checks.proposed_calls(now.definition, value),
        draft=lambda _now, _step: None if before else checks.draft_of_plan,
    )
    given = {"first": len(before), **({"before": [*pages]} if pages else {}), **heard}
    return run.step(PLANNER, key=page_id(part, number), input=given, details=details, optional=True)
