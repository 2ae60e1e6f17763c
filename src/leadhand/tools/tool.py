"""A tool: what a lead reads of it, its policy, and the code that takes the JSON arguments of a call."""

from __future__ import annotations

import copy
import functools
import hashlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack

from pydantic import ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.text import check_names
from leadhand.core.tool import ApprovalPolicy, Effect, PinnedOperation, ToolSpec
from leadhand.core.value import Json, compact_json, shown
from leadhand.ports import Check, ToolContext
from leadhand.tools.limits import checked_rate, duration_s, flaw

_P = ParamSpec("_P")
_R = TypeVar("_R")


class ToolOptions(TypedDict, total=False):
    """The policy of a tool, in the keywords of :func:`leadhand.tool`, which explains them. None is the default."""

    effect: Effect | Literal["pure", "idempotent", "once"]
    approval: ApprovalPolicy | Literal["ask", "auto", "never"] | None
    timeout: float | str | timedelta
    retries: int
    toolset: str
    delegate: bool
    parallel: bool
    polling: bool
    concurrency: int | None
    rate: str | None
    cache: float | str | timedelta | None
    version: str


class Tool(Generic[_P, _R]):
    """A tool with the description, schema and policy that a lead needs. You can call it like its function."""

    def __init__(
        self,
        name: str,
        call: Callable[[dict[str, Json], ToolContext], Any],
        describe: Callable[[], dict[str, Any]],
        function: Callable[_P, _R],
        **policy: Unpack[ToolOptions],
    ) -> None:
        """``describe`` returns the other fields of the specification; it is called when they are first asked for."""
        self._policy = _recorded(name, policy)
        sketch = _specification({"name": name, "description": "", "parameters": {}, **self._policy})
        self.name = name
        """The name that the lead uses."""
        if not name.isidentifier():
            raise UsageError(
                f"{name!r} is not a valid tool name",
                'Use letters, digits and underscores: @tool(name="hotel_tool").',
            )
        self.call, self.function = call, function
        self.source: str | None = None
        """The file it was loaded from, if the file is not an importable module."""
        self.check: Check | None = None
        self.confirm: Callable[[], Awaitable[object]] | None = None
        self._describe = describe
        if (found := flaw(sketch)) is not None:
            setting, why, how = found
            raise UsageError(f"the tool {name} cannot have {setting}: {why}", how)
        self.is_async = is_async(function)
        self.__doc__ = function.__doc__
        self.__name__ = name

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        call: Callable[[dict[str, Json], ToolContext], Any],
        *,
        output: Mapping[str, Any] | None = None,
        origin: str = "",
        listed_as: str = "",
        fingerprint: str = "",
        operations: Mapping[str, PinnedOperation] | None = None,
        target: str = "",
        **policy: Unpack[ToolOptions],
    ) -> Tool[[dict[str, Json], ToolContext], Any]:
        """Return a tool that is described by JSON schemas, which are passed on as they are.

        ``parameters`` is the schema of its arguments, an object; ``output`` that of its result, which is checked.
        ``call`` gets the arguments of a call, which fit, and the context; it may be async. It returns JSON data or a
        :class:`ToolReturn`, and raises :class:`ToolError` for a failure that a worker or a retry can act on. ``origin``
        says where the tool comes from, by default the module of ``call``, ``listed_as`` what it is called there, and
        ``fingerprint`` changes when it does. ``operations`` are those that the argument ``operation`` can name, if it
        has several, and ``target`` says where a call goes (see :class:`ToolSpec`).
        ``policy`` is that of ``@tool``, but the effect is ``once`` by default. Raises UsageError for what is not a
        tool.
        """
        if not callable(call):
            raise UsageError(
                f"the tool {name} has call={shown(call)}", "Pass a function of the arguments and the context."
            )
        fields: dict[str, Any] = {
            "description": description,
            "parameters": parameters,
            "output": output,
            "import_path": f"{origin or module_of(call)}:{listed_as or name}",
        }
        for part in ("parameters", "output"):
            fields[part] = dict(fields[part]) if isinstance(fields[part], Mapping) else fields[part]
        kind = _specification({"name": name, **fields}).parameters.get("type", "object")
        if kind != "object":
            how = 'Describe an object: {"type": "object", "properties": {…}}.'
            raise UsageError(f"the parameters of the tool {name} are a schema of {shown(kind)}", how)
        try:
            inspect.signature(call).bind({}, None)
        except TypeError as error:
            how = "Write it with two parameters: the arguments, and the context of the call."
            raise UsageError(f"the function of the tool {name} cannot be called: {error}", how) from error
        fields["fingerprint"] = fingerprint or hashlib.sha256(compact_json([name, fields]).encode()).hexdigest()[:16]
        fields |= {"operations": dict(operations or {}), "target": target}
        return cls(name, call, lambda: fields, call, **{"effect": Effect.ONCE, **policy})  # type: ignore[return-value]

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
        return _specification({"name": self.name, **self._policy, **fields})


def _member(kind: type[StrEnum]) -> Callable[[Any], StrEnum]:
    def read(value: Any) -> StrEnum:
        try:
            return kind(value)
        except ValueError as error:
            raise ValueError(f"Choose from: {', '.join(kind)}.") from error

    return read


_READ: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "timeout": ("timeout_s", duration_s),
    "effect": ("effect", _member(Effect)),
    "approval": ("approval", _member(ApprovalPolicy)),
    "rate": ("rate", checked_rate),
    "cache": ("cache_s", duration_s),
}
"""The options that a specification has under another name, or in another form."""


def _recorded(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the policy of a tool as its specification has it. Raises UsageError for an invalid option."""
    check_names(f"the tool {name}", options, ToolOptions.__annotations__)
    found: dict[str, Any] = {}
    for option, value in options.items():
        field, read = _READ.get(option, (option, lambda value: value))
        try:
            found |= {} if value is None else {field: read(value)}
        except ValueError as error:
            raise UsageError(f"the tool {name} has {option}={shown(value)}", str(error)) from error
    return found


def _specification(fields: dict[str, Any]) -> ToolSpec:
    """Return a specification, whose fields have exactly their types. Raises UsageError."""
    try:
        return ToolSpec.model_validate(fields, strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        what = f"the tool {fields['name']} has {str(fault['loc'][0]).removesuffix('_s')}={shown(fault['input'])}"
        raise UsageError(what, f"{fault['msg'].replace('Input', 'It', 1)}.") from error


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of a function, or of an object that can be called, has to be awaited."""
    while isinstance(function, functools.partial):
        function = function.func
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def module_of(function: Callable[..., Any]) -> str:
    """Return the module of a function; of the program itself its file, by which another process can find it."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) if function.__module__ == "__main__" else None
    return str(Path(program).resolve()) if program else function.__module__
