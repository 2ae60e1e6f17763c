"""Plan a request as one work order, in several pages if it is long."""

from __future__ import annotations

from leadhand.core import commands as do
from leadhand.core.approval import Question
from leadhand.core.commands import Outcome
from leadhand.core.decide.orders import may_begin, tool_may_begin
from leadhand.core.ids import order_id, subtask_key
from leadhand.core.relations import early
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json, list_of, object_of, text_of
from leadhand.core.work_order import ProposedSubtask, Unsupported, WorkOrder
from leadhand.flows.facts import replied
from leadhand.flows.plan_gate import DENIED, denied_plans, held, page_id, plan_number, plan_refused, shown_order
from leadhand.flows.work_order.plans import Plan, issue

from .answer_checks import parse
from .repair import moved_needs
from .results import why_failed
from .roles import RoleName, instructions, with_role

ANSWERED = """\
You asked the person about this request. `answered` has your questions and the answers: plan with them."""
"""Further instructions for a planner whose question was answered."""
MAX_PAGES = 200
"""Maximum pages of one plan."""


def plan(state: RunState) -> list[do.Command] | Plan:
    """Return the next commands for planning, or the whole plan once it is complete.

    A page with ``more`` is followed by another, whose brief contains the subtasks planned before. If a later page
    fails, only its own subtasks are lost, which are named as a gap. While a page is being written, the subtasks that
    can be repeated and need nothing begin.
    """
    refused, number = plan_refused(state), plan_number(state)
    if refused is not None:
        return [do.Finish(failure=refused)]
    pages: list[StepState] = []
    while (page := state.steps.get(page_id(len(pages) + 1, number))) is not None:
        pages.append(page)
    if pages and not pages[-1].closed:
        return _begin(state, pages[-1])
    if not pages or (pages[-1].ok and object_of(pages[-1].value).get("more") and len(pages) < MAX_PAGES):
        first = sum(len(_subtasks(page)) for page in pages)
        more = [instructions("workers")] if state.definition.declared else []
        more += [DENIED] if denied_plans(state) else []
        more += [ANSWERED] if replied(state) else []
        own = with_role(state, RoleName.PLAN, "\n\n".join(more)) if more else None
        part = len(pages) + 1
        page = do.IssueStep(page_id(part, number), RoleName.PLAN, "Plan", input={"first": first}, instructions=own)
        return [page._replace(title=f"Plan · part {part}", doing=f"Planning part {part}") if pages else page]
    plans = [Plan.model_validate(page.value) for page in pages if page.ok]
    if not plans:
        return [do.Finish(failure=why_failed(pages[0]))]
    if not pages[-1].ok:
        return _whole(plans, why_failed(pages[-1]).message)
    return _whole(plans, f"the plan did not end after {MAX_PAGES} pages" if plans[-1].more else "")


def _subtasks(page: StepState) -> list[Json]:
    return list_of(object_of(page.value).get("subtasks"))


def _begin(state: RunState, page: StepState) -> list[do.Command]:
    """Begin the subtasks of a page that is being written, if they may begin before the plan is complete."""
    begun, batch = early(state), state.definition.limits.batch_size
    known = {(each.subtask.name, each.subtask.tool) for each in begun}
    commands: list[do.Command] = []
    waits: dict[str, bool] = {}  # by tool: of most elements, no more than this has to be read
    for _, value in page.attempt.written if page.attempt is not None else ():
        name, called = text_of(object_of(value).get("tool")), text_of(object_of(value).get("name"))
        if (called, name) in known or len(commands) == batch:
            continue
        if name not in waits:
            waits[name] = not tool_may_begin(state, name)
        if waits[name] or object_of(value).get("needs"):
            continue
        proposed, _ = parse(ProposedSubtask, value)
        subtask = issue((proposed,), order_id(1), "-").subtasks[0] if proposed is not None else None
        if subtask is not None and may_begin(state, subtask):
            commands.append(do.Begin(position=len(begun) + len(commands), subtask=subtask))
            known.add((called, name))
    return commands


def direct(state: RunState) -> Plan | None:
    """Return a plan that answers the request itself; None if there is another or none yet."""
    page = _first_page(state)
    return page if page is not None and page.answer else None


def asking(state: RunState) -> list[do.Command] | None:
    """Return what asks the person the question of a plan, nothing while it is open; None for another plan."""
    page = _first_page(state)
    if page is None or not page.question:
        return None
    question = Question(id=f"question-{plan_number(state)}", text=page.question)
    return [] if question.id in state.questions else [do.Ask(asked=question)]


def _first_page(state: RunState) -> Plan | None:
    first = state.steps.get(page_id(1, plan_number(state)))
    return Plan.model_validate(first.value) if first is not None and first.ok else None


def direct_outcome(state: RunState, page: Plan) -> Outcome:
    """Return the outcome of a run whose request needed no tool: what began nevertheless is not missing."""
    unused = [each.key for each in early(state)]
    return Outcome(answer=page.answer, uses=[page_id(1, plan_number(state))], waived=unused)


def issued(state: RunState, whole: Plan) -> list[do.Command]:
    """Return the first order, and the parts that no tool can do."""
    fresh = any(part not in state.unsupported for part in whole.cannot)
    commands: list[do.Command] = [do.NoteGaps(parts=whole.cannot)] if fresh else []
    if whole.subtasks:
        order = issue(whole.subtasks, order_id(1), whole.goal, workers=state.definition.declared)
        order = _begun_first(state, order)
        planner = state.steps[page_id(1, plan_number(state))]
        cannot = [part.model_dump(mode="json") for part in whole.cannot]
        gate = held(state, shown_order(order, cannot=cannot), planner)
        if gate is not None:
            return list(gate)
        commands.append(do.IssueOrder(order=order))
    return commands


def _begun_first(state: RunState, order: WorkOrder) -> WorkOrder:
    """Return an order that begins with what has begun; the needs of the others refer to the new keys."""
    begun = [each.subtask for each in early(state)]
    left = dict(zip(order.subtask_keys(), order.subtasks, strict=True))
    moved: dict[str, str] = {}
    for index, subtask in enumerate(begun):
        same = next((key for key, each in left.items() if each.evolve(name=subtask.name) == subtask), None)
        if same is not None:
            moved[same] = subtask_key(order.work_order_id, index)
            del left[same]
    moved |= {key: subtask_key(order.work_order_id, len(begun) + n) for n, key in enumerate(left)}
    return order.evolve(subtasks=(*begun, *(moved_needs(subtask, moved) for subtask in left.values())))


def _whole(pages: list[Plan], cut_off: str = "") -> Plan:
    subtasks: list[ProposedSubtask] = [subtask for page in pages for subtask in page.subtasks]
    cannot = [part for page in pages for part in page.cannot]
    if cut_off:
        rest = f"the rest of the request, after its first {len(subtasks)} subtasks"
        cannot.append(Unsupported(what=rest, reason=f"the plan ended early: {cut_off}"[:1_000]))
    return pages[0].evolve(subtasks=tuple(subtasks), cannot=tuple(dict.fromkeys(cannot)), more=False)
