"""Plans that a person approves before work begins: what is held back, and which work nobody has approved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .approval import Approval, ApprovalStatus
from .ids import order_id, subtask_key
from .state import RunState
from .work_order import Subtask, WorkOrder, result_reference


def is_gated(state: RunState) -> bool:
    """Whether no work of a run may begin before a person approves its plan."""
    return state.definition.approve_plan or state.definition.plan_only


def open_plan(state: RunState) -> Approval | None:
    """Return the open question about a plan or a repair; None without one."""
    plans = (each for each in state.approvals.values() if each.kind == "plan")
    return next((each for each in plans if each.status is ApprovalStatus.PENDING), None)


def unapproved(state: RunState, order: WorkOrder) -> Sequence[Subtask]:
    """Return the subtasks of an order that make other calls than those of the plans that a person approved.

    A call is another one if it gets the result of another subtask. The repair of a subtask has to make a call that was
    approved for this subtask; a subtask that repairs none, one that was approved for any.
    """
    if not is_gated(state) or (state.orders and not state.definition.approve_plan):
        return ()
    own = dict(zip(order.subtask_keys(), order.subtasks, strict=True))

    def origin(key: str) -> str:
        """The key of the subtask that this one repairs, directly or through other repairs; else its own."""
        subtask = own.get(key) or _issued(state, key)
        while subtask is not None and subtask.repairs_subtask is not None:
            key = subtask.repairs_subtask
            subtask = _issued(state, key)
        return key

    approved = [
        (origin(subtask_key(_order_of(asked), index)), _call(Subtask.model_validate(subtask), origin))
        for asked in state.approvals.values()
        if asked.kind == "plan" and asked.status is ApprovalStatus.APPROVED
        for index, subtask in enumerate(asked.args.get("subtasks", ()))
    ]
    return [
        subtask
        for key, subtask in own.items()
        if not any(
            call == _call(subtask, origin) and (subtask.repairs_subtask is None or of == origin(key))
            for of, call in approved
        )
    ]


def _issued(state: RunState, key: str) -> Subtask | None:
    step = state.steps.get(key)
    return None if step is None else step.step.subtask


def is_about_repair(asked: Approval) -> bool:
    """Whether a question about a plan is about a repair: its id is then that of the order."""
    return asked.approval_id.startswith("wo-")


def _order_of(asked: Approval) -> str:
    return asked.approval_id if is_about_repair(asked) else order_id(1)


def _call(subtask: Subtask, origin: Callable[[str], str]) -> tuple[Any, ...]:
    """What a person approves of a subtask, with the keys that other subtasks had before they were repaired."""
    found = {name: (value, result_reference(value)) for name, value in subtask.args.items()}
    args = {
        name: value if reference is None else {"$result": (origin(reference[0]), reference[1])}
        for name, (value, reference) in found.items()
    }
    free = (subtask.name, subtask.expected_output) if subtask.tool is None else ()
    return subtask.tool, subtask.worker, args, {origin(needed) for needed in subtask.needs}, free
