"""What a judge says the answer leaves out: the lead confirms it once, and orders it or says that nothing can do it."""

from __future__ import annotations

from typing import Any

from leadhand.core import commands as do
from leadhand.core.run import Gap
from leadhand.core.state import OrderState, RunState
from leadhand.core.work_order import WorkOrder
from leadhand.core.work_result import Review
from leadhand.flows.facts import today

from . import briefs
from .composing import composed
from .repair import missing_order
from .results import answerable_results, not_ordered
from .roles import RoleName, instructions

MISSING = "review-missing"
"""The id of the step that confirms what is missing."""


def commands(state: RunState, order: OrderState) -> list[do.Command] | None:
    """Return what asks the lead about the missing parts that the first judgement named, and notes what it says that
    nothing can do; None once that is done, or if nothing is missing."""
    if state.definition.check != "judge":
        return None
    confirmed = state.steps.get(MISSING)
    if confirmed is None:
        if not _named(state):
            return None
        given: dict[str, Any] = {"covers": [], "whole": True, "work_order_id": order.order.work_order_id}
        asks = instructions("missing")
        return [
            do.IssueStep(id=MISSING, worker=RoleName.REVIEW, title="what is missing", input=given, instructions=asks)
        ]
    if not confirmed.closed:
        return []
    review = _confirmed(state)
    fresh = tuple(part for part in review.cannot if part not in state.unsupported) if review is not None else ()
    return [do.NoteGaps(parts=fresh)] if fresh else None


def wanted(state: RunState, order: OrderState) -> WorkOrder | None:
    """Return the order of the parts that the lead confirmed, None if there is nothing to order.

    One judgement leads to one order at most.
    """
    review = _confirmed(state)
    return missing_order(state, order, review) if review is not None else None


def gaps(state: RunState) -> list[Gap]:
    """Return the gaps of parts that the lead confirmed and that were not ordered."""
    review = _confirmed(state)
    return [not_ordered(state, each.name) for each in review.missing] if review is not None else []


def _confirmed(state: RunState) -> Review | None:
    """Return what the lead said about the missing parts of the answer to the latest order, None if it said nothing."""
    confirmed, order = state.steps.get(MISSING), state.order
    if confirmed is None or not confirmed.ok or order is None:
        return None
    if confirmed.step.input["work_order_id"] != order.order.work_order_id:
        return None  # an order followed
    return Review.model_validate(confirmed.value)


def brief(state: RunState) -> dict[str, Any]:
    """Return the brief of the step that confirms what is missing."""
    order = state.order
    written = order.review.answer if order is not None and order.review is not None else None
    tools = [] if briefs.is_last_order(state) else briefs.shown_tools(state.definition.tools)
    made = [
        {"name": each.subtask.name, "tool": each.subtask.tool, "args": each.subtask.args}
        for each in answerable_results(state)
    ]
    parts = [{"n": n, **part} for n, part in enumerate(_named(state), start=1)]
    facts = {"tools": tools, **today(state), **briefs.asked(state), "gaps": briefs.gap_facts(state)}
    return {**facts, "answer": written or composed(state), "made": made, "missing": parts}


def _named(state: RunState) -> list[dict[str, str]]:
    from leadhand.flows.judging import missing_parts  # a run without a judge does not import it

    return [part.model_dump() for part in missing_parts(state)]
