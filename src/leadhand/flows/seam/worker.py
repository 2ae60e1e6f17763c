"""Workers as programs define them: what the log records of them, with the Python code that belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from leadhand.core.errors import UsageError
from leadhand.core.tool import ToolSpec
from leadhand.core.value import one_line, shown
from leadhand.core.worker import ALL_TOOLS, LIMITS, CallSettings
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.flow import Given
from leadhand.flows.seam.results import sha

Validate = Callable[[Any, Given], object]
"""Raises :class:`~leadhand.flows.Retry` with a reason to send an answer back to its worker."""


@dataclass(frozen=True)
class Worker:
    """Somebody who carries out work: a model with instructions, tools and limits.

    ``instructions`` are Markdown text, or a function that returns it from what the worker is given. ``tools`` are
    names of tools, tools, or workers, which are called like tools (None: every tool of the run, (): none). ``output``
    is a pydantic model or a JSON schema that the answer must match (None: text), ``input`` the JSON schema of what the
    worker is given (None: anything). ``model`` is a full model name (None: the model of the run), or a list of them:
    the next one is called if one is unavailable. ``settings`` are ``temperature``, ``reasoning_effort`` (``minimal``,
    ``low``, ``medium`` or ``high``) and ``max_output_tokens``. With ``loop="turns"``, the model is called until it
    answers without calling a tool; with ``"reply"``, it gives one answer and has no tools. ``limits`` are those of one
    step: ``max_turns``, ``max_requests``, ``max_tokens``, ``budget`` (US dollars). ``validate`` receives each answer,
    and raises Retry to send it back.
    """

    name: str
    instructions: str | Callable[[Given], str] = ""
    description: str = ""
    output: Any = None
    tools: Sequence[Any] | None = None
    model: str | Sequence[str] | None = None
    settings: Mapping[str, Any] | None = None
    loop: Literal["turns", "reply"] = "turns"
    limits: Mapping[str, int | float] | None = None
    validate: Validate | None = None
    input: Mapping[str, Any] | None = None
    base: Worker | None = field(default=None, repr=False, compare=False)
    """What it is a new version of."""

    def __hash__(self) -> int:
        return hash(self.name)

    def __post_init__(self) -> None:
        named = (("limit", self.limits, LIMITS), ("setting", self.settings, CallSettings.model_fields))
        for what, given, known in named:
            if unknown := sorted({*(given or {})} - {*known}):
                how = f"Choose from: {', '.join(known)}."
                raise UsageError(f"the worker {self.name} has no {what} {unknown[0]!r}", how)
        try:
            if isinstance(self.tools, str):
                raise ValueError("its tools are one text, not a list of names")
            if self.model is not None and not self.models:
                raise ValueError("its list of models is empty")
            if odd := [each.name for each in self.workers if callable(each.instructions)]:
                raise ValueError(f"its tool {odd[0]} is a worker whose instructions are a function")
            self.recorded()
        except ValueError as error:
            raise UsageError(f"the worker {self.name!r} cannot be used: {one_line(error)}", "Correct it.") from error

    @property
    def models(self) -> tuple[str, ...]:
        """The full names of its own models, the first choice first."""
        return (self.model,) if isinstance(self.model, str) else tuple(self.model or ())

    @property
    def workers(self) -> tuple[Worker, ...]:
        """The workers among its tools."""
        return tuple(each for each in self.tools or () if isinstance(each, Worker))

    @property
    def own_tools(self) -> tuple[Any, ...]:
        """The tools that it was given as they are, not by name."""
        return tuple(each for each in self.tools or () if not isinstance(each, Worker | str))

    def version(self, **changes: Any) -> Worker:
        """Return a new version of the worker: the same name, with these changes."""
        return replace(self, base=self.base or self, **changes)

    def recorded(self, **changes: Any) -> Recorded:
        """Return the worker as the log records it, with these changes and a fingerprint of the definition."""
        first, *others = self.models or (None,)
        code = self.validate or (None if isinstance(self.instructions, str) else self.instructions)
        found = Recorded(
            name=self.name,
            instructions=self.instructions if isinstance(self.instructions, str) else "",
            description=self.description,
            input=None if self.input is None else dict(self.input),
            output=self.output,
            tools=(ALL_TOOLS,) if self.tools is None else tuple(map(_tool_name, self.tools)),
            model=first,
            fallbacks=tuple(others),
            settings=CallSettings(**self.settings) if self.settings else None,
            loop=self.loop,
            counts=True,
            code="" if code is None else f"{code.__module__}:{getattr(code, '__qualname__', type(code).__qualname__)}",
            **(self.limits or {}),  # pyright: ignore[reportArgumentType]
        )
        return fingerprinted(found.evolve(**changes) if changes else found)


def fingerprinted(worker: Recorded) -> Recorded:
    """Return a worker with the digest of its definition, by which another version of it is known."""
    return worker.evolve(fingerprint=sha(worker.model_dump(mode="json", exclude={"fingerprint"}))[:8])


def with_tools(workers: Iterable[Worker]) -> Iterator[Worker]:
    """Yield workers, each with the workers among its tools before it, and no second version of one.

    Raises UsageError for two different ones of one name.
    """
    known: dict[str, Worker] = {}
    for each in workers:
        for one in (*with_tools(each.workers), each):
            before = known.get(one.name)
            if before is None:
                known[one.name] = one
                yield one
            elif (before.base or before) != (one.base or one):
                raise UsageError(f"two different workers are called {one.name!r}", "Give them different names.")


def as_tool(worker: Recorded) -> ToolSpec:
    """Return a worker as a tool of another one: a call is a task for it."""
    task = {"type": "string", "description": "The task, with everything that the worker has to know."}
    return ToolSpec(
        name=worker.name,
        description=worker.description or f"Have the worker {worker.name} do a task.",
        parameters={
            "type": "object",
            "properties": {"input": worker.input or task},
            "required": ["input"],
            "additionalProperties": False,
        },
        delegate=True,
    )


def _tool_name(tool: object) -> str:
    name = tool if isinstance(tool, str) else getattr(tool, "name", None) or getattr(tool, "__name__", None)
    if not isinstance(name, str):
        raise ValueError(f"{shown(tool)} is not a tool")
    return name


def name_in(known: Callable[[str], Recorded | None], worker: Recorded) -> str:
    """Return the name of a worker in a run that has these: its own, unless that is the name of another version."""
    first = known(worker.name)
    is_first = first is None or first.fingerprint == worker.fingerprint
    return worker.name if is_first else f"{worker.name}.{worker.fingerprint}"
