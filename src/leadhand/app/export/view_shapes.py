"""The shapes of the view, which consoles, terminals and scripts display. See ``docs/reference/view.md``.

A field that is ``NotRequired`` is absent if it has no value. No value is ever null, because null in a merge patch
removes a field. Times are ISO 8601 in UTC, money is whole nano-dollars.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12

from leadhand.core.run import RunStatus

AttemptOutcome = Literal["scheduled", "running", "ok", "failed", "parked", "lost", "stopped"]
LaneStatus = Literal["pending", "running", "waiting", "retrying", "completed", "failed", "dropped"]
"""The status of a step. ``retrying``: its last attempt failed, and the next one has not started yet."""

FailurePart = TypedDict(
    "FailurePart", {"message": str, "type": str, "class": str, "next_action": NotRequired[str]}, total=True
)
"""Why something did not succeed, and what a person can do about it."""


class WaitPart(TypedDict):
    """What an attempt waits for, outside of its timeout, and until when at most."""

    text: str
    attempt: str
    since: str
    until: str


class AnswerPart(TypedDict):
    """The newest answer of the run; its text is in the run document and in the event ``seq``."""

    seq: int
    at: str


class RunPart(TypedDict):
    """The run. ``waits``: what attempts wait for now, by name."""

    request: str
    flow: str
    model: str
    status: RunStatus
    reason: str
    created_at: str
    finished_at: NotRequired[str]
    owner: NotRequired[str]
    waits: dict[str, WaitPart]
    answer: NotRequired[AnswerPart]


class SpendPart(TypedDict):
    """What was spent. ``unpriced``: a price is unknown, so ``nanousd`` is a lower bound.

    Of the input tokens, providers read ``cached_tokens`` from their caches and wrote ``cache_write_tokens`` there.
    """

    requests: int
    tokens: int
    cached_tokens: NotRequired[int]
    cache_write_tokens: NotRequired[int]
    nanousd: int
    unpriced: bool
    budget_nanousd: NotRequired[int]


class ReviewPart(TypedDict):
    """The review of an order, with the names of what is missing; the verdicts are with the steps."""

    seq: int
    complete: bool
    missing: list[str]


class OrderPart(TypedDict):
    """A work order. ``total`` counts its subtasks."""

    goal: str
    seq: int
    repairs: NotRequired[str]
    total: int
    review: NotRequired[ReviewPart]


class VerdictPart(TypedDict):
    """The verdict of a review or a person on a result."""

    verdict: Literal["accept", "retry", "replan", "drop"]
    reason: str


class CallPart(TypedDict):
    """A call of a model or a tool. Without ``args``, a tool was called with the arguments of its step.

    With ``cached``, the tool was not called: the result is that of an earlier call. ``tokens`` are those that a model
    read and wrote. Without ``nanousd``, the cost is unknown.
    """

    id: str
    kind: Literal["model", "tool"]
    name: str
    args: NotRequired[dict[str, Any]]
    effect: NotRequired[str]
    began_at: str
    ended_at: NotRequired[str]
    ok: NotRequired[bool]
    failure: NotRequired[FailurePart]
    summary: NotRequired[str]
    tokens: NotRequired[int]
    output_tokens: NotRequired[int]
    cached_tokens: NotRequired[int]
    nanousd: NotRequired[int]
    cached: NotRequired[bool]
    returned_seq: NotRequired[int]


class AttemptPart(TypedDict):
    """One attempt at a step. ``calls`` are keyed by the sequence number of the event that started each."""

    scheduled_at: str
    not_before: NotRequired[str]
    started_at: NotRequired[str]
    ended_at: NotRequired[str]
    outcome: AttemptOutcome
    continues: NotRequired[str]
    feedback: NotRequired[str]
    host: NotRequired[str]
    failure: NotRequired[FailurePart]
    result_seq: NotRequired[int]
    calls: dict[str, CallPart]


class StepPart(TypedDict):
    """One step with its attempts, by number."""

    name: str
    label: str
    worker: str
    order: NotRequired[str]
    position: int
    counts: bool
    tool: NotRequired[str]
    args: dict[str, Any]
    needs: list[str]
    parent: NotRequired[str]
    repairs: NotRequired[str]
    superseded_by: NotRequired[str]
    status: LaneStatus
    note: str
    failure: NotRequired[FailurePart]
    verdict: NotRequired[VerdictPart]
    by: NotRequired[str]
    seq: int
    settled_seq: NotRequired[int]
    attempts: dict[str, AttemptPart]


class TodoPart(TypedDict):
    """One entry of the run's todo list."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"]
    priority: NotRequired[str]


class ArtifactPart(TypedDict):
    """The latest version of a file of the run."""

    version: int
    bytes: int
    by: str
    at: str
    seq: int


class ViewDocument(TypedDict):
    """Everything that is shown of a run, as of ``last_seq``."""

    run_id: str
    last_seq: int
    last_at: str
    run: RunPart
    spend: SpendPart
    orders: dict[str, OrderPart]
    steps: dict[str, StepPart]
    todos: list[TodoPart]
    artifacts: dict[str, ArtifactPart]
