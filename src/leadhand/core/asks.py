"""What a tool can ask of the controller: values that it returns, which are logged and decided on like any command."""

import operator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from .value import Value, plain_json, unset

LONGEST_ID, LONGEST_TITLE = 200, 1_000
"""The most characters in the id of a step or a todo, and in a title."""
_TYPE = r"[A-Za-z0-9_.+-]{1,100}"
MEDIA_TYPE = f"^{_TYPE}/{_TYPE}(; ?{_TYPE}={_TYPE})*$"


class Delegate(Value):
    """Delegate a task to another worker; the call that asked receives the whole result.

    ``worker`` names a worker of the run (None: the caller itself). ``tools`` restricts its tools, which never exceed
    the caller's. ``output`` is the JSON schema of its answer, an object. A task that the caller has delegated under the
    same ``key`` is not started again, unless it failed.
    """

    type: Literal["delegate"] = "delegate"
    title: str = Field(default="", max_length=LONGEST_TITLE)
    worker: str | None = None
    input: Annotated[dict[str, Any], AfterValidator(plain_json)] = {}
    tools: tuple[str, ...] | None = None
    model: str | None = None
    instructions: str | None = None
    max_calls: int | None = Field(default=None, ge=1, exclude_if=operator.not_)
    output: Annotated[dict[str, Any] | None, AfterValidator(plain_json)] = Field(default=None, exclude_if=unset)
    key: str = Field(default="", exclude_if=operator.not_)


class DefineWorker(Value):
    """Define a worker for the rest of this run, which later delegations can name.

    Without ``tools``, it has those of the caller. Tools that the caller may not use are refused.
    """

    type: Literal["define_worker"] = "define_worker"
    name: str = Field(min_length=1, max_length=100)
    instructions: str
    description: str = ""
    model: str | None = None
    tools: tuple[str, ...] | None = None


class WriteArtifact(Value):
    """Store a file of the run under a relative ``path``; an earlier file with that path remains as an older version.

    A tool sets ``content``; the log stores its ``digest`` (``sha256:…``) and ``size`` in bytes instead.
    """

    type: Literal["write_artifact"] = "write_artifact"
    path: str
    content: str | None = None
    media_type: str = Field(default="text/markdown", pattern=MEDIA_TYPE)
    digest: str = ""
    size: int = 0


class Todo(Value):
    """One entry of the run's todo list."""

    id: str = Field(max_length=LONGEST_ID)
    content: str = Field(max_length=LONGEST_TITLE)
    status: Literal["pending", "in_progress", "completed"] = "pending"
    priority: str | None = None


class SetTodos(Value):
    """Replace the whole list of todos."""

    type: Literal["set_todos"] = "set_todos"
    todos: tuple[Todo, ...]


Ask = Annotated[Delegate | DefineWorker | WriteArtifact | SetTodos, Field(discriminator="type")]
