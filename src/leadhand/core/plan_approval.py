"""Plans that a person approves before work begins: the questions, and what their answers allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .approval import Approval, ApprovalStatus
from .errors import Failure, FailureClass
from .ids import attempt_id, order_id, page_id, subtask_key
from .questions import replied
from .state import RunState, StepState
from .tool import Effect
from .work_order import Subtask, WorkOrder, result_reference

MOST_PLANS = 3
"""How many plans of one run a person is shown at most: each after the first because the one before was denied."""
PLAN_DENIED = "plan_denied"
"""The type of the failure of a run whose plan nobody approved."""


def is_gated(state: RunState) -> bool:
    """Whether no work of a run may begin before a person approves its plan."""
    return state.definition.approve_plan or state.definition.plan_only


def plan_approval_id(number: int) -> str:
    """Return the id of the question about the ``number``-th plan of a run, counted from 1."""
    return page_id(1, number)


def plan_questions(state: RunState) -> list[Approval]:
    """Return the questions about plans of a whole run, in order; those about repairs are not among them."""
    plans = (each for each in state.approvals.values() if each.kind == "plan")
    return [each for each in plans if not each.approval_id.startswith("wo-")]


def denied_plans(state: RunState) -> list[Approval]:
    """Return the plans that a person denied with a reason: each is followed by another plan."""
    return [each for each in plan_questions(state) if each.status is ApprovalStatus.DENIED and each.reason.strip()]


def plan_number(state: RunState) -> int:
    """Return the number of the plan that is made, shown or carried out now, counted from 1: each follows a plan that a
    person denied, or the answer to a question that the planner asked."""
    return 1 + len(denied_plans(state)) + len(replied(state))


def open_plan(state: RunState) -> Approval | None:
    """Return the open question about a plan or a repair; None without one."""
    pending = (each for each in state.approvals.values() if each.status is ApprovalStatus.PENDING)
    return next((each for each in pending if each.kind == "plan"), None)


def plan_refused(state: RunState) -> Failure | None:
    """Return why the run ends without work: nobody approved its plan. None if it has, or may get, an approved one."""
    asked = plan_questions(state)
    latest = asked[-1] if asked else None
    if latest is None or latest.status in (ApprovalStatus.PENDING, ApprovalStatus.APPROVED):
        return None
    if latest.status is ApprovalStatus.EXPIRED:
        return _failure("nobody approved the plan in time", "run it again, and approve its plan")
    reason = latest.reason.strip()
    if reason and len(asked) < MOST_PLANS:
        return None
    said = f"{latest.by or 'a person'} denied the plan" + (f": {reason}" if reason else "")
    if reason:
        return _failure(f"{said} ({len(asked)} plans were denied)", "say in the request how to do it")
    return _failure(said, "ask for something else, or deny the plan with a reason to get another one")


def _failure(message: str, how: str) -> Failure:
    return Failure.of(message, PLAN_DENIED, FailureClass.REJECTED, how)


def same_plan(state: RunState, plan: Mapping[str, Any]) -> Failure | None:
    """Return why a plan is not shown to a person: it was denied before. None if it is another one."""
    if all(each.args != plan for each in denied_plans(state)):
        return None
    return _failure(
        "the lead made the plan again that a person had denied", "say in the request what it should do instead"
    )


def changed_plan() -> Failure:
    """Return why an approved plan is not carried out."""
    return _failure("the plan is not the one that was approved", "run it again: its flow has changed meanwhile")


def question(approval_id: str, plan: Mapping[str, Any], planner: StepState) -> Approval:
    """Return the question whether a plan, as JSON data, may be carried out; ``planner`` made it."""
    return Approval(
        approval_id=approval_id,
        kind="plan",
        attempt=attempt_id(planner.key, max(planner.attempts, 1)),
        tool="",
        args=dict(plan),
        effect=Effect.PURE,
        asked_for=planner.step.name,
    )


def shown_order(order: WorkOrder, **more: Any) -> dict[str, Any]:
    """Return a work order as people are shown it, as JSON data."""
    subtasks = [subtask.model_dump(mode="json", exclude_defaults=True) for subtask in order.subtasks]
    return {"goal": order.goal, "subtasks": subtasks, **{name: value for name, value in more.items() if value}}


def unapproved(state: RunState, order: WorkOrder) -> Sequence[Subtask]:
    """Return the subtasks of an order that make other calls than those of the plans that a person approved.

    A call is another one if it gets the result of another subtask. The repair of a subtask has to make a call that was
    approved for this subtask; a subtask that repairs none, one that was approved for any.
    """
    if not is_gated(state) or (state.orders and not state.definition.approve_plan):
        return ()
    own = dict(zip(order.subtask_keys(), order.subtasks, strict=True))
    issued = {key: each.step.subtask for key, each in state.steps.items()}

    def origin(key: str) -> str:
        """The key of the subtask that this one repairs, directly or through other repairs; else its own."""
        if key in own:
            key = own[key].repairs_subtask or key
        while (subtask := issued.get(key)) is not None and subtask.repairs_subtask is not None:
            key = subtask.repairs_subtask
        return key

    first = {asked.approval_id for asked in plan_questions(state)}
    approved = [
        (
            origin(subtask_key(order_id(1) if asked.approval_id in first else asked.approval_id, index)),
            _call(Subtask.model_validate(subtask), origin),
        )
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


def _call(subtask: Subtask, origin: Callable[[str], str]) -> tuple[Any, ...]:
    """What a person approves of a subtask, with the keys that other subtasks had before they were repaired."""
    found = {name: (value, result_reference(value)) for name, value in subtask.args.items()}
    args = {
        name: value if reference is None else {"$result": (origin(reference[0]), reference[1])}
        for name, (value, reference) in found.items()
    }
    free = (subtask.name, subtask.expected_output) if subtask.tool is None else ()
    return subtask.tool, subtask.worker, args, {origin(needed) for needed in subtask.needs}, free
