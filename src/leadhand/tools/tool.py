"""A tool: what a lead reads of it, its policy, and the code that takes the JSON arguments of a call."""

from __future__ import annotations

import copy
import functools
import hashlib
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, ParamSpec, TypeVar

from leadhand.core.errors import UsageError
from leadhand.core.text import check_names
from leadhand.core.tool import ApprovalPolicy, Effect, PinnedOperation, ToolSpec
from leadhand.core.value import Json, compact_json, shown
from leadhand.ports import Check, ToolContext
from leadhand.tools.limits import (
    HOW_AT_ONCE,
    HOW_CACHE,
    HOW_RATE,
    MOST_AT_ONCE,
    checked_rate,
    flaw,
    lifetime_s,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")
_E = TypeVar("_E", Effect, ApprovalPolicy)
EffectName = Literal["pure", "idempotent", "once"]
PolicyName = Literal["ask", "auto", "never"]


class Tool(Generic[_P, _R]):
    """A tool with the description, schema and policy that a lead needs. You can call it like its function."""

    def __init__(
        self,
        name: str,
        call: Callable[[dict[str, Json], ToolContext], Any],
        describe: Callable[[], dict[str, Any]],
        function: Callable[_P, _R],
        *,
        effect: Effect | EffectName,
        timeout: float = 30.0,
        retries: int = 2,
        approval: ApprovalPolicy | PolicyName | None = None,
        toolset: str = "",
        delegate: bool = False,
        parallel: bool = False,
        polling: bool = False,
        concurrency: int | None = None,
        rate: str | None = None,
        cache: float | str | timedelta | None = None,
        version: str = "",
    ) -> None:
        """``describe`` returns the other fields of the specification; it is called when they are first asked for."""
        self._policy: dict[str, Any] = {
            "timeout": timeout,
            "retries": retries,
            "toolset": toolset,
            "delegate": delegate,
            "parallel": parallel,
            "polling": polling,
            "version": version,
        }
        check_values(name, **self._policy)
        self.name = name
        """The name that the lead uses."""
        if not self.name.isidentifier():
            raise UsageError(
                f"{self.name!r} is not a valid tool name",
                'Use letters, digits and underscores: @tool(name="hotel_tool").',
            )
        self.call, self.function = call, function
        self.source: str | None = None
        """The file it was loaded from, if the file is not an importable module."""
        self.check: Check | None = None
        self._describe = describe
        self._policy |= {
            "timeout_s": self._policy.pop("timeout"),
            "effect": _member(Effect, effect, self.name, "effect"),
            "approval": None if approval is None else _member(ApprovalPolicy, approval, self.name, "approval"),
            **_limits(self.name, concurrency, rate, cache),
        }
        sketch = ToolSpec(name=self.name, description="", parameters={}, **self._policy)
        if (found := flaw(sketch)) is not None:
            setting, why, how = found
            raise UsageError(f"the tool {self.name} cannot have {setting}: {why}", how)
        self.is_async = is_async(function)
        self.__doc__ = function.__doc__
        self.__name__ = self.name

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        call: Callable[[dict[str, Json], ToolContext], Any],
        *,
        effect: Effect | EffectName = Effect.ONCE,
        approval: ApprovalPolicy | PolicyName | None = None,
        output: Mapping[str, Any] | None = None,
        origin: str = "",
        listed_as: str = "",
        fingerprint: str = "",
        operations: Mapping[str, PinnedOperation] | None = None,
        **policy: Any,
    ) -> Tool[[dict[str, Json], ToolContext], Any]:
        """Return a tool that is described by JSON schemas, which are passed on as they are.

        ``parameters`` is the schema of its arguments, an object; ``output`` that of its result, which is checked.
        ``call`` gets the arguments of a call, which fit, and the context; it may be async. It returns JSON data or a
        :class:`ToolReturn`, and raises :class:`ToolError` for a failure that a worker or a retry can act on. ``origin``
        says where the tool comes from, by default the module of ``call``, ``listed_as`` what it is called there, and
        ``fingerprint`` changes when it does. ``operations`` are those that the argument ``operation`` can name, if it
        has several (see :class:`ToolSpec`).
        ``policy`` is that of ``@tool``. Raises UsageError for what is not a tool.
        """
        check_names("Tool.from_schema", policy, OPTIONS)
        check_values(name, description=description)
        if not callable(call):
            raise UsageError(
                f"the tool {name} has call={shown(call)}", "Pass a function of the arguments and the context."
            )
        schemas: dict[str, Any] = {"parameters": parameters, "output": output or {}}
        for kind, schema in schemas.items():
            if not isinstance(schema, Mapping):
                raise UsageError(f"the tool {name} has {kind}={shown(schema)}", "Pass a JSON schema, as a dict.")
        if parameters.get("type", "object") != "object":
            how = 'Describe an object: {"type": "object", "properties": {…}}.'
            raise UsageError(f"the parameters of the tool {name} are a schema of {shown(parameters['type'])}", how)
        fields: dict[str, Any] = {
            "description": description,
            "parameters": dict(parameters),
            "output": output and dict(output),
            "import_path": f"{origin or module_of(call)}:{listed_as or name}",
        }
        fields["fingerprint"] = fingerprint or hashlib.sha256(compact_json([name, fields]).encode()).hexdigest()[:16]
        fields |= {"operations": dict(operations or {})}
        return cls(name, call, lambda: fields, call, effect=effect, approval=approval, **policy)  # type: ignore[return-value]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name} ({self._policy['effect']})>"

    def named(self, name: str) -> Tool[_P, _R]:
        """Return the tool under another name."""
        other = copy.copy(self)
        other.__dict__.pop("spec", None)
        other.name = other.__name__ = name
        return other

    @cached_property
    def spec(self) -> ToolSpec:
        """The specification that a run records. Raises UsageError if it has no schema."""
        fields = self._describe()
        if self.source is not None:
            fields["import_path"] = f"{self.source}:{fields['import_path'].rpartition(':')[2]}"
        return ToolSpec(name=self.name, **self._policy, **fields)


OPTIONS = tuple(each.name for each in inspect.signature(Tool).parameters.values() if each.kind is each.KEYWORD_ONLY)
"""The names of what makes the policy of a tool."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_TEXT, _FLAG = "Pass a text, in quotes.", "Pass True or False."
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("name", "description", "toolset", "version"), (lambda each: isinstance(each, str), _TEXT)),
    **dict.fromkeys(("delegate", "parallel", "polling"), (lambda each: isinstance(each, bool), _FLAG)),
    "timeout": (lambda each: _is_number(each) and each > 0, "Set a number of seconds above 0."),
    "retries": (lambda each: type(each) is int and each >= 0, "Set a whole number, 0 or more."),
}
"""What the options of a tool have to be, and how to write them."""
_OPTIONAL = ("name", "description")


def check_values(tool_name: str, **given: object) -> None:
    for option, value in given.items():
        fits, how = _KINDS[option]
        if not fits(value) and not (value is None and option in _OPTIONAL):
            raise UsageError(f"the tool {tool_name} has {option}={shown(value)}", how)


def _limits(name: str, concurrency: Any, rate: Any, cache: Any) -> dict[str, Any]:
    """Return the limits of a tool as its specification has them. Raises UsageError for an invalid value."""
    if concurrency is not None and (type(concurrency) is not int or not 1 <= concurrency <= MOST_AT_ONCE):
        raise UsageError(f"the tool {name} has concurrency={shown(concurrency)}", HOW_AT_ONCE)
    try:
        if rate is not None:
            rate = checked_rate(rate)
    except ValueError as error:
        raise UsageError(f"the tool {name} has an invalid rate: {error}", HOW_RATE) from error
    try:
        if cache is not None:
            cache = lifetime_s(cache.total_seconds() if isinstance(cache, timedelta) else cache)
    except ValueError as error:
        raise UsageError(f"the tool {name} has an invalid cache: {error}", HOW_CACHE) from error
    return {"concurrency": concurrency, "rate": rate or "", "cache_s": cache}


def _member(kind: type[_E], value: str, name: str, what: str) -> _E:
    try:
        return kind(value)
    except ValueError as error:
        listed = ", ".join(member.value for member in kind)
        raise UsageError(f"invalid {what} for the tool {name}: {value!r}", f"Choose from: {listed}.") from error


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of a function, or of an object that can be called, has to be awaited."""
    while isinstance(function, functools.partial):
        function = function.func
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def module_of(function: Callable[..., Any]) -> str:
    """Return the module of a function; of the program itself its file, by which another process can find it."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) if function.__module__ == "__main__" else None
    return str(Path(program).resolve()) if program else function.__module__
