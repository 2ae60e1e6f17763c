"""What the definition of a function says of the flow: its options, and the workers that it names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from itertools import chain
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from leadhand.core.errors import UsageError

Function = Callable[..., Coroutine[Any, Any, Any]]
RESERVED = frozenset({"request", "flow", "options", "limits", "deps", "worker"})
"""Names of what every door takes besides the options of a flow."""


def reached_values(function: Function, flow: type[Any]) -> Iterator[object]:
    """Yield what a function names as globals or from its closure, what is in its lists, tuples and dicts, and what the
    functions of its module and the flows (instances of ``flow``) that it names name; the flows, too."""
    functions: list[Any] = [function]
    for each in functions:  # it grows
        values = _named(each)
        for value in (*values, *chain.from_iterable(_members(value) for value in values)):
            is_flow = isinstance(value, flow)
            called: Any = cast("Any", value).function if is_flow else value
            if is_flow or not isinstance(called, FunctionType):
                yield value
            elif called.__module__ != function.__module__:
                continue
            if isinstance(called, FunctionType) and called not in functions:
                functions.append(called)


def _named(function: Function) -> list[object]:
    names: dict[str, None] = {}
    codes: list[CodeType] = [function.__code__]
    for code in codes:  # it grows
        names |= dict.fromkeys(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    around = inspect.getclosurevars(function).nonlocals
    return [*(function.__globals__[name] for name in names if name in function.__globals__), *around.values()]


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    return cast("Iterable[object]", value) if isinstance(value, list | tuple) else ()


def options_of(name: str, function: Function, taken: frozenset[str]) -> type[BaseModel]:
    """Return the options of a flow: the parameters of its function after the first, with no name that is taken."""
    if not inspect.iscoroutinefunction(function):
        raise UsageError(f"the flow {name} is not a coroutine function", "Define it with `async def`.")
    parameters = [*inspect.signature(function).parameters.values()]
    if not parameters:
        raise UsageError(f"the flow {name} takes no argument", "Its first parameter is the run: `async def flow(run)`.")
    fields: dict[str, Any] = {}
    written = {each.name: each.annotation for each in parameters[1:] if each.annotation is not each.empty}
    around = inspect.getclosurevars(function).nonlocals
    try:  # the annotation of the run need not be defined where the function is
        kinds = get_type_hints(SimpleNamespace(__annotations__=written), function.__globals__, {**around}, True)
    except NameError as error:
        raise UsageError(f"the flow {name} has an option of an unknown type: {error}", "Import the type.") from error
    for each in parameters[1:]:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise UsageError(f"the flow {name} takes {each}", "Name each option as a parameter of its own.")
        if each.name in taken:
            raise UsageError(f"the flow {name} has an option {each.name!r}, a name that is taken", "Rename it.")
        fields[each.name] = (kinds.get(each.name, Any), ... if each.default is each.empty else each.default)
    return create_model(f"Options of {name}", __config__=ConfigDict(extra="forbid", frozen=True), **fields)
