"""Plan a request as one work order, in several pages if it is long."""

from __future__ import annotations

from leadhand.domain import commands as do
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.ids import order_id, page_id
from leadhand.domain.outcome import next_action
from leadhand.domain.state import AssignmentState, RunState
from leadhand.domain.work_order import Plan, ProposedSubtask, Unsupported, issue

from .roles import RoleName

MAX_PAGES = 200
"""Maximum pages of one plan."""


def plan(state: RunState) -> list[do.Command] | Plan:
    """Return the next commands for planning, or the whole plan once it is complete.

    A page with ``more`` is followed by another, whose brief contains the subtasks planned before. If a later page
    fails, only its own subtasks are lost, which are named as a gap.
    """
    pages: list[Plan] = []
    for number in range(1, MAX_PAGES + 1):
        page_ = state.assignments.get(page_id(number))
        if page_ is None:
            planned = sum(len(page.subtasks) for page in pages)
            return [do.Assign(id=page_id(number), role=RoleName.PLAN, input={"first": planned})]
        if not page_.closed:
            return []
        if not page_.ok:
            if not pages:
                return [do.Finish(failure=_why(page_))]
            return _whole(pages, _why(page_).message)
        pages.append(Plan.model_validate(page_.value))
        if not pages[-1].more:
            return _whole(pages)
    return _whole(pages, f"the plan did not end after {MAX_PAGES} pages")


def issued(state: RunState, whole: Plan) -> list[do.Command]:
    """Return the first order, and the parts that no tool can do."""
    fresh = any(part not in state.unsupported for part in whole.cannot)
    commands: list[do.Command] = [do.NoteGaps(parts=whole.cannot)] if fresh else []
    if whole.subtasks:
        commands.append(do.IssueOrder(order=issue(whole.subtasks, order_id(1), whole.goal)))
    return commands


def _whole(pages: list[Plan], cut_off: str = "") -> Plan:
    subtasks: list[ProposedSubtask] = [subtask for page in pages for subtask in page.subtasks]
    cannot = [part for page in pages for part in page.cannot]
    if cut_off:
        rest = f"the rest of the request, after its first {len(subtasks)} subtasks"
        cannot.append(Unsupported(what=rest, reason=f"the plan ended early: {cut_off}"[:1_000]))
    return Plan(goal=pages[0].goal, subtasks=tuple(subtasks), cannot=tuple(dict.fromkeys(cannot)))


def _why(page_: AssignmentState) -> Failure:
    return page_.failure or Failure.of("no reason was given", "unknown", FailureClass.INSUFFICIENT)


def unplanned(state: RunState) -> str:
    """Return the answer of a run whose request could not be planned; "" for any other run."""
    first = state.assignments.get(page_id(1))
    if first is None or not first.closed or first.ok:
        return ""
    failure = _why(first)
    action = next_action(state, failure)
    said = f"The request could not be planned: {failure.message} ({failure.class_})."
    return f"{said} What you can do: {action}." if action else said
