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
from leadhand.flows.work_order.plans import Plan

from . import briefs, checks, schemas
from .repair import Wanted
from .roles import RoleName, instructions, role, with_role
from .work import Work

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
        pages = await _pages(run, number, {"answered": answered, "denied": denied})
        first = pages[0]
        if first.failure is not None:
            return FlowAnswer(failure=first.failure)
        page = Plan.model_validate(first.value)
        if page.question:
            reply = await run.person(page.question, key=f"question-{number}")
            answered.append({"question": page.question, "answer": reply})
            continue
        if page.answer:
            return FlowAnswer(page.answer, uses=[first], writer=RoleName.COMPOSE)
        whole = _whole(pages)
        if not whole.subtasks or not is_gated(run.state):
            return whole, first
        shown = shown_plan(run, whole)
        if any(each["plan"] == shown for each in denied):
            return FlowAnswer(failure=made_again())
        said = await run.approve(shown, key=page_id(1, number), of=first)
        if isinstance(said, Approved):
            return whole, first
        denied.append({"plan": shown, "reason": said.reason})
        if (failure := denial(said.reason, said.by, len(denied), late=said.late)) is not None:
            return FlowAnswer(failure=failure)


def shown_plan(run: FlowContext, whole: Plan, order: str = order_id(1), instead_of: Sequence[str | None] = ()) -> Any:
    """Return a plan as people are shown it, as JSON data: its subtasks as they are issued."""
    workers = run.state.definition.declared
    issued = issue(whole.subtasks, order, whole.goal, workers=workers, instead_of=instead_of)
    subtasks = [each.model_dump(mode="json", exclude_defaults=True) for each in issued.subtasks]
    cannot = [each.model_dump(mode="json") for each in whole.cannot]
    return {"goal": whole.goal, "subtasks": subtasks, **({"cannot": cannot} if cannot else {})}


async def is_approved(run: FlowContext, work: Work, goal: str, wanted: Wanted, first: Result) -> bool:
    """Whether a repair may be carried out: a person is asked about calls that nobody has approved."""
    if not run.state.definition.approve_plan:
        return True
    order = order_id(len(work.orders) + 1)
    shown = shown_plan(run, Plan(goal=goal, subtasks=tuple(wanted.subtasks)), order, wanted.instead_of)
    approved = [_call(each.model_dump(mode="json")) for known in work.orders for each in known.subtasks]
    if all(_call(each) in approved for each in shown["subtasks"]):
        return True
    return isinstance(await run.approve(shown, key=order, of=first), Approved)


def _call(subtask: Mapping[str, Any]) -> Sequence[Any]:
    """Return what a person approves of a subtask; without a tool, also what its worker reads."""
    fields = ["tool", "worker", "args", *([] if subtask.get("tool") else ["name", "expected_output"])]
    return [subtask.get(name) or None for name in fields], [*subtask.get("needs", ())]


async def _pages(run: FlowContext, number: int, heard: Mapping[str, Any]) -> list[Result]:
    """Return the pages of one plan. If a later page fails, only its own subtasks are lost.

    Subtasks that may begin before their order do so while a page is being written.
    """
    pages: list[Result] = []
    before: list[ProposedSubtask] = []
    while not pages or (pages[-1].ok and Plan.model_validate(pages[-1].value).more):
        step = _page(run, number, pages, [*before], heard)
        async with run.reading(step, "subtasks") as written:
            async for value in written:
                proposed, _ = checks.parse(ProposedSubtask, value)
                subtask = None if proposed is None else issue((proposed,), order_id(1), "-").subtasks[0]
                if subtask is not None and not step.done:
                    run.begin_subtask(len(before) + written.index, subtask)
        pages.append(await step)
        before += Plan.model_validate(pages[-1].value).subtasks if pages[-1].ok else ()
    return pages


def _page(
    run: FlowContext, number: int, pages: Sequence[Result], before: Sequence[ProposedSubtask], heard: Mapping[str, Any]
) -> Pending[Result]:
    first, part = len(before), len(pages) + 1
    known = {"denied": DENIED, "answered": ANSWERED}
    more = [instructions("workers")] if run.state.definition.declared else []
    more += [text for name, text in known.items() if heard[name]]
    details = Details(
        title=f"Plan · part {part}" if pages else "Plan",
        doing=f"Planning part {part}" if pages else "",
        instructions=with_role(run.state, RoleName.PLAN, *more),
        shows=lambda now, _: briefs.plan(now, before, heard),
        schema=lambda now, _: schemas.plan_schema(now, first),
        checks=lambda now, _, result: checks.plan_problems(now.definition, before, result.value),
        proposes=lambda now, _, value: checks.calls_of_plan(now.definition, value),
        draft=lambda _now, _step: None if first else checks.draft_of_plan,
    )
    given = {"first": first, **{name: value for name, value in heard.items() if value}}
    given |= {"before": [*pages]} if pages else {}
    return run.step(role(RoleName.PLAN), key=page_id(part, number), input=given, details=details, optional=True)


def _whole(pages: Sequence[Result]) -> Plan:
    plans = [Plan.model_validate(page.value) for page in pages if page.ok]
    subtasks = [subtask for page in plans for subtask in page.subtasks]
    cannot = [part for page in plans for part in page.cannot]
    if (failure := pages[-1].failure) is not None:
        rest = f"the rest of the request, after its first {len(subtasks)} subtasks"
        cannot.append(Unsupported(what=rest, reason=f"the plan ended early: {failure.message}"[:1_000]))
    return plans[0].evolve(subtasks=tuple(subtasks), cannot=tuple(dict.fromkeys(cannot)), more=False)
