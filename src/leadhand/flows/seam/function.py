"""Flows that are functions: what the decorator makes of one, with its options and the workers that it names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, cast, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from leadhand.core.errors import UsageError
from leadhand.core.state import RunState
from leadhand.core.value import shown
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.refused_options import refusal

from .worker import Worker, with_tools

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
