"""The state of a run: what its log says, folded. Only :mod:`~leadhand.domain.evolve` makes one from another.

The parts are named tuples: immutable, and four times quicker to change into another than frozen dataclasses, which a
fold over thousands of events does several times for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from .approval import Approval
from .asks import Todo
from .conversation import AssistantMessage
from .errors import Failure, FailureClass
from .events import ResultSupplied, RetryRequested, RunFinished, SkipRequested
from .lifecycle import SETTLED, AssignmentStatus, AttemptStatus
from .limits import NOTHING, Amount
from .run import Role, RunDefinition, RunStatus
from .tool import Effect, ToolResult, ToolSpec
from .value import Json
from .work_order import Assignment, OpenCall, Subtask, Unsupported, WorkOrder
from .work_result import ResultData, Review, Verdict, WorkResult

INDETERMINATE = "indeterminate"
"""The type of the failure of a ``once`` call whose end was not seen."""


class OrderState(NamedTuple):
    """How far an order is. ``open`` counts the subtasks that are not settled; ``by`` names the person who asked for it,
    if one did."""

    order: WorkOrder
    at: datetime
    open: int
    review: Review | None = None
    by: str = ""


class RetryWanted(NamedTuple):
    """An assignment that a person wants done again: with other ``args`` (None: the same), or with ``data`` in place of
    doing it."""

    by: str
    args: dict[str, Any] | None = None
    data: ResultData | None = None


class ModelTurn(NamedTuple):
    """A model's reply, as the lineage of an attempt remembers it."""

    call_id: str
    message: AssistantMessage
    value: Json = None
    finish_reason: str = ""


class BegunCall(NamedTuple):
    """A tool call that began and has not returned."""

    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect


class CallAnswer(NamedTuple):
    """The answer to an open call of a parked attempt; ``args`` are those to call with, where a person changed them."""

    ok: bool
    content: str
    args: dict[str, Any] | None = None


class AttemptState(NamedTuple):
    """The current try at an assignment."""

    attempt: str
    number: int
    status: AttemptStatus = AttemptStatus.SCHEDULED
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""
    host: str | None = None
    open_calls: tuple[OpenCall, ...] = ()
    answers: Mapping[str, CallAnswer] = {}
    result: WorkResult | None = None

    @property
    def answered(self) -> bool:
        """Whether every open call of a parked attempt has its answer."""
        return all(call.call_id in self.answers for call in self.open_calls)


class AssignmentState(NamedTuple):
    """One assignment: its status, its current attempt, and what its lineage did so far.

    ``order`` and ``position`` say where in a work order it is ("": in none). ``event_ids`` are its own evidence and
    no other's. ``data`` is its result, ``value`` the structured answer where its role asks for one. ``attempts`` counts
    the attempts so far, ``failures`` are the classes of those that failed. ``calls`` and ``begun`` are dropped once it
    is settled, so that a run of ten thousand assignments stays small. ``compacted`` says through which turn, and to how
    many characters, tools' answers are shortened for the model. ``acted``: a ``once`` call of it was made, or may have
    been; it is not repeated unless a person asks. ``by`` names the person who settled it, if one did.
    """

    assignment: Assignment
    status: AssignmentStatus = AssignmentStatus.PENDING
    order: str = ""
    position: int = 0
    attempt: AttemptState | None = None
    attempts: int = 0
    failures: tuple[FailureClass, ...] = ()
    calls: tuple[ModelTurn | ToolResult, ...] = ()
    begun: tuple[BegunCall, ...] = ()
    compacted: tuple[int, int] = (-1, 0)
    event_ids: tuple[str, ...] = ()
    data: ResultData | None = None
    value: Json = None
    failure: Failure | None = None
    verdict: Verdict | None = None
    superseded_by: str | None = None
    acted: bool = False
    by: str = ""

    @property
    def key(self) -> str:
        return self.assignment.assignment_id

    @property
    def subtask(self) -> Subtask:
        """The piece of its work order. Only for an assignment that carries one out."""
        assert self.assignment.subtask is not None, f"{self.key} is not a subtask"
        return self.assignment.subtask

    @property
    def counts(self) -> bool:
        return self.assignment.counts

    @property
    def closed(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.status in SETTLED

    @property
    def ok(self) -> bool:
        return self.status is AssignmentStatus.COMPLETED

    @property
    def given_up(self) -> bool:
        """Whether it was not started, since something that it needs failed."""
        return self.failure is not None and self.failure.type == "needs_failed"

    @property
    def accepted(self) -> bool:
        """Completed, and judged good enough for the answer."""
        return self.ok and self.verdict is not None and self.verdict.verdict == "accept"

    @property
    def indeterminate_calls(self) -> list[BegunCall]:
        """Calls with effect ``once`` that began and whose end was not seen."""
        unheard = [call for call in self.begun if call.effect is Effect.ONCE]
        return unheard + [
            BegunCall(call.call_id, call.tool, call.args, call.effect)
            for call in self.evidence
            if call.effect is Effect.ONCE and call.failure is not None and call.failure.type == INDETERMINATE
        ]

    @property
    def evidence(self) -> list[ToolResult]:
        """The finished tool calls of the lineage."""
        return [call for call in self.calls if isinstance(call, ToolResult)]

    def returned(self, call_id: str) -> ToolResult | None:
        """The finished tool call of this id."""
        return next((call for call in self.evidence if call.call_id == call_id), None)

    def open_call(self, call_id: str) -> OpenCall | None:
        """The call of this id on which the current attempt waits."""
        calls = self.attempt.open_calls if self.attempt is not None else ()
        return next((call for call in calls if call.call_id == call_id), None)

    @property
    def has_acted(self) -> bool:
        """Whether a call with effect ``once`` was made, or may have been."""
        return self.acted or any(call.effect is Effect.ONCE for call in (*self.evidence, *self.begun))


class ArtifactVersion(NamedTuple):
    """One version of a file of the run, by the digest of its content; ``by`` is the assignment that wrote it."""

    digest: str
    size: int
    media_type: str
    by: str
    at: datetime


@dataclass(slots=True, kw_only=True)
class RunState:
    """Everything the log says about a run. Changed in place only by the fold that is making it.

    The maps are flat, by key, so that one event touches one entry of each, however many assignments there are:
    ``awaited`` (how many needs are not yet completed), ``ready`` (may start), ``blocked`` (needs something that failed:
    key → cause), ``unsettled`` (returned, not judged), ``retrying`` (settled for another try), ``live`` (scheduled or
    running), ``parked``. ``busy`` holds the assignments that count, have started and are not settled.
    ``reserved`` holds, by attempt, what each of its open model calls may still cost; ``allowed`` the tools that a
    person approved for good; ``pending_requests`` what people asked for and is not decided yet, ``retries_wanted`` the
    assignments to do again at a person's request; ``answers`` those of a run that was reopened; ``workers`` the roles
    that were defined during the run.
    """

    run_id: str
    definition: RunDefinition
    created_at: datetime
    status: RunStatus = RunStatus.RUNNING
    seq: int = 0
    epoch: int = 1
    owner: str | None = None
    orders: dict[str, OrderState] = field(default_factory=dict[str, OrderState])
    assignments: dict[str, AssignmentState] = field(default_factory=dict[str, AssignmentState])
    awaited: dict[str, int] = field(default_factory=dict[str, int])
    dependents: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    ready: dict[str, None] = field(default_factory=dict[str, None])
    blocked: dict[str, str] = field(default_factory=dict[str, str])
    unsettled: dict[str, None] = field(default_factory=dict[str, None])
    live: dict[str, None] = field(default_factory=dict[str, None])
    parked: dict[str, None] = field(default_factory=dict[str, None])
    retrying: dict[str, None] = field(default_factory=dict[str, None])
    busy: dict[str, None] = field(default_factory=dict[str, None])
    unsupported: tuple[Unsupported, ...] = ()
    approvals: dict[str, Approval] = field(default_factory=dict[str, Approval])
    allowed: dict[str, str] = field(default_factory=dict[str, str])
    spent: Amount = NOTHING
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced: bool = False
    reserved: dict[str, dict[str, Amount]] = field(default_factory=dict[str, dict[str, Amount]])
    workers: dict[str, Role] = field(default_factory=dict[str, Role])
    artifacts: dict[str, tuple[ArtifactVersion, ...]] = field(default_factory=dict[str, tuple[ArtifactVersion, ...]])
    todos: tuple[Todo, ...] = ()
    pending_requests: tuple[RetryRequested | SkipRequested | ResultSupplied, ...] = ()
    retries_wanted: dict[str, RetryWanted] = field(default_factory=dict[str, RetryWanted])
    answers: tuple[RunFinished, ...] = ()
    cancel_by: str | None = None
    pause_reason: str | None = None
    resume_wanted: bool = False
    finished: RunFinished | None = None
    finished_at: datetime | None = None
    last_at: datetime | None = None
    rest_since: datetime | None = None
    rested: timedelta = timedelta(0)

    @property
    def order(self) -> OrderState | None:
        """The latest order."""
        return next(reversed(self.orders.values())) if self.orders else None

    @property
    def steps(self) -> int:
        """The orders that the lead itself issued: those that ``max_steps`` counts."""
        return sum(1 for order in self.orders.values() if not order.by)

    @property
    def deadline(self) -> datetime | None:
        """When the run's time is used up: pauses, waits for people and time without a process do not count."""
        timeout = self.definition.limits.timeout_s
        return None if timeout is None else self.created_at + timedelta(seconds=timeout) + self.rested

    @property
    def tools(self) -> dict[str, ToolSpec]:
        return {tool.name: tool for tool in self.definition.tools}

    def role(self, name: str) -> Role | None:
        """The role of that name: the flow's, or one that was defined during the run."""
        return self.workers.get(name) or next((role for role in self.definition.roles if role.name == name), None)
