"""What carries out work: clock, dispatcher, web, tools and models."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from leadhand.core.artifact import FileVersion
from leadhand.core.errors import FailureClass
from leadhand.core.events import Entry
from leadhand.core.ids import place_of, question_id
from leadhand.core.limits import Ceiling
from leadhand.core.relations import ancestors, tools_of
from leadhand.core.run import RunDefinition
from leadhand.core.state import AttemptState, RunState, StepState
from leadhand.core.tool import AskPerson, CallState, ToolSpec
from leadhand.core.value import FrozenDict, Json, plain_json
from leadhand.core.work_order import Step
from leadhand.core.work_result import ResultData
from leadhand.core.worker import Worker
from leadhand.flows.flow import Given
from leadhand.flows.seam.pending import Details


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The worker that calls a tool, in the step ``key``: its ``name``, its ``tools``, and the ``workers`` that it can
    call, by name. Of these, its step and those above it ``made`` some.

    Workers that it makes get its ``limits``, and names that are not ``reserved`` for those that the run began with.
    """

    key: str = ""
    name: str = ""
    tools: tuple[ToolSpec, ...] = ()
    workers: Mapping[str, Worker] = field(default_factory=dict[str, Worker])
    made: frozenset[str] = frozenset()
    reserved: frozenset[str] = frozenset()
    limits: Mapping[str, int | float] = field(default_factory=dict[str, int | float])

    @classmethod
    def of(cls, state: RunState, key: str) -> Caller:
        """Return the worker of a step as the tools that it calls see it."""
        run, step = state.definition, state.steps[key].step
        worker, mine = state.worker(step.worker), own_tools(state, step)
        line = {key, *(each.key for each in ancestors(state, step))}
        return cls(
            key=key,
            name=step.name,
            tools=tuple(tool for tool in run.tools if tool.name in mine),
            workers={each.name: each for each in (*run.declared, *(state.workers[name] for name in state.makers))},
            made=frozenset(name for name, maker in state.makers.items() if maker in line),
            reserved=frozenset(each.name for each in run.workers),
            limits={} if worker is None else worker.limits,
        )


def own_tools(state: RunState, step: Step) -> frozenset[str]:
    """The tools that the worker of a step may call: of a subtask that names one, that tool alone."""
    allowed = tools_of(state, step)
    named = step.subtask.tool if step.subtask is not None else None
    return allowed if named is None else allowed & {named}


@dataclass(frozen=True, kw_only=True)
class Work:
    """An attempt with everything that its worker needs: the step ``key`` in the state in which it was scheduled.

    ``details`` are what the flow says of the step, ``brief`` is the JSON object that the worker receives, ``needs`` are
    the results that it uses, by step. What only some attempts need is worked out when it is asked for.
    """

    state: RunState = field(repr=False)
    key: str
    details: Details
    brief: Mapping[str, Any]
    needs: Mapping[str, ResultData]

    @property
    def run_id(self) -> str:
        return self.state.run_id

    @cached_property
    def definition(self) -> RunDefinition:
        return self.state.definition

    @cached_property
    def lineage(self) -> StepState:
        """The step with the calls of its lineage so far; finished calls are not repeated."""
        return self.state.steps[self.key]

    @cached_property
    def step(self) -> Step:
        return self.lineage.step

    @cached_property
    def attempt(self) -> AttemptState:
        assert self.lineage.attempt is not None, f"{self.key} has no current attempt"
        return self.lineage.attempt

    @cached_property
    def worker(self) -> Worker:
        worker = self.state.worker(self.step.worker)
        assert worker is not None, f"{self.key} has no worker"
        return worker

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The tools that the worker may call, by name."""
        mine = own_tools(self.state, self.step)
        return {tool.name: tool for tool in self.definition.tools if tool.name in mine}

    @cached_property
    def scopes(self) -> tuple[Ceiling, ...]:
        """The ceilings that each model call has to fit besides the run's: of its worker, and of the steps above."""
        line = (self.step, *(above.step for above in ancestors(self.state, self.step)))
        workers = ((each.step_id, self.state.worker(each.worker)) for each in line)
        ceilings = ((key, worker.ceiling) for key, worker in workers if worker is not None)
        return tuple(replace(ceiling, scope=key) for key, ceiling in ceilings if ceiling is not None)

    @cached_property
    def artifacts(self) -> Mapping[str, FileVersion]:
        """The latest version of each file that tools can read: files of the run, and of earlier runs."""
        own = (versions[-1] for versions in self.state.artifacts.values())
        return FrozenDict({each.path: each for each in (*self.definition.earlier, *own)})

    def caller(self) -> Caller:
        """Return the worker as the tools that it calls see it."""
        return Caller.of(self.state, self.key)

    def problems(self, value: Json, text: str, calls: Sequence[CallState]) -> list[str]:
        """Return the problems of an answer: of its structured value, or its text, after these calls."""
        checks = self.details.checks
        return [] if checks is None else [*checks(self.state, self.lineage, Given(text, value, calls))]

    def accepted(self, value: Json, text: str, calls: Sequence[CallState]) -> Json:
        """Return the value to record for an answer."""
        returned = Given(text, value, calls, self.brief)
        return plain_json(self.details.keeps(self.state, self.lineage, returned))

    def names(self, tool: str) -> bool:
        """Whether the subtask of the step names this tool: without its call, there is no result."""
        return self.step.subtask is not None and self.step.subtask.tool == tool

    def tries_of(self, call_id: str) -> int:
        """Return how often a call of the lineage has had a transient failure."""
        made = (call for call in self.lineage.evidence if call.call_id == call_id)
        return sum(call.failure is not None and call.failure.class_ is FailureClass.TRANSIENT for call in made)

    def asked_by(self, call_id: str) -> list[AskPerson]:
        """Return what a call of the lineage has asked people, in order."""
        made = (call.question for call in self.lineage.evidence if call.call_id == call_id)
        return [each for each in made if each is not None]

    def replied(self, call_id: str) -> Replied | None:
        """Return what a person replied to what a call asked last, if it asked."""
        asked = self.asked_by(call_id)
        question = self.state.questions.get(question_id(call_id, len(asked)))
        return None if question is None or question.reply is None else Replied(question.reply, asked[-1].state)

    def effect_key(self, call: CallState) -> str:
        """Return the key of the effect of a call: its id, or that of the same call in an earlier conversation of the
        step, which may have had its effect."""
        same = (each.call_id for each in self.lineage.made if each.tool == call.tool and each.args == call.args)
        return next((each for each in same if place_of(each) == place_of(call.call_id)), call.call_id)

    @cached_property
    def instructions(self) -> str:
        return self.step.instructions or self.worker.instructions

    @cached_property
    def shape(self) -> dict[str, Any] | None:
        """The JSON schema that the answer has to match: of its task, else of its worker. None: it is text."""
        subtask = self.step.subtask
        return (subtask.output_schema if subtask is not None else self.step.output) or self.worker.output

    @property
    def output(self) -> Mapping[str, Any] | None:
        """The JSON schema of the answer as the model is shown it."""
        return self.shape if self.details.schema is None else self.details.schema

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The full names of the models, each of which is called while those before it are unavailable."""
        return (self.step.model,) if self.step.model else self.definition.models_of(self.worker)

    @property
    def max_turns(self) -> int:
        return self.worker.max_turns or self.definition.limits.max_turns


class Clock(Protocol):
    """Tells the time and waits; tests fix it."""

    def now(self) -> datetime:
        """The time, in UTC, with a zone."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Dispatcher(Protocol):
    """Carries out attempts, in this or another process. Their results go to the log and are never returned."""

    check_s: float | None
    """Seconds between two checks that attempts of other processes are carried out; None: no other process has any."""

    def start(self, run_id: str, works: Sequence[Work]) -> None:
        """Start carrying out scheduled attempts and return at once. Respects ``not_before``."""
        ...

    def note(self, state: RunState, entries: Sequence[Entry]) -> None:
        """Take note of what was committed to a run that is driven here."""
        ...

    async def carried_out(self, state: RunState, *, taking_over: bool) -> Collection[str]:
        """Return the running attempts of a run that this or another living process carries out.

        Called first when this process begins to drive the run (``taking_over``).
        """
        ...

    def cancel(self, state: RunState) -> None:
        """Stop every attempt of a run that is no longer driven here, without waiting; requests in flight are closed."""
        ...

    def withdraw(self, run_id: str, attempt: str) -> None:
        """Stop one attempt, without waiting, if it runs here: its result is no longer needed."""
        ...

    def broken(self, run_id: str) -> asyncio.Future[None]:
        """Receives an exception if attempts of a run cannot be carried out, because the log cannot be written."""
        ...

    def doing(self) -> Sequence[str]:
        """Return the attempts that this process carries out, as ``run/attempt``. May be called in any thread."""
        ...

    async def aclose(self) -> None:
        """Stop everything, and wait until it has stopped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebReply:
    """The response of a service: HTTP ``status``, and the decoded JSON ``body``; if that is None, its ``text``."""

    status: int
    body: Json = None
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Web(Protocol):
    """Calls public JSON services, within their usage policies.

    ``service`` names the rate limit gate and the cache of the call (``open-meteo``, ``nominatim``,
    ``valhalla``). Raises :class:`~leadhand.core.errors.ToolError` (``transient``) if there is no response.
    """

    async def get(self, service: str, url: str, params: Mapping[str, str | int | float]) -> WebReply: ...

    async def post(self, service: str, url: str, body: Json) -> WebReply: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A document as text, Markdown where it has structure. ``url`` is ``https://…``, ``document:…`` or ``leadhand:…``.

    ``published`` is a date such as ``2026-03-01``, if it is known. If ``excerpt``, the text is only a part of it.
    """

    url: str
    title: str
    text: str
    published: str = ""
    sample: bool = False
    excerpt: bool = False


class PartialResults(list[Page]):
    """What a search found although a part of it failed: ``missing`` says what was not searched, and why."""

    def __init__(self, pages: Iterable[Page], missing: str) -> None:
        super().__init__(pages)
        self.missing = missing


class Library(Protocol):
    """Finds and reads documents: pages of the web, a directory of the user's, or those that come with Leadhand.

    Raises :class:`~leadhand.core.errors.ToolError`.
    """

    async def search(self, query: str, limit: int) -> Sequence[Page]:
        """Return the documents that fit a query best."""
        ...

    async def fetch(self, url: str) -> Page:
        """Return the document at a URL."""
        ...


async def _no_content(digest: str) -> bytes:
    raise KeyError(digest)


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a tool can read: ``entries`` has their latest versions, ``content`` finds content by digest."""

    entries: Mapping[str, FileVersion] = field(default_factory=dict[str, FileVersion])
    content: Callable[[str], Awaitable[bytes]] = _no_content

    async def read(self, path: str) -> bytes:
        """Return the content of a file. Raises KeyError for another path."""
        return await self.content(self.entries[path].digest)


class Workshop(Protocol):
    """Keeps the files of workers that are made during runs, and reads those of the project that are attached."""

    async def write(self, run_id: str, worker: Worker, about: str, taken: Collection[str]) -> tuple[Worker, str]:
        """Write a worker to a file of its own, with ``about`` in a comment, and return it and the path.

        Its name is one that is not ``taken``, and whose file is missing or has the same ``about``. Raises ToolError.
        """
        ...

    async def attachment(self, path: str) -> bytes:
        """Return the content of a file of the project. Raises UsageError."""
        ...


@dataclass(frozen=True, slots=True)
class Replied:
    """What a person replied to what a tool asked with ``AskPerson``, and the ``state`` that it gave then."""

    text: str
    state: Json = None
