"""The words of an outcome: headlines, reasons of gaps, and what a person can do about a failure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .errors import Failure, FailureClass
from .run import RunStatus
from .tool import INDETERMINATE, UNREADABLE
from .value import Json

HEADLINES = {
    RunStatus.SUCCEEDED: "The run succeeded",
    RunStatus.PARTIAL: "There are doubts about the answer",
    RunStatus.FAILED: "The run failed",
}
"""Of a run without gaps. The headline of any other status is its name."""
CONTRADICTS = "the answer contradicts its evidence"
FOR_ANSWER = "Waiting for your answer"
FOR_APPROVAL = "Waiting for approval"
FOR_PROCESS = "Continues as soon as a process drives it"

WHOLE_REQUEST = "the request as a whole"
"""The name of a gap that is about no step."""
DROPPED = "the lead dropped it"
REJECTED = "the review rejected the result"
NOT_CARRIED_OUT = "it was not carried out"
NOT_STARTED = "it was not started: {cause}"
CANCELLED = "the run was cancelled by {by} before it started"
NO_EVIDENCE = "the answer rests on no result"
UNKNOWN_STEP = NO_EVIDENCE + ": the flow's outcome uses {step!r}, which is not a step"
WITHHELD = "The answer is withheld: {cause}."

ASK_AGAIN = "ask again"
ASK_PRECISELY = "ask more precisely"
CHECK_FIRST = "find out what it did before you ask for it again"
MORE_STEPS = "allow more work orders with --max-steps (it was {most}), and ask again"
RAISE = "raise {limits}, and resume the run"
DENIED_BY_PERSON = "ask for something else: a person denied the call"
NOT_ANSWERED = "ask again and answer in time, or allow more of it with --approval-timeout"
NEVER_ASKED = "to be asked for approval, run it with --approve ask"
DENIED_BY_RULE = "change the rule that denies it (--approve), or ask for something else"
DENIED_BY_TOOL = "change the approval setting of the tool, which denies all calls, or ask for something else"

LONGEST_ARGUMENT = 200


def headline(status: RunStatus, gaps: int, *, contradicted: bool, cancelled_by: str | None) -> str:
    """Return the state of a run in one line: its status, the number of its ``gaps``, who cancelled it."""
    if status is RunStatus.PARTIAL and (gaps or contradicted):
        missing = [f"{gaps:,} {'part is' if gaps == 1 else 'parts are'} missing"] if gaps else []
        said = ", and ".join([*missing, *([CONTRADICTS] if contradicted else [])])
        return f"{said[0].upper()}{said[1:]}"
    if status is RunStatus.CANCELLED and cancelled_by:
        return f"Cancelled by {cancelled_by}"
    return HEADLINES.get(status, status.value.capitalize())


def limit_flag(name: str, most: float | None) -> str:
    """Return the flag of a limit, with the value that it has: ``--timeout (it was 90)``."""
    flag = f"--{name.replace('_', '-')}"
    if most is None:
        return flag
    if name == "budget":
        return f"{flag} (it was {f'{most:.9f}'.rstrip('0').rstrip('.')})"
    return f"{flag} (it was {f'{most:g}' if name == 'timeout' else f'{most:,}'})"


def written_call(tool: str, args: Mapping[str, Json]) -> str:
    """Return a call as people read it: ``pay(amount=30)``."""
    return f"{tool}({', '.join(f'{name}={_cut(value)}' for name, value in args.items())})"


def _cut(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_ARGUMENT else f"{text[:LONGEST_ARGUMENT]}…"


# --- failures --------------------------------------------------------------------------------------------------------


def indeterminate(tool: str) -> Failure:
    """Return the failure of a ``once`` call whose end was not recorded: only a person may repeat it."""
    message = f"{tool} was interrupted: the call may have gone through, so it was not repeated"
    action = "check whether the call went through before you ask for it again"
    return Failure.of(message, INDETERMINATE, FailureClass.UNAVAILABLE, action)


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
    return Failure.of(said, "skipped", FailureClass.REJECTED)


def unproven(message: str) -> Failure:
    """Return the failure of a result that the log does not support."""
    return Failure.of(message, "unproven", FailureClass.INVALID)
