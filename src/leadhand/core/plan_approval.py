"""Plans that a person approves before work begins."""

from __future__ import annotations

from .approval import Approval, ApprovalStatus
from .state import RunState


def is_gated(state: RunState) -> bool:
    """Whether no work of a run may begin before a person approves its plan."""
    return state.definition.approve_plan or state.definition.plan_only


def open_plan(state: RunState) -> Approval | None:
    """Return the open question about a plan; None without one."""
    plans = (each for each in state.approvals.values() if each.kind == "plan")
    return next((each for each in plans if each.status is ApprovalStatus.PENDING), None)
