"""The documents that the command line, the API and exports share: run document, list line, approval card."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from leadhand.app.export.document import Document, WorkState
from leadhand.app.export.outcome import DoneCall, EvidencePart, OutcomePart
from leadhand.core.approval import Approval
from leadhand.core.errors import Failure
from leadhand.core.limits import Limits
from leadhand.core.run import CitedSource, ForkPoint, Gap, RunStatus, StepStatus
from leadhand.core.tool import Todo
from leadhand.core.value import Json, Moment, unset
from leadhand.core.work_order import WorkOrder
from leadhand.core.work_result import Claim
from leadhand.flows.report.shapes import Task
from leadhand.ports.runs import RunListing


class EventRefs(Document):
    """The subtask that a context event belongs to; outside work orders, the id of the step."""

    work_order_id: str | None = Field(default=None, exclude_if=unset)
    subtask_index: int | None = Field(default=None, exclude_if=unset)
    step: str | None = Field(default=None, exclude_if=unset)


class ContextEvent(Document):
    """The outcome of one attempt at a subtask, of a blocked subtask, or of a subtask that a person settled (``by``)."""

    event_id: str
    timestamp: Moment
    task_name: str
    result: Literal["success", "failure"]
    agent: str = Field(description="The worker file's name, else `worker_` and the tool's name without `_tool`.")
    content: dict[str, Json] = Field(
        description="The arguments; on success also `summary`, `raw`, `value`, `sources`, `sample`, on failure `error`."
    )
    refs: EventRefs
    attempt: str | None = Field(default=None, exclude_if=unset)
    by: str | None = Field(default=None, exclude_if=unset)


class ContextStore(Document):
    """The evidence of a run, in the order of its log."""

    events: tuple[ContextEvent, ...]


class StepLine(Document):
    """One step of the run."""

    id: str
    worker: str
    title: str
    status: StepStatus
    counts: bool = Field(description="Whether its result belongs to the answer.")
    attempts: int
    parent: str | None = Field(default=None, exclude_if=unset, description="The step that delegated it.")
    summary: str = Field(description="The first 300 characters of its result.")
    failure: Failure | None = Field(description="Why its last attempt failed.")


class EarlierAnswer(Document):
    """An answer that a run had before it was reopened."""

    number: int
    status: RunStatus
    answer: str | None


class ArtifactLine(Document):
    """A version of a file that the run produced."""

    path: str
    version: int
    digest: str
    bytes: int
    by: str = Field(description="The ID of the step that wrote it.")
    at: datetime


class RunUsage(Document):
    """What model calls used."""

    requests: int
    input_tokens: int
    cached_tokens: int = Field(default=0, description="Input tokens that providers read from their caches.")
    cache_write_tokens: int = Field(default=0, description="Input tokens that providers wrote to their caches.")
    output_tokens: int
    cost_usd: float | None = Field(description="US dollars; null if the price of a call is unknown.")


class RunLimits(Limits):
    """The limits of a run, money in US dollars and times in seconds."""

    model_config = ConfigDict(strict=False)

    unpriced_models: tuple[str, ...] = Field(
        default=(), description="Models whose price is not known, so that no budget limits what they cost."
    )


class FollowedRun(Document):
    """The earlier run that a follow-up continues."""

    run_id: str
    request: str


class OpenQuestion(Document):
    """A question that waits for a person's answer."""

    id: str
    text: str
    choices: tuple[str, ...]


class RunApproval(Approval, Document):
    """A question that a run asked people."""

    approval_id: str = Field(
        description="Identifies the question and its arguments, at every door: different arguments give a different id."
    )
    call_id: str = Field(description="The call that it is about.")
    origins: dict[str, str] = {}


class RunDocument(Document):
    """A run: its request, work orders, evidence and answer as of ``last_seq``."""

    run_id: str
    flow: str
    request: str
    name: str = Field(description="Lists show it in place of the request; empty if the run has none.")
    tags: dict[str, str]
    status: RunStatus
    owner: str | None = Field(description="The host that is driving the run; null if no host does.")
    waits_for: str = Field(description="Why the run waits for a process or a host, as far as this is known.")
    outcome: OutcomePart
    answer: str | None = Field(description="The text as it was written; null without one.")
    value: Json = Field(description="The typed answer of a run with an output schema; null without one.")
    sample: bool = Field(description="Whether the answer rests on made-up sample data.")
    evidence: EvidencePart
    claims: tuple[Claim, ...] = Field(description="The claims of the answer, each with its verdict.")
    done: tuple[DoneCall, ...] = Field(description="Every call with an effect, from the log.")
    calls: int = Field(description="The tool calls that were made.")
    failed_calls: int = Field(description="The tool calls that failed.")
    question: OpenQuestion | None = Field(description="The oldest open question of a waiting run.")
    sources: tuple[CitedSource, ...] = Field(description="The first is cited as `[1]`.")
    gaps: tuple[Gap, ...] = Field(description="The parts of the request that the answer lacks.")
    earlier_answers: tuple[EarlierAnswer, ...]
    failure: Failure | None
    steps: tuple[StepLine, ...] = Field(description="In the order in which they were issued.")
    work_orders: tuple[WorkOrder, ...]
    work_states: tuple[WorkState, ...] = Field(description="One for each work order, in the same order.")
    work_state: WorkState | None = Field(description="The latest of `work_states`.")
    context_store: ContextStore
    task: Task | None = Field(description="The work on a report; null for a run of another flow.")
    todos: tuple[Todo, ...]
    artifacts: tuple[ArtifactLine, ...]
    approvals: tuple[RunApproval, ...]
    usage: RunUsage
    limits: RunLimits
    proposed_limits: dict[str, float] = Field(
        default={}, description="Higher limits with which a run that a limit ended can continue; `{}` for another run."
    )
    instructions: dict[str, str] = Field(
        default={}, description="What the run added to the instructions of workers; `*` is every worker."
    )
    tools: tuple[str, ...] = Field(default=(), description="The tools that the run may use.")
    hooks: tuple[str, ...] = Field(default=(), description="The hooks that check its calls and its answer.")
    plan_only: bool = Field(default=False, description="Whether the run stops when it has a plan.")
    approve_plan: bool = Field(
        default=False, description="Whether a person has to approve the plan before work begins."
    )
    trace_id: str = Field(description="The run's trace, 32 hexadecimal digits, where traces are sent.")
    model: str
    models: dict[str, str] = Field(
        description="The models by use (`plan`, `work`, `review`, `compose`), where they differ from `model`."
    )
    forked_from: ForkPoint | None
    follows: FollowedRun | None = Field(description="The run that this one follows up.")
    followed_by: tuple[str, ...] = Field(description="The runs that follow up this one, of the same key, newest first.")
    offline: bool
    detached: bool
    created_at: Moment
    finished_at: Moment | None
    last_seq: int


class RunLine(RunListing, Document):
    """A run in a list.

    ``owner`` is the host that is driving the run; an ``orphan`` should continue, but no host is driving it.
    ``subtasks`` are those that no others replaced, 0 while the first plan is being written; ``asking`` counts open
    approvals and questions. ``follows`` is the run that this one follows up.
    """

    head_seq: int = Field(exclude=True)
    epoch: int = Field(exclude=True)
    nanousd: int = Field(default=0, exclude=True)
    unpriced: bool = Field(default=False, exclude=True)
    key_id: str = Field(default="", exclude=True)
    last_seq: int
    cost_usd: float | None = Field(description="US dollars; null if unknown.")


class ApprovalCard(RunApproval):
    """A question to a person: may a call be made (``call``), did an interrupted call happen (``effect``), or may the
    plan in ``args`` be carried out (``plan``)?

    ``asked_for`` is the key of the subtask, ``name`` its name.
    """

    run_id: str
    request: str
    name: str
