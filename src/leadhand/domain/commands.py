"""What the controller or a flow wants done; ``decide`` turns it into events, or refuses."""

from __future__ import annotations

from typing import NamedTuple

from .approval import Approval
from .assignment import Assignment
from .errors import Failure
from .review import Review
from .run import RunStatus
from .work_order import OutOfReach, WorkOrder


class IssueOrder(NamedTuple):
    """Issue an order: from then on it is immutable. ``by`` names the person who asked for it, if one did."""

    order: WorkOrder
    by: str = ""


class Honour(NamedTuple):
    """Decide what becomes of the oldest wish of a person."""


class Decline(NamedTuple):
    """Say why what a person wants done again cannot be."""

    reason: str


class RefuseParts(NamedTuple):
    """Note parts of the request that no tool covers."""

    parts: tuple[OutOfReach, ...]


class Assign(NamedTuple):
    """Hand out a subtask or a thought."""

    assignment: Assignment


class Block(NamedTuple):
    """Give up a subtask that needs one that failed."""

    subtask: str
    cause: str


class Settle(NamedTuple):
    """Judge what the current attempt of an assignment returned: accept it, try again, or give up."""

    assignment: str


class TryAgain(NamedTuple):
    """Schedule the attempt that follows one which was settled for another try."""

    assignment: str


class Continue(NamedTuple):
    """Take a parked attempt up again: all its open calls have their answers."""

    assignment: str


class AnswerChild(NamedTuple):
    """Hand what a child assignment came to, to the call that asked for it."""

    call_id: str


class GiveUpAttempt(NamedTuple):
    """Count an attempt as over although it did not return: its process died, or its deadline passed."""

    attempt: str
    failure: Failure


class JudgeOrder(NamedTuple):
    """Put the review of an order on record."""

    work_order_id: str
    review: Review


class AskApproval(NamedTuple):
    """Ask a person about a call."""

    approval: Approval


class ExpireApproval(NamedTuple):
    """Take silence for a no."""

    approval_id: str


class Pause(NamedTuple):
    """Start nothing new until somebody resumes the run."""

    reason: str = ""


class Wait(NamedTuple):
    """Say that only people can move the run on."""

    reason: str = ""


class Resume(NamedTuple):
    """Go on."""


class Finish(NamedTuple):
    """End the run with this answer; None: code writes it, in plain words.

    ``status`` None lets the evidence decide: succeeded, partial or failed.
    """

    answer: str | None
    status: RunStatus | None = None
    failure: Failure | None = None


Command = (
    IssueOrder
    | Honour
    | Decline
    | RefuseParts
    | Assign
    | Block
    | Settle
    | TryAgain
    | Continue
    | AnswerChild
    | GiveUpAttempt
    | JudgeOrder
    | AskApproval
    | ExpireApproval
    | Pause
    | Wait
    | Resume
    | Finish
)


class Refused(ValueError):
    """A command that the state does not allow; nothing happens."""
