"""Plans that a person approves before work begins: what is held back, and which work nobody has approved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .approval import Approval, ApprovalStatus
from .state import RunState
from .work_order import Subtask, WorkOrder


def is_gated(state: RunState) -> bool:
    """Whether no work of a run may begin before a person approves its plan."""
    return state.definition.approve_plan or state.definition.plan_only


def open_plan(state: RunState) -> Approval | None:
    """Return the open question about a plan or a repair; None without one."""
    plans = (each for each in state.approvals.values() if each.kind == "plan")
    return next((each for each in plans if each.status is ApprovalStatus.PENDING), None)


def unapproved(state: RunState, order: WorkOrder) -> Sequence[Subtask]:
    """Return the subtasks of an order that make other calls than those of the plans that a person approved."""
    if not is_gated(state) or (state.orders and not state.definition.approve_plan):
        return ()
    approved = [
        _call(Subtask.model_validate(subtask))
        for asked in state.approvals.values()
        if asked.kind == "plan" and asked.status is ApprovalStatus.APPROVED
        for subtask in asked.args.get("subtasks", ())
    ]
    return [subtask for subtask in order.subtasks if _call(subtask) not in approved]


def _call(subtask: Subtask) -> tuple[Any, ...]:
    """What a person approves of a subtask; without a tool, also what its worker reads."""
    shown = (subtask.name, subtask.expected_output) if subtask.tool is None else ()
    return subtask.tool, subtask.worker, subtask.args, subtask.needs, shown


def is_about_repair(asked: Approval) -> bool:
    """Whether a question about a plan is about a repair: its id is then that of the order."""
    return asked.approval_id.startswith("wo-")
