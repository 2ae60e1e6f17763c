"""The words of failures and gaps: what happened, and what a person can do. Advice names limits by their settings."""

from __future__ import annotations

import json
from collections.abc import Mapping

from leadhand.core.errors import BudgetRefused, Failure, FailureClass
from leadhand.core.limits import Ceiling, Money, usd
from leadhand.core.state import RunState
from leadhand.core.text import cut
from leadhand.core.tool import ASKS_PERSON, INDETERMINATE, UNREADABLE
from leadhand.core.value import Json

WHOLE_REQUEST = "the request as a whole"
"""The name of a gap that is about no step."""
DROPPED = "the lead dropped it"
REJECTED = "the review rejected the result"
NOT_CARRIED_OUT = "it was not carried out"
NOT_STARTED = "it was not started: {cause}"
NO_EVIDENCE = "the answer rests on no result"

ASK_AGAIN = "ask again"
FIX_FLOW = "fix the flow, then retry the run: nothing that is finished is done again"
ASK_OTHERWISE = "ask again, or more precisely"
ANOTHER_MODEL = "choose another model"
NOT_ACCEPTED = f"ask more precisely, or {ANOTHER_MODEL}"
CHECK_FIRST = "find out what it did before you ask for it again"

LONGEST_ARGUMENT = 200
SETTINGS = {"requests": "max_requests", "tokens": "max_tokens", "nanousd": "budget"}
"""The limits of what model calls use, by the kinds of amounts."""
_LACKING = {
    "requests": "{2} has no model calls left",
    "tokens": "the next model call may need {0:,} tokens, and {2} has {1:,} left",
    "nanousd": "the next model call may cost ${3}, and {2} has ${4} left",
}
"""What the next call may need of a kind, and what is left of it."""


def written_call(tool: str, args: Mapping[str, Json]) -> str:
    """Return a call as people read it: ``pay(amount=30)``."""
    return f"{tool}({', '.join(f'{name}={_written(value)}' for name, value in args.items())})"


def _written(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, LONGEST_ARGUMENT)


# --- advice ----------------------------------------------------------------------------------------------------------


def to_raise(*limits: str) -> str:
    """Return advice to raise limits, by the names that people use: ``raise timeout, and resume the run``."""
    return f"raise {' and '.join(limits)}, and resume the run"


def more_steps(state: RunState) -> str:
    """Return advice if a review was not satisfied: more work orders if none was left, else a better request."""
    most = state.definition.limits.max_steps
    more = f"allow more work orders (max_steps was {most}), and ask again"
    return more if len(state.orders) >= most else "ask more precisely"


def _number(value: float) -> str:
    return f"{value:,.9f}".rstrip("0").rstrip(".")


# --- failures --------------------------------------------------------------------------------------------------------


def indeterminate(tool: str, why: str = "") -> Failure:
    """Return the failure of a ``once`` call whose end was not recorded, or that failed so that nobody knows whether it
    went through: only a person may repeat it."""
    message = f"{tool} was interrupted{why and f' ({why})'}: the call may have gone through, so it was not repeated"
    action = "check whether the call went through before you ask for it again"
    return Failure.of(message, INDETERMINATE, FailureClass.UNAVAILABLE, action)


def asks_person(tool: str, question: str) -> Failure:
    """Return the failure of a call that is made again when a person has answered the question of its tool."""
    said, action = f"{tool} asks: {question}", "answer its question"
    return Failure.of(said, ASKS_PERSON, FailureClass.BLOCKED, action, not_made=True)


def no_such_secret(reference: str) -> Failure:
    """Return the failure of a call with a reference that leads nowhere."""
    message = f"{reference} refers to no secret of this run: it was deleted, is of another run, or was made up"
    action = "call the tool that returns the secret again"
    return Failure.of(message, "no_such_secret", FailureClass.INVALID, action, not_made=True)


def unreadable(tool: str, failure: Failure) -> Failure:
    """Return the failure of a ``once`` call that returned what cannot be used, for the reason in ``failure``."""
    message = f"{tool} was called, but its result cannot be used: {failure.message}"
    return Failure.of(message, UNREADABLE, FailureClass.UNAVAILABLE, failure.next_action)


def needs_failed(cause: str) -> Failure:
    """Return the failure of a step that cannot start because it needs ``cause``, which failed."""
    return Failure.of(f"it needs {cause}, which did not succeed", "needs_failed", FailureClass.BLOCKED)


def skipped(by: str, reason: str, doubted: str = "") -> Failure:
    """Return the failure of a step that a person skipped; ``doubted`` is a ``once`` tool that may have acted."""
    said = f"{by} skipped it" + (f": {reason}" if reason else "")
    if doubted:
        said += f"; {doubted} was interrupted: the call may have gone through"
    return Failure.of(said, "skipped", FailureClass.REJECTED, "retry it, or supply its result")


def unproven(message: str) -> Failure:
    """Return the failure of a result that the log does not support."""
    return Failure.of(message, "unproven", FailureClass.INVALID, f"{ANOTHER_MODEL} that calls its tools")


def out_of_time(message: str, retry_after_s: float | None = None) -> Failure:
    """Return the failure of what the time limit of a run ended."""
    return Failure.of(message, "time", FailureClass.EXHAUSTED, to_raise("timeout"), retry_after_s)


def refused(needed: Money, scope: str, left: Ceiling, kept: Money, *, shared: bool) -> BudgetRefused:
    """Return the error of a reservation that exceeds what is ``left`` of a ceiling: of a scope, or of the run ("")."""
    owner = f"the budget of {scope}" if shared else f"the step {scope}" if scope else "the run"
    rows = zip(SETTINGS, needed.row, left.row, strict=True)
    over = {kind: (amount, max(rest, 0)) for kind, amount, rest in rows if rest is not None and amount > rest}
    lacking = " and ".join(
        _LACKING[kind].format(*amounts, owner, *(_number(round(usd(each), 6)) for each in amounts))
        for kind, amounts in over.items()
    )
    if shared:
        how = "retry the run on the next day (UTC) if the budget is for a day; otherwise fork it under a higher one"
    elif scope:
        how = "raise the ceiling of that step or of its worker"
    else:
        lacking += ", besides what is kept for the steps after it" if any(kept.row) else ""
        how = to_raise(*(SETTINGS[kind] for kind in over))
    error = BudgetRefused(lacking, how)
    error.scope, error.shared = scope, shared
    if not scope:
        error.short_of = Money(**{kind: amount for kind, (amount, _) in over.items()})
    return error
