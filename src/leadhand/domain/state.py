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
from .assignment import Assignment, OpenCall
from .conversation import AssistantMessage
from .errors import Failure, FailureClass
from .events import ResultSupplied, RetryRequested, RunFinished, SkipRequested
from .lifecycle import AttemptStatus, SubtaskStatus
from .limits import NOTHING, Amount
from .review import Review, Verdict
from .run import RunDefinition, RunStatus
from .tool import Effect, Source, ToolSpec
from .value import Json
from .work_order import OutOfReach, Subtask, WorkOrder
from .work_result import ResultData, WorkResult

INDETERMINATE = "indeterminate"
"""The type of the failure of a ``once`` call whose end nobody saw."""


class SubtaskState(NamedTuple):
    """What became of one subtask. ``event_ids`` are its own evidence and no other's.

    ``acted``: a ``once`` call of it was made, or may have been; it is not done again unasked. ``by`` names the person
    who settled it, where one did.
    """

    key: str
    order: str
    position: int
    subtask: Subtask
    status: SubtaskStatus = SubtaskStatus.PENDING
    event_ids: tuple[str, ...] = ()
    data: ResultData | None = None
    failure: Failure | None = None
    verdict: Verdict | None = None
    superseded_by: str | None = None
    acted: bool = False
    by: str = ""

    @property
    def accepted(self) -> bool:
        """Completed, and judged good enough to stand in the answer."""
        return self.status is SubtaskStatus.COMPLETED and self.verdict is not None and self.verdict.verdict == "accept"


class OrderState(NamedTuple):
    """How far an order is. ``open`` counts subtasks not yet settled, ``running`` those handed out; ``by`` names the
    person who asked for it, where one did."""

    order: WorkOrder
    at: datetime
    open: int
    running: int = 0
    review: Review | None = None
    by: str = ""


class Again(NamedTuple):
    """A subtask that a person wants done again: with other ``args`` (None: the same), or with ``data`` in its place."""

    by: str
    args: dict[str, Any] | None = None
    data: ResultData | None = None


class ModelTurn(NamedTuple):
    """A model's reply, as the lineage of an attempt remembers it."""

    call_id: str
    message: AssistantMessage
    value: Json = None
    finish_reason: str = ""


class ToolEvidence(NamedTuple):
    """A finished tool call, as the lineage of an attempt remembers it: the proof that it was made.

    ``by`` names the person on whose word it rests, where nobody saw it end.
    """

    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect
    ok: bool
    summary: str | None = None
    raw: Json = None
    sources: tuple[Source, ...] = ()
    sample: bool = False
    failure: Failure | None = None
    by: str = ""


class BegunCall(NamedTuple):
    """A tool call that began and has not returned."""

    call_id: str
    tool: str
    args: dict[str, Any]
    effect: Effect


class Answered(NamedTuple):
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
    answers: Mapping[str, Answered] = {}
    result: WorkResult | None = None

    @property
    def answered(self) -> bool:
        """Whether every open call of a parked attempt has its answer."""
        return all(call.call_id in self.answers for call in self.open_calls)


class AssignmentState(NamedTuple):
    """One assignment: its current attempt, the classes it failed with before, and what its lineage did so far.

    ``calls`` and ``begun`` are dropped once it is closed, so that a run of ten thousand subtasks stays small.
    ``compacted`` says through which turn, and to how many characters, what tools answered is shortened for the model.
    ``value`` is a thought's structured result.
    """

    assignment: Assignment
    attempt: AttemptState | None
    failures: tuple[FailureClass, ...] = ()
    calls: tuple[ModelTurn | ToolEvidence, ...] = ()
    begun: tuple[BegunCall, ...] = ()
    compacted: tuple[int, int] = (-1, 0)
    ok: bool = False
    result: WorkResult | None = None
    value: Json = None
    failure: Failure | None = None

    @property
    def closed(self) -> bool:
        return self.attempt is None

    @property
    def doubts(self) -> list[BegunCall]:
        """Calls with effect ``once`` that began and whose end nobody saw."""
        unheard = [call for call in self.begun if call.effect is Effect.ONCE]
        return unheard + [
            BegunCall(call_id=call.call_id, tool=call.tool, args=call.args, effect=call.effect)
            for call in self.evidence
            if call.effect is Effect.ONCE and call.failure is not None and call.failure.type == INDETERMINATE
        ]

    @property
    def evidence(self) -> list[ToolEvidence]:
        """The finished tool calls of the lineage."""
        return [call for call in self.calls if isinstance(call, ToolEvidence)]


@dataclass(slots=True, kw_only=True)
class RunState:
    """Everything the log says about a run. Never changed in place by anybody but the fold that is making it.

    The maps are flat, by key, so that one event touches one entry of each, however many subtasks there are:
    ``ready`` (may be handed out), ``doomed`` (needs something that failed: key → cause), ``unsettled`` (returned, not
    judged), ``retrying`` (settled for another try), ``live`` (scheduled or running), ``parked``. ``reserved`` holds, by
    attempt, what each of its open model calls may still cost; ``allowed`` the tools that a person allowed for good;
    ``wishes`` what people asked for and nobody has decided yet, ``again`` the subtasks to do once more as they asked;
    ``answers`` those of a run that was reopened.
    """

    run_id: str
    definition: RunDefinition
    created_at: datetime
    status: RunStatus = RunStatus.RUNNING
    seq: int = 0
    epoch: int = 1
    owner: str | None = None
    orders: dict[str, OrderState] = field(default_factory=dict[str, OrderState])
    subtasks: dict[str, SubtaskState] = field(default_factory=dict[str, SubtaskState])
    assignments: dict[str, AssignmentState] = field(default_factory=dict[str, AssignmentState])
    awaited: dict[str, int] = field(default_factory=dict[str, int])
    dependents: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    ready: dict[str, None] = field(default_factory=dict[str, None])
    doomed: dict[str, str] = field(default_factory=dict[str, str])
    unsettled: dict[str, None] = field(default_factory=dict[str, None])
    live: dict[str, None] = field(default_factory=dict[str, None])
    parked: dict[str, None] = field(default_factory=dict[str, None])
    retrying: dict[str, None] = field(default_factory=dict[str, None])
    cannot: tuple[OutOfReach, ...] = ()
    approvals: dict[str, Approval] = field(default_factory=dict[str, Approval])
    allowed: dict[str, str] = field(default_factory=dict[str, str])
    spent: Amount = NOTHING
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced: bool = False
    reserved: dict[str, dict[str, Amount]] = field(default_factory=dict[str, dict[str, Amount]])
    wishes: tuple[RetryRequested | SkipRequested | ResultSupplied, ...] = ()
    again: dict[str, Again] = field(default_factory=dict[str, Again])
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

    @property
    def held(self) -> Amount:
        """The sum of all reservations."""
        total = NOTHING
        for calls in self.reserved.values():
            for amount in calls.values():
                total = total + amount
        return total
