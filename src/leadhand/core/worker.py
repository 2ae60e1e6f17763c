"""Workers that people or models define: instructions with a name, tools and limits, from a file or made in a run."""

from collections.abc import Iterable
from typing import Any, Self

from pydantic import Field

from .run import ALL_TOOLS, Role
from .tool import DYNAMIC_WORKERS, ToolSpec
from .value import Value


class WorkerLimits(Value):
    """What one step of a worker may use: model calls (``max_turns`` of one attempt, ``max_requests`` of all),
    tokens (input and output together), and US dollars."""

    max_turns: int | None = Field(default=None, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    budget: float | None = Field(default=None, ge=0)

    @classmethod
    def of(cls, role: Role) -> Self:
        """Return the limits of a role."""
        return cls(**{name: getattr(role, name) for name in cls.model_fields})


class WorkerDefinition(Value):
    """A worker: ``instructions`` as Markdown, and what it may use.

    ``tools`` are names of tools, ``toolsets`` names of groups of them; ``tools: ["*"]`` is every tool of the run.
    ``input`` and ``output`` are JSON schemas of objects: of what it is given, and of its answer (None: text).
    ``source`` is the file it comes from, relative to its project ("" for none).
    """

    name: str = Field(
        min_length=1, max_length=60, pattern=r"^[A-Za-z][A-Za-z0-9_\-]*$", examples=["fact_checker", "reader-2"]
    )
    description: str = Field(default="", max_length=2_000)
    model: str | None = Field(default=None, min_length=1, max_length=200)
    tools: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    limits: WorkerLimits = WorkerLimits()
    input: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    instructions: str = Field(min_length=1, max_length=100_000)
    source: str = ""

    def tool_names(self, tools: Iterable[ToolSpec]) -> tuple[str, ...]:
        """Return the names of those ``tools`` that the worker may use, in their order."""
        return tuple(
            tool.name
            for tool in tools
            if tool.name in self.tools
            or tool.toolset in self.toolsets
            or (ALL_TOOLS in self.tools and tool.toolset != DYNAMIC_WORKERS)
        )

    def role(self, tools: Iterable[ToolSpec]) -> Role:
        """Return the role of this worker in a run with these tools."""
        return Role(
            name=self.name,
            instructions=self.instructions,
            description=self.description,
            model=self.model,
            input=self.input,
            output=self.output,
            tools=self.tool_names(tools),
            **self.limits.model_dump(),
        )
