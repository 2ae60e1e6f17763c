"""The state of a run, computed from its log: the one projection. Only :mod:`~leadhand.core.evolve` makes new states.

The parts are named tuples: immutable, and four times faster to replace than dataclasses, which thousands of events do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from leadhand.core.worker import Worker

from .approval import Approval, Question
from .artifact import FileVersion
from .conversation import AssistantMessage
from .errors import Failure, FailureClass
from .events import AttemptReturned, RunFinished, StepRequested
from .ids import event_id
from .limits import NOTHING, Money
from .run import SETTLED, AttemptStatus, RunDefinition, RunStatus, StepStatus
from .tool import CallState, Effect, Todo, ToolSpec
from .value import FrozenDict, Json
from .work_order import OpenCall, Step, Subtask, WorkOrder
from .work_result import ResultData, Review, SubtaskVerdict


class OrderState(NamedTuple):
    """An order with its count of ``open`` subtasks, and its review."""

    order: WorkOrder
    at: datetime
    open: int
    review: Review | None = None


class ModelTurn(NamedTuple):
    """A model's reply in the lineage of an attempt; ``asked`` is what code asked."""

    call_id: str
    message: AssistantMessage
    value: Json = None
    asked: Json = None


class Compacted(NamedTuple):
    """How a conversation is shortened for the model: results through turn ``through`` (-1: none) are cut to ``keep``
    characters, and turns 1 to ``left_out`` are not shown."""

    through: int = -1
    keep: int = 0
    left_out: int = 0


NOT_COMPACTED = Compacted()


class CallAnswer(NamedTuple):
    """The answer to an open call of a parked attempt.

    ``args`` are the arguments if a person, or a ``hook`` that a person agreed with, changed them. ``decided``: the
    controller answered it, not a person.
    """

    ok: bool
    content: str
    args: dict[str, Any] | None = None
    decided: bool = False
    hook: str = ""


class AttemptState(NamedTuple):
    """The current attempt at a step; ``conversation`` is the number of the attempt that began its conversation.
    ``written`` are the elements of its answer so far, with their indexes."""

    attempt: str
    number: int
    conversation: int = 1
    status: AttemptStatus = AttemptStatus.SCHEDULED
    continues: str | None = None
    not_before: datetime | None = None
    feedback: str = ""
    host: str | None = None
    open_calls: tuple[OpenCall, ...] = ()
    answers: Mapping[str, CallAnswer] = FrozenDict()
    written: tuple[tuple[int, Json], ...] = ()
    returned: AttemptReturned | None = None

    @property
    def answered(self) -> bool:
        """Whether every open call of a parked attempt has its answer."""
        return all(call.call_id in self.answers for call in self.open_calls)


class Settlement(NamedTuple):
    """The end of an attempt at a step, or what ended the step without one: the evidence in event ``seq``.

    ``failure`` is None if it succeeded. ``attempt`` is the number of the attempt, 0 without one; ``by`` is the person
    who settled the step, if any.
    """

    seq: int
    at: datetime
    failure: Failure | None = None
    attempt: int = 0
    by: str = ""


class StepState(NamedTuple):
    """One step: its status, its current attempt, and the record of its lineage.

    ``order`` and ``position`` are its place in a work order ("": in none). ``settlements`` are its evidence.
    ``data`` is its result, ``value`` the structured answer if its worker has an output schema. ``attempts`` counts the
    attempts so far, ``failures`` are the classes of the failed ones. ``calls`` are its replies and finished tool calls,
    ``running`` the tool calls that have not returned; when it is settled, ``made`` keeps the tool calls without their
    data, so that a run of ten thousand steps stays small. ``compacted`` says how its conversation is shortened for the
    model. ``acted``: it or a child made, or may have made, a ``once`` call, so it is not repeated unless a person
    asks. ``by`` names the person who settled it, if any.
    ``stopped`` is the attempt that a limit of the run ended, if another one can continue it with higher limits; its
    ``calls`` are then kept. ``by_hand`` names the person who chose its arguments, or repeated something irreversible.
    ``scheduled`` is the number of the event that scheduled its current or last attempt.
    """

    step: Step
    status: StepStatus = StepStatus.PENDING
    order: str = ""
    position: int = 0
    attempt: AttemptState | None = None
    attempts: int = 0
    failures: tuple[FailureClass, ...] = ()
    calls: tuple[ModelTurn | CallState, ...] = ()
    running: tuple[CallState, ...] = ()
    compacted: Compacted = NOT_COMPACTED
    settlements: tuple[Settlement, ...] = ()
    data: ResultData | None = None
    value: Json = None
    failure: Failure | None = None
    verdict: SubtaskVerdict | None = None
    superseded_by: str | None = None
    acted: bool = False
    made: tuple[CallState, ...] = ()
    by: str = ""
    by_hand: str = ""
    scheduled: int = 0
    stopped: AttemptState | None = None

    def evolve(self, **changes: Any) -> StepState:
        """Return a copy with ``changes``. That of named tuples takes four times as long for so many fields."""
        parts = [*self]
        for name, value in changes.items():
            parts[_PLACES[name]] = value
        return StepState._make(parts)

    @property
    def key(self) -> str:
        return self.step.step_id

    @property
    def event_ids(self) -> tuple[str, ...]:
        """The ids of the events that are its evidence."""
        return tuple(event_id(each.seq) for each in self.settlements)

    @property
    def subtask(self) -> Subtask:
        """The subtask of a step that carries one out."""
        assert self.step.subtask is not None, f"{self.key} is not a subtask"
        return self.step.subtask

    def args_made(self, *, ok: bool) -> dict[str, Any]:
        """Return the arguments of the last call of its subtask's tool that was ``ok``, else those that were ordered."""
        calls = [call for call in self.made if call.tool == self.subtask.tool and call.ok is ok]
        return calls[-1].args if calls else self.subtask.args

    @property
    def counts(self) -> bool:
        return self.step.counts

    @property
    def closed(self) -> bool:
        """Whether the step is settled."""
        return self.status in SETTLED

    @property
    def is_inner(self) -> bool:
        """Whether it is a flow inside of another one that runs: its own steps carry it out."""
        return self.step.kind == "flow" and not self.closed

    @property
    def is_early(self) -> bool:
        """Whether it carries out a subtask that no order contains yet."""
        return self.step.subtask is not None and not self.order

    @property
    def ok(self) -> bool:
        return self.status is StepStatus.COMPLETED

    @property
    def given_up(self) -> bool:
        """Whether it was not started because something that it needs failed."""
        return self.failure is not None and self.failure.type == "needs_failed"

    @property
    def accepted(self) -> bool:
        """Whether it is completed and accepted for the answer."""
        return self.ok and self.verdict is not None and self.verdict.verdict == "accept"

    @property
    def indeterminate_calls(self) -> list[CallState]:
        """Calls with effect ``once`` that started and whose end was not recorded."""
        unseen = (*self.running, *(call for call in self.evidence if not call.seen))
        return [call for call in unseen if call.effect is Effect.ONCE]

    @property
    def evidence(self) -> list[CallState]:
        """The finished tool calls of the lineage."""
        return [call for call in self.calls if isinstance(call, CallState)]

    def returned(self, call_id: str) -> CallState | None:
        """Return the finished tool call with this id, if any."""
        return next((call for call in reversed(self.evidence) if call.call_id == call_id), None)

    def open_call(self, call_id: str) -> OpenCall | None:
        """Return the call with this id that the current attempt waits for, if any."""
        calls = self.attempt.open_calls if self.attempt is not None else ()
        return next((call for call in calls if call.call_id == call_id), None)

    @property
    def has_acted(self) -> bool:
        """Whether a call with effect ``once`` was made, or may have been."""
        calls = (*self.evidence, *self.running)
        return self.acted or any(call.effect is Effect.ONCE and not call.not_made for call in calls)


_PLACES = {name: place for place, name in enumerate(StepState._fields)}


@dataclass(slots=True, kw_only=True, frozen=not TYPE_CHECKING)  # the fold that makes a state assigns its fields
class RunState:
    """The whole state of a run, which cannot be changed; nor can its maps, once a fold returned it.

    The maps are flat, by key, so that one event changes one entry of each, however many steps there are. A step is in
    one of ``ready`` (may start), ``blocked`` (needs something that failed: key → cause), ``live`` (scheduled or
    running), ``unsettled`` (returned, not judged) and ``parked``, or waits for what it needs, or is settled;
    ``awaited`` counts what each still needs. ``children`` counts what the current conversation of a step asked for,
    ``dependents`` are the steps that need it. ``counted`` are the steps that count towards the answer and were not
    replaced, by status. ``asking`` are the open approvals, with the times at which they expire, and ``due`` the parked
    steps of which a call can be answered, a person has to be asked, or the next attempt can start. ``reserved`` holds
    the reservations of open model calls, by attempt and call; ``allowed`` the tools that a person approved for the
    whole run; ``answers`` the earlier answers of a reopened run; ``workers`` the workers defined during the run,
    ``makers`` the steps that defined them; ``pending_requests`` the undecided requests of people. ``rested`` is time
    that does not count. ``settled`` has, in the order of the log, the steps and orders that are settled, the questions
    that are answered (``?`` and their ids) and the notes (``!``), by the number of the event; ``unanswered`` are the
    open questions, with the times at which they expire, and ``signals`` those that came before the flow waited for
    them, by name. ``redone`` is the number of the latest event that changed something settled, ``status_seq`` of that
    which set its status.
    """

    run_id: str
    definition: RunDefinition
    created_at: datetime
    status: RunStatus = RunStatus.RUNNING
    seq: int = 0
    epoch: int = 1
    owner: str | None = None
    orders: dict[str, OrderState] = field(default_factory=FrozenDict[str, OrderState])
    steps: dict[str, StepState] = field(default_factory=FrozenDict[str, StepState])
    children: dict[str, int] = field(default_factory=FrozenDict[str, int])
    dependents: dict[str, tuple[str, ...]] = field(default_factory=FrozenDict[str, tuple[str, ...]])
    ready: dict[str, None] = field(default_factory=FrozenDict[str, None])
    blocked: dict[str, str] = field(default_factory=FrozenDict[str, str])
    awaited: dict[str, int] = field(default_factory=FrozenDict[str, int])
    live: dict[str, None] = field(default_factory=FrozenDict[str, None])
    unsettled: dict[str, None] = field(default_factory=FrozenDict[str, None])
    parked: dict[str, None] = field(default_factory=FrozenDict[str, None])
    due: dict[str, None] = field(default_factory=FrozenDict[str, None])
    counted: dict[StepStatus, int] = field(default_factory=FrozenDict[StepStatus, int])
    approvals: dict[str, Approval] = field(default_factory=FrozenDict[str, Approval])
    asking: dict[str, datetime | None] = field(default_factory=FrozenDict[str, datetime | None])
    allowed: dict[str, str] = field(default_factory=FrozenDict[str, str])
    questions: dict[str, Question] = field(default_factory=FrozenDict[str, Question])
    unanswered: dict[str, datetime | None] = field(default_factory=FrozenDict[str, datetime | None])
    signals: dict[str, tuple[Json, ...]] = field(default_factory=FrozenDict[str, tuple[Json, ...]])
    spent: Money = NOTHING
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    unpriced: bool = False
    reserved: dict[tuple[str, str], Money] = field(default_factory=FrozenDict[tuple[str, str], Money])
    workers: dict[str, Worker] = field(default_factory=FrozenDict[str, Worker])
    makers: dict[str, str] = field(default_factory=FrozenDict[str, str])
    artifacts: dict[str, tuple[FileVersion, ...]] = field(default_factory=FrozenDict[str, tuple[FileVersion, ...]])
    todos: tuple[Todo, ...] = ()
    pending_requests: tuple[StepRequested, ...] = ()
    answers: tuple[RunFinished, ...] = ()
    cancel_by: str | None = None
    pause_reason: str | None = None
    resume_wanted: bool = False
    finished: RunFinished | None = None
    finished_at: datetime | None = None
    last_at: datetime | None = None
    rested: timedelta = timedelta(0)
    settled: dict[str, int] = field(default_factory=FrozenDict[str, int])
    redone: int = 0
    status_seq: int = 0

    @property
    def order(self) -> OrderState | None:
        """The latest order."""
        return next(reversed(self.orders.values())) if self.orders else None

    @property
    def busy(self) -> list[str]:
        """The steps that count, have started and are not settled."""
        return [key for key in (*self.live, *self.unsettled, *self.parked) if self.steps[key].counts]

    @property
    def deadline(self) -> datetime | None:
        """The time at which the run's time limit ends. Time at rest or without a process does not count."""
        timeout = self.definition.limits.timeout
        return None if timeout is None else self.created_at + timedelta(seconds=timeout) + self.rested

    @property
    def work_deadline(self) -> datetime | None:
        """When subtasks end, so that the rest of the time is left for reviews and the answer."""
        deadline = self.deadline
        return None if deadline is None else deadline - timedelta(seconds=self.definition.held_back_s)

    @property
    def tools(self) -> dict[str, ToolSpec]:
        return {tool.name: tool for tool in self.definition.tools}

    def worker(self, name: str) -> Worker | None:
        """Return the worker with this name: for typed answers, made during the run, of the flow, or of the project."""
        return self.workers.get(name) or self.definition.worker(name)

    def is_worker(self, name: str) -> bool:
        """Whether this is the name of a worker: of the project, or defined during the run."""
        return name in self.makers or any(worker.name == name for worker in self.definition.declared)
