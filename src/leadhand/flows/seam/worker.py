"""Workers as programs define them: what the log records of them, with the Python code that belongs to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from leadhand.core.errors import UsageError
from leadhand.core.tool import CallState
from leadhand.core.value import Json, one_line
from leadhand.core.worker import ALL_TOOLS, LIMITS
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.seam.identity import sha


class Given(NamedTuple):
    """What a worker was given, and what it did: for functions that write its instructions or validate its answer.

    ``request`` is that of the run, ``input`` what the step was given, ``text`` the answer as text, ``calls`` are the
    finished tool calls, ``deps`` is what the program gave the run.
    """

    request: str
    input: Mapping[str, Json]
    text: str = ""
    calls: Sequence[CallState] = ()
    deps: Any = None


Validate = Callable[[Any, Given], object]
"""Raises :class:`~leadhand.flows.Retry` with a reason to send an answer back to its worker."""


@dataclass(frozen=True)
class Worker:
    """Somebody who carries out work: a model with instructions, tools and limits.

    ``instructions`` are Markdown text, or a function that returns it from what the worker is given. ``tools`` are names
    of tools (None: every tool of the run, (): none). ``output`` is a pydantic model or a JSON schema that the answer
    must match (None: text). ``model`` is a full model name (None: the model of the run). With ``loop="turns"``, the
    model is called until it answers without calling a tool; with ``"reply"``, it gives one answer and has no tools.
    ``limits`` are those of one step: ``max_turns``, ``max_requests``, ``max_tokens``, ``budget`` (US dollars).
    ``validate`` receives each answer, and raises Retry to send it back.
    """

    name: str
    instructions: str | Callable[[Given], str] = ""
    description: str = ""
    output: Any = None
    tools: Sequence[str] | None = None
    model: str | None = None
    loop: Literal["turns", "reply"] = "turns"
    limits: Mapping[str, int | float] | None = None
    validate: Validate | None = None
    base: Worker | None = field(default=None, repr=False, compare=False)
    """What it is a new version of."""

    def __hash__(self) -> int:
        return hash(self.name)

    def __post_init__(self) -> None:
        if unknown := sorted({*(self.limits or {})} - {*LIMITS}):
            raise UsageError(
                f"the worker {self.name} has no limit {unknown[0]!r}", f"Choose from: {', '.join(LIMITS)}."
            )
        if isinstance(self.tools, str):
            raise UsageError(f"the tools of the worker {self.name} are one text", "Give a list of names.")
        try:
            self.recorded()
        except ValueError as error:
            raise UsageError(f"the worker {self.name!r} cannot be used: {one_line(error)}", "Correct it.") from error

    def version(self, **changes: Any) -> Worker:
        """Return a new version of the worker: the same name, with these changes."""
        return replace(self, base=self.base or self, **changes)

    def recorded(self, given: Given | None = None) -> Recorded:
        """Return the worker as the log records it, with a fingerprint of the definition."""
        text = self.instructions
        if not isinstance(text, str):
            text = "" if given is None else inspect.cleandoc(text(given))
        found = Recorded(
            name=self.name,
            instructions=text,
            description=self.description,
            output=self.output,
            tools=(ALL_TOOLS,) if self.tools is None else tuple(self.tools),
            model=self.model,
            loop=self.loop,
            counts=True,
        )
        return fingerprinted(found.evolve(**self.limits) if self.limits else found)


def fingerprinted(worker: Recorded) -> Recorded:
    """Return a worker with the digest of its definition, by which another version of it is known."""
    return worker.evolve(fingerprint=sha(worker.model_dump(mode="json", exclude={"fingerprint"}))[:8])
