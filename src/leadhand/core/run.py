"""A run as a whole: its status, definition, gaps and sources, and the allowed transitions between statuses."""

import operator
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Literal

from pydantic import Field

from .artifact import FileVersion
from .errors import FailureClass
from .limits import NOTHING, Concurrency, Limits, Money, SharedBudget
from .tool import ApprovalPolicy, Source, ToolSpec
from .value import Value
from .work_result import Check
from .worker import Worker


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({RunStatus.SUCCEEDED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.CANCELLED})


WorkerCalls = Literal["auto", "always"]
"""Whether a model writes the result of every subtask, or only where what the tool returned is not the result."""
WORKER_CALLS: tuple[WorkerCalls, ...] = ("auto", "always")


class ModelChoice(Value):
    """The models by use (a worker's ``model_role``), else ``default``, with known context ``windows`` in tokens."""

    default: str
    by_use: dict[str, str] = {}
    windows: dict[str, int] = {}

    def of(self, use: str) -> str:
        """Return the model for a use."""
        return self.by_use.get(use, self.default)

    @property
    def names(self) -> list[str]:
        """Return the names of all models, without duplicates."""
        return sorted({self.default, *self.by_use.values()})


class ForkPoint(Value):
    """The origin of a fork: another run, and the sequence number of the last event that both share."""

    run_id: str
    seq: int


class Follows(Value):
    """The run that a follow-up continues: its id, and its request, answer and sources as they were at the start."""

    run_id: str
    request: str
    answer: str = ""
    sources: tuple[Source, ...] = ()


class EarlierMessage(Value):
    """A message of a conversation that led to a request."""

    role: Literal["user", "assistant"]
    content: str


class RunDefinition(Value):
    """Everything that is fixed when a run starts. Resuming the run uses these values, even if newer ones exist.

    ``flow_file`` defines the flow ("": it needs no ``--flows``), ``options`` are what it was given, ``workers`` those
    of the flow and of the project. ``approve`` is the policy for calls, ``approve_rules`` what holds for some instead
    (see :func:`~leadhand.core.approval.policy_of`). ``documents`` is the directory that its tools search ("": none),
    with ``only_documents`` nothing else. ``held_back`` and ``held_back_s`` (seconds) are kept for reviews and the
    answer. ``budgets`` are those of its key, ``concurrency`` what it shares. ``needs_prices`` refuses models
    of unknown price, ``unpriced`` are those that its budget does not limit. ``key_id`` is the API key that it belongs
    to, ``submission`` the SHA-256 (hex) of what was sent under an idempotency key. ``earlier`` are the files of earlier
    runs that it may read, one for each path. ``shape`` is the worker that gives a typed answer ("": text). ``check``
    says who checks the answer, ``judging`` are the workers that do, the judge first; with ``strict``, doubts make the
    run partial. With ``worker_calls`` ``always``, a model writes the result of every subtask. ``instructions`` are
    those that the run alone was given, by worker (``"*"``: every one), ``only_tools`` the tools to which it was
    restricted. A run that is ``plan_only`` stops when it has a plan; with ``approve_plan``, it waits until a person
    approves the plan. With ``own_deps``, its program gave it objects that no log and no other process has.
    ``messages`` led to the request.
    """

    request: str
    flow: str
    flow_file: str = ""
    workers: tuple[Worker, ...] = ()
    models: ModelChoice
    tools: tuple[ToolSpec, ...] = ()
    limits: Limits = Limits()
    approve: ApprovalPolicy = ApprovalPolicy.ASK
    approve_rules: dict[str, ApprovalPolicy] = {}
    offline: bool = False
    documents: str = Field(default="", exclude_if=operator.not_)
    only_documents: bool = Field(default=False, exclude_if=operator.not_)
    detached: bool = False
    held_back: Money = NOTHING
    held_back_s: float = 0.0
    options: dict[str, Any] = {}
    budgets: tuple[SharedBudget, ...] = Field(default=(), exclude_if=operator.not_)
    needs_prices: bool = Field(default=False, exclude_if=operator.not_)
    unpriced: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    by: str = ""
    key_id: str = Field(default="", exclude_if=operator.not_)
    submission: str = ""
    forked_from: ForkPoint | None = None
    follows: Follows | None = Field(default=None, exclude_if=operator.not_)
    earlier: tuple[FileVersion, ...] = Field(default=(), exclude_if=operator.not_)
    shape: str = Field(default="", exclude_if=operator.not_)
    check: Check = Field(default="off", exclude_if=partial(operator.eq, "off"))
    strict: bool = Field(default=False, exclude_if=operator.not_)
    worker_calls: WorkerCalls = Field(default="auto", exclude_if=partial(operator.eq, "auto"))
    judging: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    concurrency: Concurrency = Field(default=Concurrency(), exclude_if=operator.not_)
    name: str = Field(default="", exclude_if=operator.not_)
    tags: dict[str, str] = Field(default={}, exclude_if=operator.not_)
    instructions: dict[str, str] = Field(default={}, exclude_if=operator.not_)
    only_tools: tuple[str, ...] | None = Field(default=None, exclude_if=partial(operator.is_, None))
    hooks: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    plan_only: bool = Field(default=False, exclude_if=operator.not_)
    approve_plan: bool = Field(default=False, exclude_if=operator.not_)
    traceparent: str = Field(default="", exclude_if=operator.not_)
    own_deps: bool = Field(default=False, exclude_if=operator.not_)
    messages: tuple[EarlierMessage, ...] = Field(default=(), exclude_if=operator.not_)

    def worker(self, name: str) -> Worker | None:
        """Return the worker with this name."""
        return next((worker for worker in self.workers if worker.name == name), None)

    @property
    def declared(self) -> tuple[Worker, ...]:
        """The workers that its project declares."""
        return tuple(worker for worker in self.workers if worker.declared)

    @property
    def shared_budgets(self) -> tuple[SharedBudget, ...]:
        """The budgets that it shares with other runs: those of its limits, and those of its key."""
        return (*self.limits.shared, *self.budgets)

    @property
    def closing_stages(self) -> int:
        """The number of stages that share what is held back: the evaluation, the answer, its shape, its judgement."""
        return 2 + bool(self.shape) + bool(self.judging)

    def model_of(self, worker: Worker | None) -> str:
        """Return the full name of the model of a worker; for None, the default model."""
        return self.models.default if worker is None else self.models_of(worker)[0]

    def models_of(self, worker: Worker) -> tuple[str, ...]:
        """Return the full names of the models of a worker, the first choice first."""
        return worker.models or (self.models.of(worker.model_role),)


def with_turns(definition: RunDefinition, turns: Mapping[str, int]) -> RunDefinition:
    """Return the definition of a run whose workers may make these numbers of model calls in one attempt."""
    workers = (each.evolve(max_turns=turns[each.name]) if each.name in turns else each for each in definition.workers)
    return definition.evolve(workers=tuple(workers))


class Gap(Value):
    """A part of the request that the answer lacks, with its step, its place in an order, and what a person can do."""

    work_order_id: str | None = None
    subtask_index: int | None = None
    step: str | None = None
    name: str
    class_: FailureClass = Field(validation_alias="class", serialization_alias="class")
    reason: str
    next_action: str = ""


class CitedSource(Source):
    """A source of the answer, with the event that contains the evidence."""

    event_id: str


# --- statuses --------------------------------------------------------------------------------------------------------


class StepStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    DROPPED = "dropped"


class AttemptStatus(StrEnum):
    SCHEDULED = "scheduled"
    RUNNING = "running"
    PARKED = "parked"
    RETURNED = "returned"


RUN: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.QUEUED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.RUNNING: ENDED | {RunStatus.WAITING, RunStatus.PAUSED},
    RunStatus.WAITING: frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.CANCELLED, RunStatus.FAILED}),
    RunStatus.PAUSED: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    # A person may reopen a run that has ended.
    RunStatus.SUCCEEDED: frozenset({RunStatus.RUNNING}),
    RunStatus.PARTIAL: frozenset({RunStatus.RUNNING}),
    RunStatus.FAILED: frozenset({RunStatus.RUNNING}),
    RunStatus.CANCELLED: frozenset({RunStatus.RUNNING}),
}

SETTLED = frozenset({StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.DROPPED})
UNSUCCESSFUL = frozenset({StepStatus.FAILED, StepStatus.DROPPED})

STEP: dict[StepStatus, frozenset[StepStatus]] = {
    # A person may settle a step that is not running, by supplying a result or by skipping it.
    StepStatus.PENDING: SETTLED | {StepStatus.RUNNING},
    StepStatus.RUNNING: SETTLED | {StepStatus.WAITING, StepStatus.PENDING},
    StepStatus.WAITING: SETTLED | {StepStatus.RUNNING},
    # A review may reject a completed result, and a person may have it made again.
    StepStatus.COMPLETED: UNSUCCESSFUL | {StepStatus.PENDING},
    StepStatus.FAILED: frozenset({StepStatus.DROPPED, StepStatus.COMPLETED, StepStatus.PENDING}),
    StepStatus.DROPPED: frozenset({StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.PENDING}),
}

ATTEMPT: dict[AttemptStatus, frozenset[AttemptStatus]] = {
    AttemptStatus.SCHEDULED: frozenset({AttemptStatus.RUNNING, AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.RUNNING: frozenset({AttemptStatus.RETURNED, AttemptStatus.PARKED}),
    AttemptStatus.PARKED: frozenset(),
    AttemptStatus.RETURNED: frozenset({AttemptStatus.PARKED}),
}
