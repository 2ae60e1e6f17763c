"""What the parts of a flow and the engine hand to each other about the answers of workers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from leadhand.core.state import StepState
from leadhand.core.tool import CallState
from leadhand.core.value import Json, Unfit, compact_json, one_line


class Given(NamedTuple):
    """What a worker was given, and what it did: for functions that write its instructions or check its answer.

    ``text`` is the answer as text, ``value`` as data (of a worker with an ``output``), ``calls`` are the finished tool
    calls, ``input`` is what the step was given, ``request`` that of the run, ``deps`` what the program gave the run.
    """

    text: str = ""
    value: Json = None
    calls: Sequence[CallState] = ()
    input: Mapping[str, Any] = MappingProxyType({})
    request: str = ""
    deps: Any = None


class Desk(Protocol):
    """The input of one step that code carries out, and the calls that it may make.

    Code is run again from its start when a run is resumed, and after a wait for approval. Calls that were finished
    before are then answered from the log, if the code makes the same ones. So let calls depend on ``brief``, and on the
    results of other calls, only. :class:`~leadhand.report.Agent` says what ``ask``, ``call`` and ``emit`` do; ``lines``
    are what was reported before the step: ``timestamp``, ``agent`` (a worker) and ``message``.
    """

    @property
    def brief(self) -> Mapping[str, Any]: ...

    async def lines(self) -> Sequence[Mapping[str, Any]]: ...

    async def ask(self, prompt: str | Mapping[str, Any], output: Any = None) -> Any: ...

    async def call(self, tool: str, /, **args: Json) -> CallState: ...

    def emit(self, message: str) -> None: ...


Code = Callable[[Desk], Coroutine[Any, Any, Any] | Callable[[], Any]]
"""Carries out a step: returns the coroutine that returns its result, or a function for a thread that does."""
Fits = Callable[[Json], list[str]]
"""Return why a value does not fit what was asked for, one sentence each."""


def fault_of(what: str, error: BaseException) -> str:
    """Say what is wrong with user code: it raised this error, or returned what is unfit."""
    did = "returned what does not fit" if isinstance(error, Unfit) else f"raised {type(error).__name__}"
    return f"{what} {did}: {one_line(error)}"


def result_facts(step: StepState) -> dict[str, Any] | None:
    """Return a result in the form that the workers that need it receive; None before there is a result."""
    if step.data is None:
        return None
    raw, summary = step.value if step.value is not None else step.data.raw, step.data.summary
    said = {} if raw is not None and summary in (raw, compact_json(raw)) else {"summary": summary}
    return {**said, "raw": raw, **({"sample": True} if step.data.sample else {})}


@cache
def instructions_in(package: str, name: str) -> str:
    """Return the instructions from ``prompts/<name>.md`` of a package: built-in instructions are beside each flow."""
    return (files(package) / "prompts" / f"{name}.md").read_text("utf-8").strip()
