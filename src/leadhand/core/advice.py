"""What a person can do about a failure, from its own advice, the run's limits and its policy."""

from __future__ import annotations

from . import words_of_outcome as words
from .approval import ApprovalStatus
from .errors import DENIED, MAX_TURNS, Failure, FailureClass, usual_action
from .limits import usd
from .state import RunState
from .tool import ApprovalPolicy


def next_action(state: RunState, failure: Failure) -> str:
    """Return what a person can do about ``failure``: its own advice, else advice from the run's limits and policy."""
    if reached := limits_reached(state, failure):
        return words.RAISE.format(limits=" and ".join(words.limit_flag(*each) for each in reached.items()))
    if failure.next_action != usual_action(failure.class_, failure.type):
        return failure.next_action
    if failure.class_ is FailureClass.REJECTED and failure.type == DENIED:
        return _allowed(state)
    return more_steps(state) if failure.class_ is FailureClass.INSUFFICIENT else failure.next_action


Reached = dict[str, "int | float | None"]
"""Limits of a run by the names and in the units that people use; None for one that is not set."""


def limits_reached(state: RunState, failure: Failure) -> Reached:
    """Return the limits of the run that ``failure`` reached."""
    limits = state.definition.limits
    if failure.type == MAX_TURNS:
        turns = _turns_of_stopped(state, failure)
        return {"max_turns": turns} if turns else {}
    if failure.short_of is not None:
        budget = None if limits.budget_nanousd is None else usd(limits.budget_nanousd)
        known: Reached = {"max_requests": limits.max_requests, "max_tokens": limits.max_tokens, "budget": budget}
        return {name: known[name] for name, short in zip(known, failure.short_of.row, strict=True) if short}
    usual = failure.next_action == usual_action(FailureClass.EXHAUSTED, "time")
    return {"timeout": limits.timeout_s} if usual and failure.type == "time" else {}


def _turns_of_stopped(state: RunState, failure: Failure) -> int:
    """Return the turns after which a lead was stopped that more turns let continue; 0 if the failure is of another."""
    stopped = next((each for each in state.steps.values() if each.stopped and each.failure == failure), None)
    role = state.worker(stopped.step.worker) if stopped is not None else None
    return 0 if role is None else role.max_turns or state.definition.limits.max_turns


def more_steps(state: RunState) -> str:
    """Return advice if the review was not satisfied: more orders if none was left, else a better request."""
    most = state.definition.limits.max_steps
    return words.MORE_STEPS.format(most=most) if state.orders_of_lead >= most else words.ASK_PRECISELY


def _allowed(state: RunState) -> str:
    """Return advice for a call that a person or a policy denied."""
    statuses = {approval.status for approval in state.approvals.values() if approval.kind == "call"}
    if ApprovalStatus.DENIED in statuses:
        return words.DENIED_BY_PERSON
    if ApprovalStatus.EXPIRED in statuses:
        return words.NOT_ANSWERED
    if state.definition.approve is ApprovalPolicy.NEVER:
        return words.NEVER_ASKED
    return words.DENIED_BY_RULE if state.definition.approve_rules else words.DENIED_BY_TOOL
