"""Plan a request as one work order, in several pages if it is long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.errors import FlowError
from leadhand.core.ids import order_id
from leadhand.core.outcome import FlowAnswer
from leadhand.core.relations import is_gated
from leadhand.core.run import RunDefinition
from leadhand.core.value import Json, object_of
from leadhand.core.work_order import Subtask, Unsupported
from leadhand.flows.seam.context import FlowContext
from leadhand.flows.seam.orders import issue, order_problems
from leadhand.flows.seam.pending import Details, Pending
from leadhand.flows.seam.results import Approved, Result
from leadhand.flows.seam.waits import DENIED, denial, page_id

from . import briefs
from .roles import PLANNER, Plan, RoleName, instructions, parse, proposed, with_role
from .work import Work

ANSWERED = """\
You asked the person about this request. `answered` has your questions and the answers: plan with them."""
"""Further instructions for a planner whose question was answered."""


async def plan(run: FlowContext) -> tuple[Plan, Result] | FlowAnswer:
    """Return a plan that may be carried out, with the result of its first page, or the answer of the run instead.

    Another plan follows one that a person denied with a reason, and the answer to a question that the plan asked.
    Raises FlowError if there is no plan that may be carried out.
    """
    answered: list[dict[str, Any]] = []
    denied: list[dict[str, Any]] = []
    while True:
        number = 1 + len(answered) + len(denied)
        heard = {"answered": answered, "denied": denied}
        whole, first = await _planned(run, number, {name: each for name, each in heard.items() if each})
        if first.failure is not None:
            raise FlowError(first.failure)
        if whole.question:
            reply = await run.person(whole.question, key=f"question-{number}")
            answered.append({"question": whole.question, "answer": reply})
            continue
        if whole.answer:
            return FlowAnswer(whole.answer, uses=[first], writer=RoleName.COMPOSE)
        if not whole.subtasks or not is_gated(run.state):
            return whole, first
        shown = shown_plan(run, whole, order_id(1), whole.subtasks)
        said = await run.approve(shown, key=page_id(1, number), of=first)
        if isinstance(said, Approved):
            return whole, first
        denied.append({"plan": shown, "reason": said.reason})
        if (failure := denial(said.reason, said.by, len(denied), late=said.late)) is not None:
            raise FlowError(failure)


def shown_plan(run: FlowContext, plan: Plan, order: str, wanted: Sequence[Subtask]) -> dict[str, Any]:
    """Return a plan as people are shown it, as JSON data: the ``wanted`` subtasks as they are issued."""
    issued = issue(wanted, order, plan.goal, workers=run.state.definition.declared)
    subtasks = [each.model_dump(mode="json", exclude_defaults=True) for each in issued.subtasks]
    cannot = [each.model_dump(mode="json") for each in plan.cannot]
    return {"goal": plan.goal, "subtasks": subtasks, **({"cannot": cannot} if cannot else {})}


async def is_approved(run: FlowContext, work: Work, goal: str, wanted: Sequence[Subtask], first: Result) -> bool:
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
    """Return a plan with the result of its first page. If a later page fails, only its own subtasks are lost."""
    pages: list[Result] = []
    whole = Plan(more=True)
    while whole.more:
        pages.append(await _page(run, number, pages, whole.subtasks, heard))
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
    run: FlowContext, number: int, pages: Sequence[Result], before: Sequence[Subtask], heard: Mapping[str, Any]
) -> Pending[Result]:
    part = len(pages) + 1
    known = {"denied": DENIED, "answered": ANSWERED}
    more = [instructions("workers")] if run.state.definition.declared else []
    details = Details(
        title=f"Plan · part {part}" if pages else "Plan",
        instructions=with_role(run.state, RoleName.PLAN, *more, *(known[name] for name in heard)),
        shows=lambda now, _: briefs.plan(now, before, heard),
        schema=briefs.plan_schema(run.state, len(before)),
        checks=lambda now, _, result: plan_problems(now.definition, before, result.value),
        proposes=proposed,
        draft=None if before else draft_of_plan,
    )
    given = {"first": len(before), **({"before": [*pages]} if pages else {}), **heard}
    return run.step(PLANNER, key=page_id(part, number), input=given, details=details, optional=True)


def plan_problems(definition: RunDefinition, before: Sequence[Subtask], value: Json) -> list[str]:
    """Return why a page of a plan cannot be used; ``before`` are the subtasks of the pages before it."""
    page, found = parse(Plan, value)
    if page is None:
        return found
    direct, is_empty = page.answer or page.question, not page.subtasks
    several = page.subtasks or page.cannot or page.more or before or (page.answer and page.question)
    rules = {
        "give either subtasks, or an answer, or a question": direct and several,
        "the answer is empty": direct and not direct.strip(),
        "this page has no subtasks, although it announces more": is_empty and page.more,
        "the plan has no subtasks and lists nothing that cannot be done": not (direct or several),
        "the plan has subtasks, but no goal": page.subtasks and not page.goal,
    }
    if is_empty or any(rules.values()):
        return [problem for problem, is_one in rules.items() if is_one][:1]
    known = [_does(each) for each in before]
    again = next((each for each in page.subtasks if each.tool and _does(each) in known), None)
    if again is not None:
        return [f"{again.name} repeats subtask {known.index(_does(again))} of an earlier page"]
    return order_problems(definition, (*before, *page.subtasks))


def _does(subtask: Subtask) -> Sequence[Json]:
    return subtask.tool, subtask.args, [*subtask.needs], subtask.expected_output


def draft_of_plan(before: Json) -> bool:
    """Whether a plan is an answer, from what stands before it: it has nothing else."""
    return not any(object_of(before).values())
