"""The options of a flow that is a function: its parameters after the first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from leadhand.core.errors import UsageError

RESERVED = frozenset({"request", "flow", "options", "limits", "deps", "worker"})
"""Names of what every door takes besides the options of a flow."""


def options_of(name: str, function: Callable[..., Any], taken: frozenset[str]) -> type[BaseModel]:
    """Return the options of a flow: the parameters of its function after the first, with no name that is taken."""
    if not inspect.iscoroutinefunction(function):
        raise UsageError(f"the flow {name} is not a coroutine function", "Define it with `async def`.")
    parameters = [*inspect.signature(function, eval_str=True).parameters.values()]
    if not parameters:
        raise UsageError(f"the flow {name} takes no argument", "Its first parameter is the run: `async def flow(run)`.")
    fields: dict[str, Any] = {}
    for each in parameters[1:]:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise UsageError(f"the flow {name} takes {each}", "Name each option as a parameter of its own.")
        if each.name in taken:
            raise UsageError(f"the flow {name} has an option {each.name!r}, a name that is taken", "Rename it.")
        kind = Any if each.annotation is each.empty else each.annotation
        fields[each.name] = (kind, ... if each.default is each.empty else each.default)
    return create_model(f"Options of {name}", __config__=ConfigDict(extra="forbid", frozen=True), **fields)
