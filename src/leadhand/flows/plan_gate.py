"""Hold a run back until a person has approved its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.approval import Approval, ApprovalStatus
from leadhand.core.commands import Ask, Command, Finish
from leadhand.core.plan_approval import (
    changed_plan,
    denied_plans,
    is_gated,
    plan_approval_id,
    plan_number,
    question,
    same_plan,
    shown_order,
    unapproved,
)
from leadhand.core.state import RunState, StepState
from leadhand.core.work_order import WorkOrder

DENIED = """\
A person has denied the plans in `denied`, each for its `reason`. Make another plan, which respects every reason."""
"""Further instructions for a planner whose plan was denied."""


def held(state: RunState, plan: Mapping[str, Any], planner: StepState) -> Sequence[Command] | None:
    """Return what a run does instead of carrying out its plan: ask, wait or end; None if it may carry it out.

    ``plan`` is what people are shown, as JSON data; ``planner`` made it.
    """
    if not is_gated(state):
        return None
    approval_id = plan_approval_id(plan_number(state))
    asked = state.approvals.get(approval_id)
    if asked is None:
        again = same_plan(state, plan)
        return [Finish(failure=again)] if again is not None else [_asking(approval_id, plan, planner)]
    if asked.status is not ApprovalStatus.APPROVED:
        return []
    return None if asked.args == plan else [Finish(failure=changed_plan())]


def repair_held(state: RunState, order: WorkOrder, planner: StepState) -> Sequence[Command] | None:
    """Return what a run does instead of carrying out a repair with calls that nobody has approved; None if it may.

    A repair that a person denied is left out: see :func:`is_denied`.
    """
    if not unapproved(state, order):
        return None
    asked = state.approvals.get(order.work_order_id)
    return [_asking(order.work_order_id, shown_order(order), planner)] if asked is None else []


def is_denied(state: RunState, order: WorkOrder) -> bool:
    """Whether a person denied a repair, or did not approve it in time."""
    asked = state.approvals.get(order.work_order_id)
    return asked is not None and asked.status in (ApprovalStatus.DENIED, ApprovalStatus.EXPIRED)


def _asking(approval_id: str, plan: Mapping[str, Any], planner: StepState) -> Ask:
    return Ask(question(approval_id, plan, planner))


def denied_facts(state: RunState) -> dict[str, Any]:
    """Return what a planner receives of the plans that were denied; nothing for the first plan."""
    denied: Sequence[Approval] = denied_plans(state)
    return {"denied": [{"plan": each.args, "reason": each.reason} for each in denied]} if denied else {}
