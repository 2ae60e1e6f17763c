"""The response models that only the HTTP API uses. Run documents and approval cards are values of the core."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, get_args

from pydantic import Field, create_model

from leadhand.app.export import shapes
from leadhand.app.export.document import Document
from leadhand.app.export.outcome import EvidencePart
from leadhand.app.export.shapes import ApprovalCard, RunLine
from leadhand.app.project.generated_workers import WorkerDocument
from leadhand.app.steering.access import KeyCeilings, Scope
from leadhand.core.errors import Failure
from leadhand.core.run import RunStatus
from leadhand.core.tool import Source, ToolSpec
from leadhand.core.value import Json, unset
from leadhand.server.event_shapes import EventDocument


class RunsPage(Document):
    """Runs, newest first. Use ``next_cursor`` to request the next page; null on the last page."""

    runs: tuple[RunLine, ...]
    next_cursor: str | None


RunPart = Literal[
    "work_orders", "work_states", "work_state", "context_store", "task", "todos", "artifacts", "steps", "claims"
]
"""A part of a run document that is sent only if it is asked for."""
PARTS: tuple[RunPart, ...] = get_args(RunPart)
_LEFT_OUT = "left out"


def _is_left_out(value: Any) -> bool:
    return value == _LEFT_OUT


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


_OPTIONAL: dict[str, Any] = {
    name: (
        field.annotation,
        Field(
            default=_LEFT_OUT,
            exclude_if=_is_left_out,
            description=field.description,
            json_schema_extra=_without_default,
        ),
    )
    for name, field in shapes.RunDocument.model_fields.items()
    if name in PARTS
}


class RunDocument(create_model("RunDocument", __base__=shapes.RunDocument, **_OPTIONAL)):
    """A run as of ``last_seq``: its request, evidence and answer, and the parts that were asked for with `include`."""

    @classmethod
    def of(cls, document: shapes.RunDocument, include: Collection[RunPart] = ()) -> RunDocument:
        """Return a document with only these parts."""
        left_out = {*PARTS}.difference(include)
        return cls.model_construct(**{name: value for name, value in document if name not in left_out})


class RunAnswer(Document):
    """The answer of a run, and what it rests on."""

    answer: str | None
    value: Json
    status: RunStatus
    evidence: EvidencePart

    @classmethod
    def of(cls, document: shapes.RunDocument) -> RunAnswer:
        """Return the answer in a run document."""
        return cls(answer=document.answer, value=document.value, status=document.status, evidence=document.evidence)


class EventsPage(Document):
    """Events in order. Use ``next_after`` to request the next page; null if there are no later events yet."""

    events: tuple[EventDocument, ...]
    next_after: int | None
    last_seq: int


class ApprovalsList(Document):
    """Open approvals, newest first."""

    approvals: tuple[ApprovalCard, ...]


class ToolsList(Document):
    """The tools that runs started here can use. Those of the web are last: reports and research have them."""

    tools: tuple[ToolSpec, ...]


class TrialData(Document):
    """What a tool returned."""

    raw: Json = None
    summary: str | None = None
    sources: tuple[Source, ...] = ()
    sample: bool = False


class ToolTrial(Document):
    """The result of a tool that was called by hand, in the shape of a work result."""

    task_name: str
    ok: bool
    data: TrialData | None = Field(default=None, exclude_if=unset)
    error: Failure | None = Field(default=None, exclude_if=unset)


class FlowDocument(Document):
    """A flow: what it does, and the JSON schema of its options."""

    name: str
    description: str
    options: dict[str, Any]
    agents: dict[str, str] = Field(
        description="For a report, the Python classes of this server that can carry out a stage, with their docstrings."
    )


class FlowsList(Document):
    """The flows that runs started here can use."""

    flows: tuple[FlowDocument, ...]


class WorkersList(Document):
    """The workers of the server's project; empty without a project."""

    workers: tuple[WorkerDocument, ...]


class SessionDocument(Document):
    """The caller's name, scopes and limits. ``needed``: this server requires a key."""

    authenticated: bool
    needed: bool
    name: str | None
    scopes: tuple[Scope, ...]
    ceilings: KeyCeilings
    version: str


class Health(Document):
    """The server is healthy."""

    status: Literal["ok"] = "ok"
