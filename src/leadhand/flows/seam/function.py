"""Flows that are functions: what the decorator makes of one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.events import Entry
from leadhand.core.state import RunState
from leadhand.core.value import Value, shown
from leadhand.core.worker import Worker as Recorded
from leadhand.flows.refused_options import refusal

from .definition import RESERVED, Function, options_of, reached_values
from .results import FlowAnswer
from .worker import Worker, with_tools


class FunctionFlow:
    """A flow that is an async function; calling it in another flow makes it a part of that one.

    ``plans``: its runs make a plan that a person can approve; ``reads_artifacts``: they can read the files that earlier
    runs of this flow wrote under ``memory/``; ``offline`` are the rules of the built-in model, by worker.
    """

    def __init__(
        self,
        function: Function,
        name: str = "",
        offline: Mapping[Worker, Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
        workers: Callable[[Any], Sequence[Recorded]] | Sequence[Recorded] | None = None,
        *,
        plans: bool = True,
        reads_artifacts: bool = False,
        unfinished: Callable[[RunState], FlowAnswer] | None = None,
        own: Mapping[str, Worker] | None = None,
    ) -> None:
        """``workers`` are those of a built-in flow, or with some options (None: the workers that the function names).
        ``unfinished`` returns the answer of a run that ends before its function returns, ``own`` are the workers of
        the program that it knows by name."""
        self.function = function
        self.name = name or function.__name__.replace("_", "-")
        self.description = inspect.getdoc(function) or ""
        rules = (offline or {}).items()
        self._offline = {each if isinstance(each, str) else each.name: rule for each, rule in rules}
        self.plans, self.reads_artifacts = plans, reads_artifacts
        self.unfinished = unfinished
        taken = RESERVED if workers is None else frozenset[str]()
        self.Options = options_of(self.name, function, taken)
        self._own = own
        self._workers = workers
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
            raise refusal(self.name, self.Options, given, error) from error

    def workers(self, options: Any) -> Sequence[Recorded]:
        """Return the workers that the function names as globals or from its closure, with the one of subtasks."""
        if self._workers is not None:
            return self._workers(options) if callable(self._workers) else self._workers
        tools = {inner.name for each in self.named for inner in each.workers}
        return [each.recorded().evolve(declared=each.name in tools) for each in self.named]

    @cached_property
    def named(self) -> Sequence[Worker]:
        """The workers that the function reaches, with those among their tools; the first of each name."""
        found: dict[str, Worker] = {}
        for each in reached_values(self.function, FunctionFlow) if self._workers is None else ():
            if isinstance(each, Worker):
                found |= {one.name: one for one in with_tools((each,)) if one.name not in found}
        return tuple(found.values())

    @cached_property
    def offline(self) -> Mapping[str, Callable[..., Any]]:
        """The rules of the built-in model by worker, with those of the flows that the function reaches."""
        values = reached_values(self.function, FunctionFlow) if self._workers is None else ()
        inner = [each._offline for each in values if isinstance(each, FunctionFlow)]
        return {name: rule for rules in (*inner, self._offline) for name, rule in rules.items()}

    @property
    def own(self) -> Mapping[str, Worker]:
        """The workers of the program that runs know by name, by name and by fingerprint."""
        return {each.name: each for each in self.named} if self._own is None else self._own

    def prepared(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options of a new run, before they are checked, with what this process adds to them."""
        return options

    def check_code(self, options: Any) -> None:
        """Raise UsageError if this process lacks code that a run with these options needs."""

    def task(self, state: RunState, options: Any, entries: Sequence[Entry]) -> Value | None:
        """Return the flow's own part of the run document; ``entries`` are the log of the run."""
        return None


@overload
def flow(function: Function, /) -> FunctionFlow: ...


@overload
def flow(
    *,
    name: str = "",
    offline: Mapping[Worker, Callable[..., Any]] | None = None,
    reads_artifacts: bool = False,
) -> Callable[[Function], FunctionFlow]: ...


def flow(function: Function | None = None, /, **given: Any) -> Any:
    """Make a flow of an async function, whose first parameter is the run; those after it are its options.

    ``name`` is that of the function, with hyphens, unless another is given. ``offline`` are rules of the built-in model
    for workers. With ``reads_artifacts``, runs can read the files that earlier runs of the flow wrote under
    ``memory/``. Raises UsageError for a function that cannot be a flow.
    """
    if function is None:

        def made(each: Function) -> FunctionFlow:
            return FunctionFlow(each, **given)

        return made
    if not callable(function):
        raise UsageError(f"{shown(function)} is not a function", "Write @flow above `async def`.")
    return FunctionFlow(function, **given)
