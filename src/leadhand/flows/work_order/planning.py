"""Plan a request as one work order, in several pages if it is long."""

from __future__ import annotations

from leadhand.domain import commands as do
from leadhand.domain.advice import next_action
from leadhand.domain.commands import Outcome
from leadhand.domain.decide.beginning import why_not_begun, why_tool_waits
from leadhand.domain.errors import FailureClass
from leadhand.domain.evolve.begun import next_order_id
from leadhand.domain.ids import order_id, page_id, subtask_key
from leadhand.domain.outcome import CHECK
from leadhand.domain.plan_approval import plan_number, plan_refused, shown_order
from leadhand.domain.run import Gap
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.value import Json, list_of, object_of, text_of
from leadhand.domain.work_order import Plan, ProposedSubtask, Unsupported, issue
from leadhand.flows.plan_gate import DENIED, held

from .answer_checks import parse
from .repair import moved_needs
from .results import answerable_results, planning_failure, why_failed
from .roles import RoleName, instructions, with_role

ASK_AGAIN = "ask again, with the answer to this question in the request"
"""What a person can do about a request that needs clarification."""
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
    pages: list[AssignmentState] = []
    while (page := state.assignments.get(page_id(len(pages) + 1, number))) is not None:
        pages.append(page)
    if pages and not pages[-1].closed:
        return _begin(state, pages[-1])
    if not pages or (pages[-1].ok and object_of(pages[-1].value).get("more") and len(pages) < MAX_PAGES):
        first = sum(len(_subtasks(page)) for page in pages)
        more = [instructions("workers")] if state.definition.workers else []
        more += [DENIED] if number > 1 else []
        own = with_role(state, RoleName.PLAN, "\n\n".join(more)) if more else None
        page = page_id(len(pages) + 1, number)
        return [do.Assign(id=page, role=RoleName.PLAN, input={"first": first}, instructions=own)]
    plans = [Plan.model_validate(page.value) for page in pages if page.ok]
    if not plans:
        return [do.Finish(failure=why_failed(pages[0]))]
    if not pages[-1].ok:
        return _whole(plans, why_failed(pages[-1]).message)
    return _whole(plans, f"the plan did not end after {MAX_PAGES} pages" if plans[-1].more else "")


def _subtasks(page: AssignmentState) -> list[Json]:
    return list_of(object_of(page.value).get("subtasks"))


def _begin(state: RunState, page: AssignmentState) -> list[do.Command]:
    """Begin the subtasks of a page that is being written, if they may begin before the plan is complete."""
    first, batch = page.assignment.input.get("first", 0), state.definition.limits.batch_size
    commands: list[do.Command] = []
    waits: dict[str, bool] = {}  # by tool: of most elements, no more than this has to be read
    for index, value in page.attempt.written if page.attempt is not None else ():
        position = first + index
        if subtask_key(order_id(1), position) in state.assignments or len(commands) == batch:
            continue
        name = text_of(object_of(value).get("tool"))
        if name not in waits:
            waits[name] = bool(why_tool_waits(state, name))
        if waits[name] or object_of(value).get("needs"):
            continue
        proposed, _ = parse(ProposedSubtask, value)
        subtask = issue((proposed,), order_id(1), "-").subtasks[0] if proposed is not None else None
        if subtask is not None and not why_not_begun(state, subtask):
            commands.append(do.Begin(position=position, subtask=subtask))
    return commands


def direct(state: RunState) -> Plan | None:
    """Return a plan that answers the request itself, or asks a question; None if there is another or none yet."""
    first = state.assignments.get(page_id(1, plan_number(state)))
    page = Plan.model_validate(first.value) if first is not None and first.ok else None
    return page if page is not None and (page.answer or page.question) else None


def direct_outcome(state: RunState, page: Plan) -> Outcome:
    """Return the outcome of a run whose request needed no tool: its answer says that no tool was called."""
    name, reason, action = "the answer", "the model wrote the answer without a tool", CHECK
    if page.question:
        name, reason, action = "the request", "it cannot be carried out before this question is answered", ASK_AGAIN
    gap = Gap(name=name, class_=FailureClass.INSUFFICIENT, reason=reason, next_action=action)
    return Outcome(answer=page.answer or page.question, uses=[page_id(1, plan_number(state))], gaps=[gap])


def issued(state: RunState, whole: Plan) -> list[do.Command]:
    """Return the first order, and the parts that no tool can do."""
    fresh = any(part not in state.unsupported for part in whole.cannot)
    commands: list[do.Command] = [do.NoteGaps(parts=whole.cannot)] if fresh else []
    if whole.subtasks:
        order = issue(whole.subtasks, order_id(1), whole.goal, workers=state.definition.workers)
        keys, new_id = order.subtask_keys(), next_order_id(state, order.subtasks)
        if new_id != order.work_order_id:  # what has begun is not as planned, and keeps its keys
            moved = {key: subtask_key(new_id, index) for index, key in enumerate(keys)}
            subtasks = tuple(moved_needs(subtask, moved) for subtask in order.subtasks)
            order = order.evolve(work_order_id=new_id, subtasks=subtasks)
        planner = state.assignments[page_id(1, plan_number(state))]
        cannot = [part.model_dump(mode="json") for part in whole.cannot]
        gate = held(state, shown_order(order, cannot=cannot), planner)
        if gate is not None:
            return list(gate)
        commands.append(do.IssueOrder(order=order))
    return commands


def _whole(pages: list[Plan], cut_off: str = "") -> Plan:
    subtasks: list[ProposedSubtask] = [subtask for page in pages for subtask in page.subtasks]
    cannot = [part for page in pages for part in page.cannot]
    if cut_off:
        rest = f"the rest of the request, after its first {len(subtasks)} subtasks"
        cannot.append(Unsupported(what=rest, reason=f"the plan ended early: {cut_off}"[:1_000]))
    return pages[0].evolve(subtasks=tuple(subtasks), cannot=tuple(dict.fromkeys(cannot)), more=False)


def unplanned(state: RunState) -> str:
    """Return the answer of a run whose request could not be planned; "" for any other, and if something was done."""
    failure = planning_failure(state)
    if failure is None or any(answerable_results(state)):
        return ""
    action = next_action(state, failure)
    said = f"The request could not be planned: {failure.message} ({failure.class_})."
    return f"{said} What you can do: {action}." if action else said
