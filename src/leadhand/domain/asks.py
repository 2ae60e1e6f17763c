"""What a tool may ask of the controller: values in its return, decided on like any command and logged with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from .value import Value, plain_json


class Delegate(Value):
    """Have another worker do something; the call that asked receives its whole result.

    ``role`` names a role of the run (None: the caller's own). ``input`` is what the worker is given. ``tools`` narrows
    what it may call: never more than its role and the caller may. ``max_requests`` and ``budget`` (US dollars) bound
    what it may spend.
    """

    type: Literal["delegate"] = "delegate"
    title: str = ""
    role: str | None = None
    input: Annotated[dict[str, Any], AfterValidator(plain_json)] = {}
    tools: tuple[str, ...] | None = None
    model: str | None = None
    instructions: str | None = None
    max_requests: int | None = Field(default=None, ge=1)
    budget: float | None = Field(default=None, ge=0)


class DefineWorker(Value):
    """Define a worker for the rest of this run: a role that later delegations may name.

    ``tools`` None: those of the caller. More than the caller may use is refused.
    """

    type: Literal["define_worker"] = "define_worker"
    name: str = Field(min_length=1, max_length=100)
    instructions: str
    description: str = ""
    model: str | None = None
    tools: tuple[str, ...] | None = None


class WriteArtifact(Value):
    """Keep a file of the run under a relative ``path``; an earlier file of that path stays as an older version.

    A tool gives ``content``; the log keeps ``digest`` (``sha256:…``) and ``size`` in bytes in its place.
    """

    type: Literal["write_artifact"] = "write_artifact"
    path: str
    content: str | None = None
    media_type: str = "text/markdown"
    digest: str = ""
    size: int = 0


class Todo(Value):
    """One entry of the list that a lead keeps."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: str | None = None


class SetTodos(Value):
    """Replace the whole list of todos."""

    type: Literal["set_todos"] = "set_todos"
    todos: tuple[Todo, ...]


Ask = Annotated[Delegate | DefineWorker | WriteArtifact | SetTodos, Field(discriminator="type")]
