"""What programs define: workers, with the Python code that belongs to them, and flows that are functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, Literal, cast, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from leadhand.core.errors import UsageError
from leadhand.core.state import RunState
from leadhand.core.tool import ToolSpec
from leadhand.core.value import one_line, shown
from leadhand.core.worker import ALL_TOOLS, LIMITS, CallSettings
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.flow import Given
from leadhand.flows.refused_options import refusal
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


Function = Callable[..., Coroutine[Any, Any, Any]]
Rule = Callable[..., Any]
RESERVED = ("request", "flow", "options", "limits", "deps", "worker")
"""Names of what every door takes besides the options of a flow."""


class FunctionFlow:
    """A flow that is an async function; calling it in another flow makes it a part of that one.

    ``plans``: its runs make a plan that a person can approve; ``reads_artifacts``: they can read the files that earlier
    runs of this flow wrote under ``memory/``; ``offline`` are the rules of the built-in model, by worker. ``workers``
    are those of a built-in flow, or with some options (None: the workers that the function names), ``own`` are the
    workers of the program that it knows by name.
    """

    def __init__(
        self,
        function: Function,
        name: str = "",
        offline: Mapping[Worker, Rule] | Mapping[str, Rule] | None = None,
        workers: Callable[[Any], Sequence[Recorded]] | Sequence[Recorded] | None = None,
        *,
        plans: bool = True,
        reads_artifacts: bool = False,
        own: Mapping[str, Worker] | None = None,
    ) -> None:
        if not inspect.iscoroutinefunction(function):
            raise UsageError(f"{shown(function)} is not a coroutine function", "Write @flow above `async def`.")
        self.function, self.file = function, function.__code__.co_filename
        self.name = name or function.__name__.replace("_", "-")
        self.description = inspect.getdoc(function) or ""
        self._offline = {each if isinstance(each, str) else each.name: rule for each, rule in (offline or {}).items()}
        self.plans, self.reads_artifacts = plans, reads_artifacts
        self._own, self._workers = own, workers
        self.Options = _options_of(self.name, function, RESERVED if workers is None else ())
        self.__wrapped__ = function
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__

    def __call__(self, run: Any, /, **options: Any) -> Coroutine[Any, Any, Any]:
        """Return the coroutine of the flow as a part of another flow."""
        return self.function(run, **options)

    def checked_options(self, given: Mapping[str, Any]) -> BaseModel:
        """Return the options of a run. Raises UsageError for unknown or invalid ones."""
        try:
            return self.Options.model_validate(dict(given))
        except ValidationError as error:
            raise refusal(self.name, self.Options, error) from error

    def workers(self, options: Any) -> Sequence[Recorded]:
        """Return the workers that a run with these options has from its beginning."""
        if self._workers is not None:
            return self._workers(options) if callable(self._workers) else self._workers
        tools = {inner.name for each in self.named for inner in each.workers}
        return [each.recorded().evolve(declared=each.name in tools) for each in self.named]

    @cached_property
    def named(self) -> Sequence[Worker]:
        """The workers that the function reaches, with those among their tools; the first of each name."""
        found: dict[str, Worker] = {}
        for each in _reached(self.function) if self._workers is None else ():
            if isinstance(each, Worker):
                found |= {one.name: one for one in with_tools((each,)) if one.name not in found}
        return tuple(found.values())

    @cached_property
    def offline(self) -> Mapping[str, Rule]:
        """The rules of the built-in model by worker, with those of the flows that the function reaches."""
        reached = _reached(self.function) if self._workers is None else ()
        flows = [each for each in reached if isinstance(each, FunctionFlow)]
        return {name: rule for each in (*flows, self) for name, rule in each._offline.items()}

    @property
    def own(self) -> Mapping[str, Worker]:
        """The workers of the program that runs know by name, by name and by fingerprint."""
        return {each.name: each for each in self.named} if self._own is None else self._own

    def prepared(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options of a new run, before they are checked, with what this process adds to them."""
        return options

    def task(self, state: RunState) -> BaseModel | None:
        """Return the flow's own part of the run document."""
        return None


@overload
def flow(function: Function, /) -> FunctionFlow: ...


@overload
def flow(
    *, name: str = "", offline: Mapping[Worker, Rule] | None = None, reads_artifacts: bool = False
) -> Callable[[Function], FunctionFlow]: ...


def flow(function: Function | None = None, /, **given: Any) -> Any:
    """Make a flow of an async function, whose first parameter is the run; those after it are its options.

    ``name`` is that of the function, with hyphens, unless another is given. ``offline`` are rules of the built-in model
    for workers. With ``reads_artifacts``, runs can read the files that earlier runs of the flow wrote under
    ``memory/``. Raises UsageError for a function that cannot be a flow.
    """
    return partial(FunctionFlow, **given) if function is None else FunctionFlow(function, **given)


def _options_of(name: str, function: Function, taken: Sequence[str]) -> type[BaseModel]:
    """Return the options of a flow: the parameters of its function after the first, with no name that is ``taken``."""
    parameters = [*inspect.signature(function).parameters.values()]
    if not parameters:
        raise UsageError(f"the flow {name} takes no argument", "Its first parameter is the run: `async def flow(run)`.")
    written = {each.name: each.annotation for each in parameters[1:] if each.annotation is not each.empty}
    around = inspect.getclosurevars(function).nonlocals
    try:  # the annotation of the run need not be defined where the function is
        kinds = get_type_hints(SimpleNamespace(__annotations__=written), function.__globals__, {**around}, True)
    except NameError as error:
        raise UsageError(f"the flow {name} has an option of an unknown type: {error}", "Import the type.") from error
    fields: dict[str, Any] = {}
    for each in parameters[1:]:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) or each.name in taken:
            odd = repr(each.name) if each.name in taken else str(each)
            raise UsageError(f"the flow {name} cannot have an option {odd}", "Give it another name of its own.")
        fields[each.name] = (kinds.get(each.name, Any), ... if each.default is each.empty else each.default)
    return create_model(f"Options of {name}", __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def _reached(function: Function) -> Iterator[Worker | FunctionFlow]:
    """Yield the workers and flows that a function names as globals or from its closure, also in lists, tuples and
    dicts, and those that the functions of its module and the flows that it names name."""
    functions: list[Any] = [function]
    for each in functions:  # it grows
        values = _named(each)
        for value in (*values, *chain.from_iterable(_members(value) for value in values)):
            if isinstance(value, Worker | FunctionFlow):
                yield value
            called: object = value.function if isinstance(value, FunctionFlow) else value
            is_near = called is not value or getattr(called, "__module__", "") == function.__module__
            if isinstance(called, FunctionType) and is_near and called not in functions:
                functions.append(called)


def _named(function: Function) -> list[object]:
    codes: list[CodeType] = [function.__code__]
    for code in codes:  # it grows
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    names, known = dict.fromkeys(name for code in codes for name in code.co_names), function.__globals__
    return [*(known[name] for name in names if name in known), *inspect.getclosurevars(function).nonlocals.values()]


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    return cast("Iterable[object]", value) if isinstance(value, list | tuple) else ()
