"""What goes out, as OpenAPI describes it: shapes. The documents themselves are made where the knowledge is."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leadhand.domain.access import Scope
from leadhand.domain.run import RunStatus
from leadhand.domain.view import Level, Tone

RUN_ID = "run_01m7zh2rmzdvjq26wwj6s9pcjw"
TIME = "2026-11-21T17:04:51.872Z"


def example(value: dict[str, Any], *, more: bool = False) -> ConfigDict:
    """The configuration of a shape with an example; ``more``: what it holds is said elsewhere, too."""
    return ConfigDict(extra="allow" if more else "forbid", json_schema_extra={"examples": [value]})


class RunLine(BaseModel):
    """A run in a list. ``asking`` counts its open questions to people; ``orphan``: it should be driven and is not."""

    model_config = example(
        {
            "run_id": RUN_ID,
            "flow": "work-order",
            "request": "What is the weather in Paris tomorrow?",
            "status": "succeeded",
            "model": "offline",
            "created_at": TIME,
            "finished_at": "2026-11-21T17:04:52.001Z",
            "last_seq": 28,
            "owner": None,
            "orphan": False,
            "detached": True,
            "subtasks": 1,
            "completed": 1,
            "failed": 0,
            "asking": 0,
            "requests": 2,
            "tokens": 1_900,
            "cost_usd": 0.0,
        }
    )

    run_id: str
    flow: str
    request: str = Field(description="Its first 200 characters.")
    status: RunStatus
    model: str
    created_at: datetime
    finished_at: datetime | None
    last_seq: int
    owner: str | None
    orphan: bool
    detached: bool
    subtasks: int
    completed: int
    failed: int
    asking: int
    requests: int
    tokens: int
    cost_usd: float


class RunsPage(BaseModel):
    """Runs, newest first. ``next_cursor`` asks for the next page; null: there is none."""

    runs: list[RunLine]
    next_cursor: str | None


class RunDocument(BaseModel):
    """A run: what was asked, ordered, found and answered, as of ``last_seq``; the same as ``leadhand run --json``."""

    model_config = example(
        {
            "run_id": RUN_ID,
            "flow": "work-order",
            "request": "What is the weather in Paris tomorrow?",
            "status": "succeeded",
            "owner": None,
            "answer": "Light rain, 7 to 14 °C [1].",
            "sources": [{"title": "Open-Meteo", "url": "https://open-meteo.com/", "event_id": "e-19"}],
            "gaps": [],
            "work_orders": [],
            "work_states": [],
            "work_state": None,
            "context_store": {"events": []},
            "artifacts": [],
            "approvals": [],
            "usage": {"requests": 2, "input_tokens": 1_700, "output_tokens": 200, "cost_usd": 0.0},
            "limits": {"max_steps": 3},
            "model": "offline",
            "created_at": TIME,
            "finished_at": "2026-11-21T17:04:52.001Z",
            "last_seq": 28,
        },
        more=True,
    )

    run_id: str
    flow: str
    request: str
    status: RunStatus
    owner: str | None = None
    answer: str | None
    sources: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    work_orders: list[dict[str, Any]]
    work_states: list[dict[str, Any]]
    work_state: dict[str, Any] | None
    context_store: dict[str, Any]
    artifacts: list[dict[str, Any]]
    approvals: list[dict[str, Any]]
    usage: dict[str, Any]
    limits: dict[str, Any]
    model: str
    created_at: datetime
    finished_at: datetime | None
    last_seq: int


class EventWords(BaseModel):
    """An event in words: what happened, a line about it, the id of what it is about ("" for the run), and where it is
    worth showing: about the run as a whole (``phase``), a line of output (``step``), or only in the log."""

    title: str
    text: str
    subject: str
    tone: Tone
    level: Level
    topics: list[str]


class EventDocument(BaseModel):
    """One event of a log; what else it holds depends on its ``type``: see the reference of events."""

    model_config = example(
        {
            "seq": 12,
            "at": TIME,
            "epoch": 1,
            "type": "tool_call_began",
            "attempt": "wo-001.0/a1",
            "call_id": "wo-001.0/t0/c0",
            "tool": "weather_tool",
            "args": {"location": "Paris", "day": "tomorrow"},
            "effect": "pure",
            "words": {
                "title": "Tool called",
                "text": "weather_tool · Paris, tomorrow",
                "subject": "wo-001.0",
                "tone": "info",
                "level": "detail",
                "topics": ["tools"],
            },
        },
        more=True,
    )

    seq: int
    at: datetime
    epoch: int
    type: str
    words: EventWords


class EventsPage(BaseModel):
    """Events in order. ``next_after`` asks for the next page; null: these are all there are by now. ``next_before``
    asks for the page before this one; null: this is the first."""

    events: list[EventDocument]
    next_after: int | None
    next_before: int | None
    last_seq: int


class ApprovalCard(BaseModel):
    """A question to people: may this call be made (``call``), or did it happen (``effect``)?"""

    model_config = example(
        {
            "id": "1a2b3c4d",
            "run_id": RUN_ID,
            "call_id": "wo-001.0/t0/c0",
            "request": "Send Ann the offer",
            "kind": "call",
            "tool": "send_mail",
            "args": {"to": "ann@example.org"},
            "effect": "once",
            "asked_for": "wo-001.0",
            "name": "send_the_offer",
            "origins": {"to": "the plan"},
            "cost_usd": None,
            "asked_at": TIME,
            "expires_at": None,
            "driven": False,
        },
        more=True,
    )

    id: str
    run_id: str
    call_id: str
    request: str
    kind: Literal["call", "effect"]
    tool: str
    args: dict[str, Any]
    effect: Literal["pure", "idempotent", "once"]
    asked_for: str = Field(description="The subtask's key.")
    name: str = Field(description="The subtask's name.")
    origins: dict[str, str]
    cost_usd: float | None
    asked_at: datetime | None
    expires_at: datetime | None
    driven: bool


class ApprovalsList(BaseModel):
    """The open questions of all runs, newest first."""

    approvals: list[ApprovalCard]


class ToolError(BaseModel):
    """What a tool last failed with."""

    at: datetime
    run_id: str | None
    message: str
    type: str
    class_: str = Field(alias="class")


class ToolDocument(BaseModel):
    """A tool: what it does, takes (JSON schema) and has as its effect."""

    model_config = example(
        {
            "name": "weather_tool",
            "description": "Current weather or the forecast.",
            "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
            "effect": "pure",
            "last_error": None,
        },
        more=True,
    )

    name: str
    description: str
    parameters: dict[str, Any]
    effect: Literal["pure", "idempotent", "once"]
    last_error: ToolError | None


class ToolsList(BaseModel):
    """The tools that runs started here can use."""

    tools: list[ToolDocument]


class ToolResult(BaseModel):
    """What a tool returned, or how it failed; in the shape of a work result."""

    model_config = example(
        {"task_name": "weather_tool", "ok": True, "data": {"summary": "Light rain", "raw": {}, "sources": []}},
        more=True,
    )

    task_name: str
    ok: bool


class AgentDocument(BaseModel):
    """A role of the flow: its model and its standing instructions, in Markdown."""

    name: str
    role: str
    model: str
    instructions: str
    ships: dict[str, str] = Field(description="The model and instructions that hold where none are set.")
    changed: dict[str, Any] | None = Field(description="By whom it was set otherwise than it ships, and when.")


class AgentsList(BaseModel):
    """The roles that runs started here have."""

    agents: list[AgentDocument]


class WorkersList(BaseModel):
    """Worker files of the project."""

    workers: list[dict[str, Any]]


class ArtifactsList(BaseModel):
    """Files that a run has produced."""

    artifacts: list[dict[str, Any]]


class SessionDocument(BaseModel):
    """Who is asking. ``needed``: a key is needed here."""

    model_config = example(
        {
            "authenticated": True,
            "needed": False,
            "name": "ann",
            "scopes": ["read", "run", "approve", "admin"],
            "version": "0.1.0",
        }
    )

    authenticated: bool
    needed: bool
    name: str | None
    scopes: list[Scope]
    version: str


class SystemDocument(BaseModel):
    """What this server is and how it is."""

    model_config = example({"version": "0.1.0", "python": "3.11.7"}, more=True)

    version: str
    python: str
    platform: str
    started_at: datetime
    database: dict[str, Any]
    model: dict[str, Any]
    hosts: list[dict[str, Any]]
    streams: int
    driving: int
    console: bool
    checks: list[dict[str, Any]]


class Health(BaseModel):
    """Whether it is well."""

    status: Literal["ok"]
