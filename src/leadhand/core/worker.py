"""Workers: everybody who carries out the steps of a run, with instructions, tools and limits."""

import copy
import inspect
import operator
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from .limits import Ceiling, nanousd
from .value import Value, is_object, shown, unset

ALL_TOOLS = "*"
"""In a worker's ``tools``: every tool of the run."""
OWN_TOOLS = "*own"
"""In a worker's ``tools``: the tools that the run was given and that only read, none of Leadhand's own."""
TOOLSET = "toolset:"
"""In the ``tools`` of a worker that a file defines: the prefix of the name of a toolset."""
WILDCARDS = frozenset({ALL_TOOLS, OWN_TOOLS})
EVERY_WORKER = "*"
"""In the instructions of a run: those of every worker."""
LONGEST_INSTRUCTIONS = 8_000
"""Characters of what a run adds. They are sent with every call, so they have to leave room in small context windows."""
WORKER_NAME = r"^[A-Za-z][A-Za-z0-9_\-]{0,59}$"
"""The pattern of the names of workers that files or workers define."""
ModelRole = Literal["", "plan", "work", "review", "compose"]
"""The uses of models for which a run can have another than its default model."""
LIMITS = ("max_turns", "max_requests", "max_tokens", "budget")
"""The limits of one step of a worker."""


class CallSettings(Value):
    """How a model answers a worker. None: as its provider, or the limits of the run, say."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | None = None
    max_output_tokens: int | None = Field(default=None, ge=16)


def output_schema(output: Any) -> dict[str, Any] | None:
    """Return the JSON schema of a pydantic model, and a schema as it is. Raises ValueError for anything else."""
    if inspect.isclass(output) and issubclass(output, BaseModel):
        return copy.deepcopy(_schema_of(output))
    if output is not None and not is_object(output):
        raise ValueError(f"{shown(output)} is neither a pydantic model nor a JSON schema")
    return output


@lru_cache(maxsize=64)
def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model. It is kept, since every run of a flow has the same workers."""
    return model.model_json_schema()


def with_more(instructions: str, name: str, more: Mapping[str, str]) -> str:
    """Return the instructions of a worker with the ``more`` that a run gives, by name: those of every worker, and its
    own."""
    return "\n\n".join(filter(None, (instructions, more.get(EVERY_WORKER), more.get(name))))


class Worker(Value):
    """The instructions and the permissions of the steps that a worker carries out.

    ``model`` is a full model name (None: the run's for its ``model_role``), ``fallbacks`` are called in its place while
    it is unavailable. ``input`` is the JSON schema of what it is given (None: text), ``output`` a pydantic model or a
    JSON schema of its answer (None: text). ``tools`` are those that it may use at most: ``("*",)`` every tool of the
    run, ``("*own",)`` those that the run was given and that only read. With ``loop="turns"``, a model is called until
    it answers without calling a tool; with ``"reply"``, once, without tools; with ``"code"``, Python code of the flow
    does the work. If it ``counts``, its results belong to the answer, and a failed one is a gap. ``elements`` names a
    list of the output whose elements are recorded while they are written. ``max_turns`` limits the model calls of one
    attempt, ``max_requests``, ``max_tokens`` and ``budget`` (US dollars) those of one step, ``max_children`` how often
    it may delegate. ``delegates`` are the workers to which its tools may delegate with all tools of those workers;
    other children have no tool that their parent lacks. A ``declared`` worker, of the project or defined during the
    run, is one that orders can name and tools can call. ``code`` is where its code comes from, ``fingerprint`` a
    digest of the source.
    """

    name: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.\-]*$")
    instructions: str = ""
    description: str = Field(default="", exclude_if=operator.not_)
    model: str | None = None
    fallbacks: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    settings: CallSettings | None = Field(default=None, exclude_if=unset)
    model_role: ModelRole = Field(default="", exclude_if=operator.not_)
    declared: bool = Field(default=False, exclude_if=operator.not_)
    input: dict[str, Any] | None = Field(default=None, exclude_if=unset)
    output: Annotated[Any, BeforeValidator(output_schema)] = None
    tools: tuple[str, ...] = ()
    loop: Literal["turns", "reply", "code"] = "turns"
    counts: bool = False
    elements: str = Field(default="", exclude_if=operator.not_)
    max_turns: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    budget: float | None = Field(default=None, ge=0)
    delegates: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    max_children: int | None = Field(default=None, ge=0, exclude_if=unset)
    code: str = Field(default="", exclude_if=operator.not_)
    fingerprint: str = Field(default="", exclude_if=operator.not_)

    @property
    def models(self) -> tuple[str, ...]:
        """Return the full names of its own models, the first choice first."""
        return () if self.model is None else (self.model, *self.fallbacks)

    @property
    def limits(self) -> dict[str, int | float]:
        """Return the limits of one step that are set, by name."""
        return {name: value for name in LIMITS if (value := getattr(self, name)) is not None}

    @property
    def ceiling(self) -> Ceiling | None:
        """Return what one step may spend, None without a limit."""
        if self.max_requests is None and self.max_tokens is None and self.budget is None:
            return None
        dollars = None if self.budget is None else nanousd(self.budget)
        return Ceiling(requests=self.max_requests, tokens=self.max_tokens, nanousd=dollars)
