"""Turn a function into a tool: the schema from its signature, the descriptions from its docstring."""

from __future__ import annotations

import hashlib
import inspect
import linecache
from collections.abc import Callable
from copy import deepcopy
from functools import cached_property, partial
from types import CodeType
from typing import Any, ParamSpec, TypeVar, Unpack, cast, get_args, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from leadhand.core.errors import FailureClass, ToolError, UsageError
from leadhand.core.value import Json
from leadhand.ports import ToolContext
from leadhand.tools.tool import Tool, ToolOptions, is_async, module_of

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Code:
    """A function as the code of a tool: its schema, and its arguments from the JSON of a call."""

    def __init__(self, function: Callable[..., Any], name: str, description: str | None) -> None:
        self.function, self._name, self._description = function, name, description
        self._parameters = _parameters(function)

    def describe(self) -> dict[str, Any]:
        """Return what the function says of its tool. Raises UsageError if the signature has no schema."""
        summary, parameters = _docstring(self.function)
        stray = next(
            (name for name in parameters if name not in inspect.signature(definition(self.function)).parameters), None
        )
        if stray is not None:
            raise UsageError(
                f"the docstring of the tool {self._name} describes the argument {stray}, which does not exist",
                "Correct the name in the docstring, or remove the entry.",
            )
        _, schema = self._arguments
        schema = {name: shape for name, shape in schema.items() if name not in ("title", "description")}
        properties: dict[str, dict[str, Any]] = schema.setdefault("properties", {})
        for name, shape in properties.items():
            if name in parameters:
                shape.setdefault("description", parameters[name])
        return {
            "description": self._description or summary or self._name.replace("_", " "),
            "parameters": schema,
            "import_path": _import_path(self.function),
            "fingerprint": fingerprint(self.function),
        }

    def __call__(self, args: dict[str, Json], context: ToolContext) -> Any:
        """Call the function with JSON arguments. Raises ToolError (``bad_arguments``) if they do not have its types."""
        try:
            given = self._arguments[0].model_validate(deepcopy(args))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}" for found in error.errors()[:8]
            )
            raise ToolError(faults, type="bad_arguments", class_=FailureClass.INVALID, not_made=True) from error
        kwargs: dict[str, Any] = {name: getattr(given, name) for name in type(given).model_fields}
        if self._context_name is not None:
            kwargs[self._context_name] = context
        returned = self.function(**kwargs)
        if inspect.iscoroutine(returned) and not is_async(self.function):
            returned.close()
            raise ToolError(
                f"{self._name} is not an async function and returned a coroutine",
                type="exception",
                class_=FailureClass.INVALID,
                next_action="declare the tool with async def",
            )
        return returned

    @cached_property
    def _context_name(self) -> str | None:
        return next((name for name, hint in self._hints.items() if ToolContext in (hint, *get_args(hint))), None)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(definition(self.function), include_extras=True)
        except NameError as error:
            raise UsageError(
                f"the type hints of the tool {self._name} cannot be read: {error}",
                "Import the type at run time, not only under TYPE_CHECKING.",
            ) from error

    @cached_property
    def _arguments(self) -> tuple[type[BaseModel], dict[str, Any]]:
        """A pydantic model of the arguments, which converts a call's JSON, and its schema."""
        fields: dict[str, Any] = {}
        for parameter in self._parameters:
            if parameter.name == self._context_name:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise UsageError(
                    f"the tool {self._name} has the parameter {parameter}, which a schema cannot express",
                    "Give every argument its own name.",
                )
            hint = self._hints.get(parameter.name, Any)
            default: Any = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (hint, default)
        try:
            model = create_model(self._name, __config__=ConfigDict(extra="forbid"), **fields)
            schema = _schema_of(model)
        except Exception as error:
            raise UsageError(
                f"the signature of the tool {self._name} cannot be turned into a schema: {str(error).splitlines()[0]}",
                "Use types with a JSON schema: str, int, float, bool, list, dict, Literal, Enum, date, pydantic "
                "models.",
            ) from error
        if dropped := [each for each in fields if each not in model.model_fields]:
            raise UsageError(
                f"the tool {self._name} has the parameter {dropped[0]}, a name that a schema cannot have",
                "Rename it: not with an underscore at the beginning, and not model_config.",
            )
        return model, schema


@overload
def tool(function: Callable[_P, _R], /) -> Tool[_P, _R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, **policy: Unpack[ToolOptions]
) -> Callable[[Callable[_P, _R]], Tool[_P, _R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **policy: Unpack[ToolOptions],
) -> Any:
    """Decorate a sync or async function as a tool.

    The schema comes from the signature, the description from the docstring's first line, the arguments' descriptions
    from its ``Args`` section (Google, NumPy or Sphinx style). The keywords set its policy:

    :param name: the name that the lead uses; the function's name by default.
    :param effect: what a second call does: ``pure`` (nothing), ``idempotent`` (nothing more, if it has the same key),
        ``once`` (it repeats the effect: each call needs approval, and one that may have happened is not repeated).
    :param timeout: the time for one call: seconds, a timedelta, or a text such as ``30s`` or ``5m``.
    :param retries: how often a transient failure is retried.
    :param approval: ``ask``, ``auto`` or ``never``; by default, the run's policy decides.
    :param toolset: its group, for approval rules.
    :param delegate: a worker carries out the call with the arguments as input and may use every other tool; the
        function itself is not called. While the caller waits, it holds no slot and no budget.
    :param parallel: a call has one argument, ``calls``, a list of ``{"tool": name, "args": {…}}``. These calls are made
        in parallel, with the rights and approvals of any call, and each has its own result; the function itself is not
        called.
    :param polling: its result may change, as that of a job's status does, so a worker may repeat a call. Without it, an
        attempt ends after three turns in a row that bring nothing new.
    :param concurrency: how many calls go on at once, in all processes and on all hosts of a database together.
    :param rate: how many calls begin in a span of time, together as well: ``10/s``, ``100/min``, ``500/h`` or
        ``1000/day``. Calls are spread evenly. Waiting takes no slot and no part of a timeout.
    :param cache: for how long a result is used again for a call with the same arguments, such as ``12h`` or ``7d``.
        Only for the effects ``pure`` and ``idempotent``. API keys share no results.
    :param version: the version of the code, for the cache. Without it, any change to the function's source makes
        earlier results useless.

    Raises :class:`~leadhand.core.errors.UsageError` for an invalid policy or name, and for what is not a function.
    """
    if function is None:
        return lambda given: tool(given, name=name, description=description, **policy)  # type: ignore[call-overload]
    name = _check_function(function, name)
    code = _Code(function, name, description)
    return Tool(name, code, code.describe, function, **policy)


def _check_function(function: Any, given: Any) -> str:
    """Return the name of the tool that a function makes. Raises UsageError for what cannot be called as a tool."""
    if not callable(function):
        raise UsageError(f"{function!r} is not a function", "Write @tool above a function, or call tool(function).")
    name = getattr(function, "__name__", None) if given is None else given
    if inspect.isclass(function):
        raise UsageError(
            f"{function.__name__} is a class, not a function",
            "Write a function, or pass the method of an object: tools=[Thing().method].",
        )
    if name is None:
        raise UsageError(f"{function!r} has no name of its own", 'Give it one: tool(name="…")(…).')
    if inspect.isasyncgenfunction(definition(function)):
        raise UsageError(
            f"the tool {name} is an async generator",
            "Return one value, such as a list; a tool can report progress with ToolContext.emit.",
        )
    first = next(iter(_parameters(function)), None)
    if first is not None and first.name in ("self", "cls") and first.annotation is first.empty:
        raise UsageError(
            f"the tool {name} is a method without its object",
            f"Leave the decorator out, and pass the method of an object: tools=[thing.{name}].",
        )
    return name


def definition(function: Any) -> Any:
    """Return the function or method that defines a ``partial``, or an object that can be called; else the function."""
    while isinstance(function, partial):
        function = cast("Any", function).func
    return function if hasattr(function, "__qualname__") else function.__call__


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function that its caller sets: those that a ``partial`` sets are fixed."""
    fixed: Any = cast("Any", function).keywords if isinstance(function, partial) else {}
    return [each for each in inspect.signature(cast("Any", function)).parameters.values() if each.name not in fixed]


def _import_path(function: Callable[..., Any]) -> str:
    """Return the module and the name of a function; of a method, with the class of its object."""
    own = definition(function)
    if not inspect.ismethod(own):
        return f"{module_of(own)}:{own.__qualname__}"
    holder: Any = own.__self__ if inspect.isclass(own.__self__) else own.__self__.__class__
    return f"{module_of(holder)}:{holder.__qualname__}.{own.__name__}"


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model. A default that JSON cannot express is left out: its argument is optional."""
    return model.model_json_schema(schema_generator=_SchemaWriter)


class _SchemaWriter(GenerateJsonSchema):
    ignored_warning_kinds = {*GenerateJsonSchema.ignored_warning_kinds, "non-serializable-default"}

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Whether a field gets its name as a title, which says nothing to a model."""
        return False


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    own = definition(function)
    documented: Any = own.__self__.__class__ if own.__name__ == "__call__" and not own.__doc__ else own
    text = inspect.getdoc(documented) or ""
    if "\n" not in text:
        return text.strip(), {}
    from docstring_parser import parse  # imported late: it takes 13 ms, and a one-line docstring does not need it

    parsed = parse(text)
    return "\n".join(filter(None, [parsed.short_description, parsed.long_description])).strip(), {
        parameter.arg_name: (parameter.description or "").strip()
        for parameter in parsed.params
        if parameter.args[0] in ("param", "parameter", "arg", "argument")
    }


def fingerprint(user_code: Callable[..., Any]) -> str:
    """A digest of a function or class, so that a resumed run can report that it has changed."""
    user_code = definition(user_code)
    try:
        source = _source(user_code)
    except (OSError, TypeError):
        code = getattr(user_code, "__code__", None)
        source = repr(code.co_code) if code is not None else repr(user_code)
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def _source(user_code: Callable[..., Any]) -> str:
    """Return the source of a function or class. ``inspect`` would parse the file of a function to find its end."""
    code = getattr(inspect.unwrap(user_code), "__code__", None)
    if isinstance(code, CodeType) and (lines := linecache.getlines(code.co_filename)):
        return "".join(lines[code.co_firstlineno - 1 : _last_line(code)])
    return inspect.getsource(user_code)


def _last_line(code: CodeType) -> int:
    own = (number for start, end, _, _ in code.co_positions() for number in (start, end) if number)
    return max(*own, *(_last_line(each) for each in code.co_consts if isinstance(each, CodeType)), 0, 0)
