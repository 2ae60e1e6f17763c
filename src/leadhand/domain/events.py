"""The closed union of everything that can happen in a run: the entries of its log.

Three kinds share one sequence per run. *Decisions* come from the run's owner alone, fenced by its epoch.
*Observations* are appended by a host on an attempt's behalf; they commute and are never refused for being late.
*Requests* come from people, through any process. Nothing else changes a run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from .approval import Approval
from .assignment import Assignment, OpenCall
from .conversation import AssistantMessage
from .errors import Failure
from .limits import NOTHING, Amount, Usage
from .review import Review
from .run import CitedSource, Gap, RunDefinition, RunStatus
from .tool import Effect, Source
from .value import Json, Value
from .work_order import OutOfReach, WorkOrder
from .work_result import WorkResult


class Kind(StrEnum):
    DECISION = "decision"
    OBSERVATION = "observation"
    REQUEST = "request"


class Happened(Value):
    """What every event has: its ``kind``, the ``version`` of its stored shape, and what it is about.

    Each adds a ``type`` of its own, a literal: the union is told apart by it.
    """

    kind: ClassVar[Kind] = Kind.DECISION
    version: ClassVar[int] = 1

    @property
    def subject(self) -> str:
        """The id this event is about: an attempt, an assignment, an order, or nothing (the run)."""
        return ""


# --- decisions ---------------------------------------------------------------------------------------------------


class RunStarted(Happened):
    """The run exists, pinned to its definition."""

    type: Literal["run_started"] = "run_started"
    definition: RunDefinition


class RunClaimed(Happened):
    """A process took the run over; the entry's epoch is the new one."""

    type: Literal["run_claimed"] = "run_claimed"
    owner: str


class WorkOrderIssued(Happened):
    """An order was accepted as a plan and is immutable from here on. ``cannot`` are parts no tool covers."""

    type: Literal["work_order_issued"] = "work_order_issued"
    order: WorkOrder

    @property
    def subject(self) -> str:
        return self.order.work_order_id


class PartsRefused(Happened):
    """Parts of the request were found to be beyond every tool: gaps of the answer."""

    type: Literal["parts_refused"] = "parts_refused"
    parts: tuple[OutOfReach, ...]


class AssignmentIssued(Happened):
    """Work was handed out; its first attempt (``…/a1``) may start."""

    type: Literal["assignment_issued"] = "assignment_issued"
    assignment: Assignment

    @property
    def subject(self) -> str:
        return self.assignment.assignment_id


class AttemptScheduled(Happened):
    """A further attempt may start, not before ``not_before``.

    ``continues`` names the attempt whose conversation it takes up (None: afresh), ``feedback`` what was wrong.
    """

    type: Literal["attempt_scheduled"] = "attempt_scheduled"
    attempt: str
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptSettled(Happened):
    """The controller took note of a returned attempt. ``final`` ends its assignment.

    ``failure`` is why it does not count: the worker's own error, or what the code checks of the gate found.
    """

    type: Literal["attempt_settled"] = "attempt_settled"
    attempt: str
    ok: bool
    final: bool
    failure: Failure | None = None

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptLost(Happened):
    """The process that ran an attempt died, or its deadline passed; whatever it still returns is late."""

    type: Literal["attempt_lost"] = "attempt_lost"
    attempt: str
    failure: Failure

    @property
    def subject(self) -> str:
        return self.attempt


class SubtaskBlocked(Happened):
    """A subtask will not start, since what it needs has failed."""

    type: Literal["subtask_blocked"] = "subtask_blocked"
    subtask: str
    cause: str

    @property
    def subject(self) -> str:
        return self.subtask


class OrderReviewed(Happened):
    """The gate judged an order: the lead's verdicts, made whole and fail-closed by the controller."""

    type: Literal["order_reviewed"] = "order_reviewed"
    work_order_id: str
    review: Review

    @property
    def subject(self) -> str:
        return self.work_order_id


class ApprovalRequested(Happened):
    """A person is asked about one call."""

    type: Literal["approval_requested"] = "approval_requested"
    approval: Approval

    @property
    def subject(self) -> str:
        return self.approval.attempt


class RunPaused(Happened):
    """Nothing new starts until somebody resumes the run."""

    type: Literal["run_paused"] = "run_paused"
    reason: str = ""


class RunWaiting(Happened):
    """Only people can move the run on: every attempt that is left is parked."""

    type: Literal["run_waiting"] = "run_waiting"
    reason: str = ""


class RunResumed(Happened):
    """The run goes on."""

    type: Literal["run_resumed"] = "run_resumed"


class RunFinished(Happened):
    """The run is over. ``answer`` is the only answer there is; a draft never was."""

    type: Literal["run_finished"] = "run_finished"
    status: RunStatus
    answer: str
    sources: tuple[CitedSource, ...] = ()
    gaps: tuple[Gap, ...] = ()
    failure: Failure | None = None


# --- observations ------------------------------------------------------------------------------------------------


class Observation(Happened):
    """Something a host saw on behalf of an attempt."""

    kind: ClassVar[Kind] = Kind.OBSERVATION
    attempt: str

    @property
    def subject(self) -> str:
        return self.attempt


class AttemptStarted(Observation):
    """A host began to carry an attempt out."""

    type: Literal["attempt_started"] = "attempt_started"
    host: str


class ModelCallBegan(Observation):
    """A model is about to be asked. ``reserved`` is the upper bound taken from the run's allowance by this entry.

    ``final`` calls (composing the answer) may use what was held back.
    """

    type: Literal["model_call_began"] = "model_call_began"
    call_id: str
    model: str
    reserved: Amount = NOTHING
    final: bool = False


class ModelCallReturned(Observation):
    """A model answered or failed. ``usage`` settles the reservation; None (unknown) settles it in full."""

    type: Literal["model_call_returned"] = "model_call_returned"
    call_id: str
    model: str
    message: AssistantMessage | None = None
    value: Json = None
    failure: Failure | None = None
    usage: Usage | None = None
    finish_reason: str = ""
    duration_ms: int = 0


class ToolCallBegan(Observation):
    """A tool is about to be called; for effect ``once`` this entry is committed first, and fenced on the attempt."""

    type: Literal["tool_call_began"] = "tool_call_began"
    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect = Effect.PURE


class ToolCallReturned(Observation):
    """A tool answered or failed: the evidence that it was called. ``raw`` above 4 kB is a blob reference."""

    type: Literal["tool_call_returned"] = "tool_call_returned"
    call_id: str
    tool: str
    ok: bool
    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    failure: Failure | None = None
    duration_ms: int = 0


class AttemptReturned(Observation):
    """An attempt is over: its result, before anybody judged it.

    It holds no copies: the data of the calls it rests on is in their events, a thought's value in its last reply.
    """

    type: Literal["attempt_returned"] = "attempt_returned"
    result: WorkResult


class AttemptParked(Observation):
    """An attempt waits for others: its conversation is in the log, it holds no slot and no reservation."""

    type: Literal["attempt_parked"] = "attempt_parked"
    open_calls: tuple[OpenCall, ...]


# --- requests ----------------------------------------------------------------------------------------------------


class Request(Happened):
    """Something a person wants of a run; ``by`` says who."""

    kind: ClassVar[Kind] = Kind.REQUEST
    by: str = ""


class CancelRequested(Request):
    """Somebody wants the run ended."""

    type: Literal["cancel_requested"] = "cancel_requested"


class PauseRequested(Request):
    """Somebody wants the run parked."""

    type: Literal["pause_requested"] = "pause_requested"
    reason: str = ""


class ResumeRequested(Request):
    """Somebody wants a parked run to go on."""

    type: Literal["resume_requested"] = "resume_requested"


class ApprovalAnswered(Request):
    """A person's word on a call. ``args_hash`` must be that of the arguments shown; ``args`` replaces them."""

    type: Literal["approval_answered"] = "approval_answered"
    approval_id: str
    approve: bool
    args_hash: str
    args: dict[str, Any] | None = None
    reason: str = ""


class ChildAnswered(Request):
    """An open call of a parked attempt got its answer from elsewhere (a child assignment, a person)."""

    type: Literal["child_answered"] = "child_answered"
    call_id: str
    ok: bool
    content: str


AnyEvent = (
    RunStarted
    | RunClaimed
    | WorkOrderIssued
    | PartsRefused
    | AssignmentIssued
    | AttemptScheduled
    | AttemptSettled
    | AttemptLost
    | SubtaskBlocked
    | OrderReviewed
    | ApprovalRequested
    | RunPaused
    | RunWaiting
    | RunResumed
    | RunFinished
    | AttemptStarted
    | ModelCallBegan
    | ModelCallReturned
    | ToolCallBegan
    | ToolCallReturned
    | AttemptReturned
    | AttemptParked
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | ApprovalAnswered
    | ChildAnswered
)
Event = Annotated[AnyEvent, Field(discriminator="type")]

EVENT_TYPES: dict[str, type[Happened]] = {
    cls.model_fields["type"].default: cls
    for cls in AnyEvent.__args__  # the union lists them once, above
}
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(Event, config=ConfigDict(defer_build=True))

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""From (type, version) as stored to the body of the next version. Pure; never removed: old logs stay readable."""


class Entry(Value):
    """An event as the log keeps it: its place, its time (UTC), the epoch of the owner it was written under."""

    seq: int
    at: datetime
    epoch: int
    event: Event


def upcast(type_: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """The body of a stored event in today's shape."""
    while (type_, version) in UPCASTERS:
        body = UPCASTERS[type_, version](body)
        version += 1
    return body
