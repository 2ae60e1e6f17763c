"""Hold a run back until a person has approved its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.approval import Approval, ApprovalStatus
from leadhand.core.commands import Ask, Command, Finish
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.ids import attempt_id
from leadhand.core.plan_approval import is_about_repair, is_gated, unapproved
from leadhand.core.state import RunState, StepState
from leadhand.core.tool import Effect
from leadhand.core.work_order import WorkOrder
from leadhand.flows.facts import replied

MOST_PLANS = 3
"""How many plans of one run a person is shown at most: each after the first because the one before was denied."""
PLAN_DENIED = "plan_denied"
"""The type of the failure of a run whose plan nobody approved."""
DENIED = """\
A person has denied the plans in `denied`, each for its `reason`. Make another plan, which respects every reason."""
"""Further instructions for a planner whose plan was denied."""


def plan_questions(state: RunState) -> list[Approval]:
    """Return the questions about plans of a whole run, in order; those about repairs are not among them."""
    return [each for each in state.approvals.values() if each.kind == "plan" and not is_about_repair(each)]


def denied_plans(state: RunState) -> list[Approval]:
    """Return the plans that a person denied with a reason: each is followed by another plan."""
    return [each for each in plan_questions(state) if each.status is ApprovalStatus.DENIED and each.reason.strip()]


def plan_number(state: RunState) -> int:
    """Return the number of the plan that is made, shown or carried out now, counted from 1: each follows a plan that a
    person denied, or the answer to a question that the planner asked."""
    return 1 + len(denied_plans(state)) + len(replied(state))


def page_id(number: int, plan: int = 1) -> str:
    """Return the id of the step that writes the ``number``-th page of the ``plan``-th plan, counted from 1."""
    first = "plan" if plan == 1 else f"plan-v{plan}"
    return first if number == 1 else f"{first}-{number}"


def plan_refused(state: RunState) -> Failure | None:
    """Return why the run ends without work: nobody approved its plan. None if it has, or may get, an approved one."""
    asked = plan_questions(state)
    latest = asked[-1] if asked else None
    if latest is None or latest.status in (ApprovalStatus.PENDING, ApprovalStatus.APPROVED):
        return None
    return denial(latest.reason, latest.by, len(asked), late=latest.status is ApprovalStatus.EXPIRED)


def held(state: RunState, plan: Mapping[str, Any], planner: StepState) -> Sequence[Command] | None:
    """Return what a run does instead of carrying out its plan: ask, wait or end; None if it may carry it out.

    ``plan`` is what people are shown, as JSON data; ``planner`` made it.
    """
    if not is_gated(state):
        return None
    approval_id = page_id(1, plan_number(state))
    asked = state.approvals.get(approval_id)
    if asked is None and any(each.args == plan for each in denied_plans(state)):
        return [Finish(failure=made_again())]
    if asked is None:
        return [_asking(approval_id, plan, planner)]
    if asked.status is not ApprovalStatus.APPROVED:
        return []
    if asked.args == plan:
        return None
    message = "the plan is not the one that was approved"
    return [Finish(failure=_failure(message, "run it again: its flow has changed meanwhile"))]


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


def shown_order(order: WorkOrder, **more: Any) -> dict[str, Any]:
    """Return a work order as people are shown it, as JSON data."""
    subtasks = [subtask.model_dump(mode="json", exclude_defaults=True) for subtask in order.subtasks]
    return {"goal": order.goal, "subtasks": subtasks, **{name: value for name, value in more.items() if value}}


def denied_facts(state: RunState) -> dict[str, Any]:
    """Return what a planner receives of the plans that were denied; nothing for the first plan."""
    denied = [{"plan": each.args, "reason": each.reason} for each in denied_plans(state)]
    return {"denied": denied} if denied else {}


def _asking(approval_id: str, plan: Mapping[str, Any], planner: StepState) -> Ask:
    return Ask(
        asked=Approval(
            approval_id=approval_id,
            kind="plan",
            attempt=attempt_id(planner.key, max(planner.attempts, 1)),
            tool="",
            args=dict(plan),
            effect=Effect.PURE,
            asked_for=planner.step.name,
        )
    )


def denial(reason: str, by: str, number: int, *, late: bool) -> Failure | None:
    """Return why a run ends after the ``number``-th plan that a person denied; None if another plan is made."""
    if late:
        return _failure("nobody approved the plan in time", "run it again, and approve its plan")
    reason = reason.strip()
    if reason and number < MOST_PLANS:
        return None
    what = f"{by or 'a person'} denied the plan" + (f": {reason}" if reason else "")
    if reason:
        return _failure(f"{what} ({number} plans were denied)", "say in the request how to do it")
    return _failure(what, "ask for something else, or deny the plan with a reason to get another one")


def made_again() -> Failure:
    """Return why a run ends that has made a plan again which a person had denied."""
    message = "the lead made the plan again that a person had denied"
    return _failure(message, "say in the request what it should do instead")


def _failure(message: str, how: str) -> Failure:
    return Failure.of(message, PLAN_DENIED, FailureClass.REJECTED, how)
