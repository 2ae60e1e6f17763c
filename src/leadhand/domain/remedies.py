"""What a person can do about a failure, depending on the run: its limits, its policy, its end."""

from __future__ import annotations

from .approval import ApprovalStatus
from .errors import Failure, FailureClass, usual_action
from .limits import usd
from .state import RunState
from .tool import ApprovalPolicy

ASK_AGAIN = "ask again"


def next_action(state: RunState, failure: Failure) -> str:
    """What a person can do about ``failure``: its own advice, or else advice from the run's limits and policy."""
    if failure.next_action != usual_action(failure.class_, failure.type):
        return failure.next_action
    match failure.class_, failure.type:
        case FailureClass.EXHAUSTED, "time":
            return _longer(state)
        case FailureClass.EXHAUSTED, "allowance":
            return _more_allowance(state)
        case FailureClass.REJECTED, "denied":
            return _allowed(state)
        case FailureClass.INSUFFICIENT, _:
            return more_steps(state)
        case _:
            return failure.next_action


def more_steps(state: RunState) -> str:
    """What helps where the review wanted more: further orders, if none was left, else a better request."""
    most = state.definition.limits.max_steps
    if state.steps >= most:
        return f"allow more work orders with --max-steps (it was {most}), and ask again"
    return "ask more precisely"


def _longer(state: RunState) -> str:
    seconds = state.definition.limits.timeout_s
    return (
        "raise --timeout, and ask again" if seconds is None else f"raise --timeout (it was {seconds:g}), and ask again"
    )


def _more_allowance(state: RunState) -> str:
    """Names the limits that a model call may have met, and no others."""
    limits, held_back = state.definition.limits, state.definition.held_back
    if limits.max_requests is not None and state.spent.requests >= limits.max_requests - held_back.requests:
        return f"raise --max-requests (it was {limits.max_requests:,}), and ask again"
    named = [
        *([] if limits.budget_nanousd is None else [f"--budget (it was {_dollars(limits.budget_nanousd)})"]),
        *([] if limits.max_tokens is None else [f"--max-tokens (it was {limits.max_tokens:,})"]),
    ]
    if len(named) > 1 and state.spent.requests and not state.spent.nanousd:
        named = named[1:]  # what costs nothing does not meet the budget
    return f"raise {' or '.join(named) or '--budget'}, and ask again"


def _dollars(nano: int) -> str:
    """An amount without an exponent, however small."""
    return f"{usd(nano):.9f}".rstrip("0").rstrip(".") or "0"


def _allowed(state: RunState) -> str:
    """A call was denied: by a person, who was asked, or by a policy, which was set beforehand."""
    statuses = {approval.status for approval in state.approvals.values() if approval.kind == "call"}
    if ApprovalStatus.DENIED in statuses:
        return "ask for something else, since a person denied the call"
    if ApprovalStatus.EXPIRED in statuses:
        return "ask again and answer in time, or allow more of it with --approval-timeout"
    if state.definition.approve is ApprovalPolicy.NEVER:
        return "nobody was asked: run it with --approve ask or auto"
    if state.definition.approve_rules:
        return "change the rule that denies it (--approve), or ask for something else"
    return "the tool itself allows no calls (approval): change that, or ask for something else"
