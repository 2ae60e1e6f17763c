"""What a person can do about a failure, from its own advice, the run's limits and its policy."""

from __future__ import annotations

from .approval import ApprovalStatus
from .errors import DENIED, MAX_TURNS, Failure, FailureClass, usual_action
from .limits import usd
from .state import RunState
from .tool import ApprovalPolicy

ASK_AGAIN = "ask again"


def next_action(state: RunState, failure: Failure) -> str:
    """Return what a person can do about ``failure``: its own advice, else advice from the run's limits and policy."""
    if reached := limits_reached(state, failure):
        either = " or " if failure.short_of is None else " and "
        return f"raise {either.join(_as_flag(*each) for each in reached.items())}, and resume the run"
    if failure.next_action != usual_action(failure.class_, failure.type):
        return failure.next_action
    match failure.class_, failure.type:
        case FailureClass.REJECTED, _ if failure.type == DENIED:
            return _allowed(state)
        case FailureClass.INSUFFICIENT, _:
            return more_steps(state)
        case _:
            return failure.next_action


Reached = dict[str, "int | float | None"]
"""Limits of a run by the names and in the units that people use; None for one that is not set."""


def limits_reached(state: RunState, failure: Failure) -> Reached:
    """Return the limits of the run that ``failure`` reached, or may have reached if the failure does not say which."""
    limits = state.definition.limits
    if failure.type == MAX_TURNS:
        turns = _turns_of_stopped(state, failure)
        return {"max_turns": turns} if turns else {}
    usual = failure.next_action == usual_action(failure.class_, failure.type)
    if failure.short_of is None and (failure.class_ is not FailureClass.EXHAUSTED or not usual):
        return {}
    if failure.type == "time":
        return {"timeout": limits.timeout_s}
    if failure.type != "allowance":
        return {}
    budget = None if limits.budget_nanousd is None else usd(limits.budget_nanousd)
    known: Reached = {"max_requests": limits.max_requests, "max_tokens": limits.max_tokens, "budget": budget}
    if failure.short_of is not None:
        return {name: known[name] for name, short in zip(known, failure.short_of.row, strict=True) if short}
    held_back, spent = state.definition.held_back, state.spent
    if limits.max_requests is not None and spent.requests >= limits.max_requests - held_back.requests:
        return {"max_requests": limits.max_requests}
    free = limits.max_tokens is not None and spent.requests and not spent.nanousd  # it cannot reach the budget
    names = ("max_tokens",) if free else ("budget", "max_tokens")
    return {name: known[name] for name in names if known[name] is not None} or {"budget": None}


def _as_flag(name: str, most: float | None) -> str:
    flag = f"--{name.replace('_', '-')}"
    if most is None:
        return flag
    if name == "budget":
        return f"{flag} (it was {f'{most:.9f}'.rstrip('0').rstrip('.')})"
    return f"{flag} (it was {f'{most:g}' if name == 'timeout' else f'{most:,}'})"


def _turns_of_stopped(state: RunState, failure: Failure) -> int:
    """Return the turns after which a lead was stopped that more turns let continue; 0 if the failure is of another."""
    stopped = next((each for each in state.steps.values() if each.stopped and each.failure == failure), None)
    role = state.worker(stopped.step.worker) if stopped is not None else None
    return 0 if role is None else role.max_turns or state.definition.limits.max_turns


def more_steps(state: RunState) -> str:
    """Return advice if the review was not satisfied: more orders if none was left, else a better request."""
    most = state.definition.limits.max_steps
    if state.orders_of_lead >= most:
        return f"allow more work orders with --max-steps (it was {most}), and ask again"
    return "ask more precisely"


def _allowed(state: RunState) -> str:
    """Return advice for a call that a person or a policy denied."""
    statuses = {approval.status for approval in state.approvals.values() if approval.kind == "call"}
    if ApprovalStatus.DENIED in statuses:
        return "ask for something else: a person denied the call"
    if ApprovalStatus.EXPIRED in statuses:
        return "ask again and answer in time, or allow more of it with --approval-timeout"
    if state.definition.approve is ApprovalPolicy.NEVER:
        return "to be asked for approval, run it with --approve ask"
    if state.definition.approve_rules:
        return "change the rule that denies it (--approve), or ask for something else"
    return "change the approval setting of the tool, which denies all calls, or ask for something else"
