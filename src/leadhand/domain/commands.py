"""What the domain and a flow say to each other: the commands, and the methods that the domain calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import AfterValidator, Field

from .approval import Approval
from .errors import Failure
from .run import Gap
from .state import AssignmentState, RunState
from .value import Json, plain_json
from .work_order import LONGEST_ID, LONGEST_TITLE, Unsupported, WorkOrder
from .work_result import Review


class IssueOrder(NamedTuple):
    """Issue an order: from then on it is immutable. ``by`` names the person who asked for it, if one did."""

    order: WorkOrder
    by: str = ""


class DecideRequest(NamedTuple):
    """Decide the oldest pending request of a person."""


class DeclineRetry(NamedTuple):
    """Say why what a person wants done again cannot be done."""

    reason: str


class NoteGaps(NamedTuple):
    """Note parts of the request that no tool supports."""

    parts: tuple[Unsupported, ...]


class Assign(NamedTuple):
    """Hand out an assignment of a role; it starts once what it ``needs`` is completed.

    ``tools`` narrows what the role allows; ``model`` and ``instructions`` replace the role's. One that ``answers``
    writes the answer of the run.
    """

    id: Annotated[str, Field(max_length=LONGEST_ID)]
    role: str
    title: Annotated[str, Field(max_length=LONGEST_TITLE)] = ""
    input: Annotated[Mapping[str, Any], AfterValidator(plain_json)] = MappingProxyType({})
    needs: Sequence[str] = ()
    tools: Sequence[str] | None = None
    model: str | None = None
    instructions: str | None = None
    answers: bool = False


class Start(NamedTuple):
    """Schedule the first attempt of an assignment whose needs are completed, or the next of one that is done again."""

    assignment: str


class Block(NamedTuple):
    """Give up an assignment that needs one that failed."""

    assignment: str
    cause: str


class Settle(NamedTuple):
    """Judge what the current attempt of an assignment returned: accept it, try again, or give up."""

    assignment: str


class TryAgain(NamedTuple):
    """Schedule the attempt that follows one which was settled for another try."""

    assignment: str


class Continue(NamedTuple):
    """Continue a parked attempt: all its open calls have their answers."""

    assignment: str


class DecideAsks(NamedTuple):
    """Decide what a tool call asks of the controller: of its open call in a parked attempt."""

    assignment: str
    call_id: str


class AnswerCall(NamedTuple):
    """Give the result of a child assignment to the call that asked for it."""

    call_id: str


class GiveUpAttempt(NamedTuple):
    """Count an attempt as over although it did not return: its process died, or its deadline passed."""

    attempt: str
    failure: Failure


class Judge(NamedTuple):
    """Put a review on record: the verdicts on results, of one work order or of any assignments."""

    review: Review
    work_order_id: str = ""


class AskApproval(NamedTuple):
    """Ask a person about a call."""

    approval: Approval


class ExpireApproval(NamedTuple):
    """Deny a call because the question expired unanswered."""

    approval_id: str


class Pause(NamedTuple):
    """Start nothing new until a person resumes the run."""

    reason: str = ""


class Wait(NamedTuple):
    """Say that the run can continue only when a person answers."""

    reason: str = ""


class Resume(NamedTuple):
    """Continue a paused or waiting run."""


class Finish(NamedTuple):
    """End the run with the outcome that its flow states; the evidence decides whether it succeeded.

    ``failure`` says why it ends early, if it does. A run that is ``cancelled`` ends as such.
    """

    failure: Failure | None = None
    cancelled: bool = False


Command = (
    IssueOrder
    | DecideRequest
    | DeclineRetry
    | NoteGaps
    | Assign
    | Start
    | Block
    | Settle
    | TryAgain
    | Continue
    | DecideAsks
    | AnswerCall
    | GiveUpAttempt
    | Judge
    | AskApproval
    | ExpireApproval
    | Pause
    | Wait
    | Resume
    | Finish
)


class Refused(ValueError):
    """A command that the state does not allow; nothing happens."""


class Outcome(NamedTuple):
    """The outcome of a run, as its flow states it.

    ``answer`` is the text ("": the domain writes the results down as a plain list). ``uses`` are the ids of the
    assignments it rests on: only completed ones that no review rejected are counted, and the sources of the answer are
    theirs. ``gaps`` are what the answer lacks, beside failed assignments that count, which are gaps by themselves
    unless they are ``waived``.
    """

    answer: str = ""
    uses: Sequence[str] = ()
    gaps: Sequence[Gap] = ()
    waived: Sequence[str] = ()


class FlowError(Exception):
    """A method of a flow raised, or returned what it should not; ``failure`` says which, and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ProposedCall(NamedTuple):
    """A tool call that a result proposes, to be checked against the tool's schema; ``where`` is how to name it.

    Not ``complete``: what is missing will be supplied by results that it needs.
    """

    where: str
    tool: str
    args: Mapping[str, Json]
    complete: bool = True


class Policy(Protocol):
    """A flow, as the domain and the engine use it."""

    @property
    def name(self) -> str: ...

    def next(self, state: RunState) -> Sequence[Command]:
        """Return what happens next; nothing while the run has to wait."""
        ...

    def brief(self, state: RunState, assignment: AssignmentState) -> dict[str, Any]:
        """Return what the worker of an assignment is given, as one JSON object."""
        ...

    def problems(self, state: RunState, assignment: AssignmentState, value: Json, text: str) -> list[str]:
        """Return why a result does not count, one sentence each. Raises FlowError when the flow fails at it."""
        ...

    def proposed_calls(self, state: RunState, assignment: AssignmentState, value: Json) -> Sequence[ProposedCall]:
        """Return the tool calls that a result proposes."""
        ...

    def outcome(self, state: RunState) -> Outcome:
        """Return the outcome of the run if it ends now."""
        ...
