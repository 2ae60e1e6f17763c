"""The arguments and flags of a command, from the signature of the function that carries it out."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin, get_type_hints

import click
from pydantic import ValidationError

from leadhand.cli.options import ANY_LIMIT, Flag, LimitFlags
from leadhand.core.limits import Limits, refused_limit, schema_of
from leadhand.core.value import Value, shown

CommandFunction = Callable[..., Coroutine[Any, Any, int | None]]
"""A command: a coroutine function that returns an exit code (None: 0). Its parameters are its arguments and flags."""


_Type = click.ParamType[Any] if TYPE_CHECKING else click.ParamType  # older releases have no type parameter


class Option(click.Option):
    """A flag. ``group`` is the keyword and the class of the group that it belongs to."""

    group: tuple[str, Any] | None = None

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return nothing: the help says what there is to say."""
        return {}


def limit_flags(parameter: click.Parameter) -> type[LimitFlags] | None:
    """Return the class of the limits that a flag belongs to; None for another flag."""
    group = parameter.group if isinstance(parameter, Option) else None
    return group[1] if group is not None and issubclass(group[1], LimitFlags) else None


def of_project(option: Option) -> bool:
    """Whether the manifest may set a flag that the command line does not."""
    limits = limit_flags(option)
    return bool(option.name) and (limits is None or limits.OF_PROJECT)


class Argument(click.Argument):
    """An argument, with its help."""

    name: str
    label: str = ""
    text: str = ""


def _checked(context: click.Context, option: click.Parameter, value: Any) -> object:
    """Refuse a flag as the value of another flag, whose value was forgotten, and what is not a number."""
    values = cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))
    for each in values:
        if isinstance(each, str) and each.startswith("--"):
            raise click.BadOptionUsage(option.name or "", f"option {option.opts[0]} needs a value", context)
        if each != each:
            raise click.BadParameter("nan is not a number", context, option)
    return cast("object", value)


def parameters_of(function: CommandFunction) -> Iterator[click.Parameter]:
    """Yield arguments and flags, in the order of the signature."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if is_dataclass(hint):
            assert isinstance(hint, type)
            own = get_type_hints(hint, include_extras=True)
            for field in fields(hint):
                if get_origin(own[field.name]) is Annotated:
                    yield flag_option(field.name, *_read(own[field.name]), field.default, (name, hint))
            if issubclass(hint, LimitFlags):
                limits = hint.LIMITS
                flags = (limit for limit in limits.model_fields if limit not in hint.WITHOUT_FLAG)
                yield from (_limit(limits, limit, (name, hint)) for limit in flags)
                yield flag_option("limit", tuple, ANY_LIMIT, (), (name, hint))
        elif parameter.kind is parameter.KEYWORD_ONLY:
            yield flag_option(name, *_read(hint), parameter.default)
        else:
            yield _argument(parameter, *_read(hint))


def _limit(limits: type[Value], name: str, group: tuple[str, Any]) -> Option:
    """Return the flag of a limit."""
    field = limits.model_fields[name]
    kinds = {field.annotation, *get_args(field.annotation)}  # its JSON schema would take longer than all else here
    shown = "" if not field.default else f" (default: {field.default:g})"
    text = f"{(field.description or '').rstrip('.')}{shown}."
    if bool in kinds:
        return flag_option(name, bool, Flag(text), False, group)
    unit = "USD" if name.startswith("budget") else "N" if int in kinds else "TIME"
    option = flag_option(name, str, Flag(text, unit), None, group)
    option.type = LimitType(limits, name)
    return option


class LimitType(_Type):
    """The type of a limit: a number, or a time with a unit."""

    name = "number"

    def __init__(self, limits: type[Value], limit: str) -> None:
        self._limits, self._limit = limits, limit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of the limit that a text stands for."""
        number: Any = value
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                number = kind(value)
                break
        number = {"true": True, "false": False}.get(value, number)
        try:
            return getattr(self._limits.model_validate({self._limit: number}), self._limit)
        except ValidationError as error:
            refused = refused_limit(error, self._limits)
            raise click.BadParameter(f"{shown(value)}. {refused.how}", ctx, param) from error


def _read(hint: Any) -> tuple[type, Flag]:
    """Return the type of a parameter, which may be None, too, and its help."""
    kind, about = get_args(hint)[:2]
    if get_origin(kind) is tuple:
        return tuple, about
    return next((each for each in get_args(kind) if each is not type(None)), kind), about


def _argument(parameter: inspect.Parameter, kind: type, about: Flag) -> Argument:
    repeats = parameter.kind is parameter.VAR_POSITIONAL
    required = parameter.default is parameter.empty and not repeats
    label = about.value or parameter.name.upper()
    shown = label if required or " " in label else f"[{label}{' …' if repeats else ''}]"
    more: dict[str, Any] = {"metavar": shown, "nargs": -1 if repeats else 1, **_values(parameter.name, kind, about)}
    argument = Argument([parameter.name], required=required, **more)
    argument.label, argument.text = label, about.text
    return argument


def flag_option(name: str, kind: type, about: Flag, default: Any, group: tuple[str, Any] | None = None) -> Option:
    shown = isinstance(default, (int, float, str)) and default not in (False, "")
    text = f"{about.text.rstrip('.')} (default: {default})." if shown else about.text
    more: dict[str, Any] = {"is_flag": True}
    if kind is not bool:
        more = {"multiple": kind is tuple, "required": default is inspect.Parameter.empty, "callback": _checked}
        more |= {"metavar": about.value or name.upper(), **_values(name, kind, about)}
    option = Option([f"--{name.rstrip('_').replace('_', '-')}", name], help=text, **more)
    option.group = group
    return option


def _values(name: str, kind: type, about: Flag) -> dict[str, Any]:
    """Return which values a parameter takes, and how shells complete them."""
    if about.choices:
        return {"type": click.Choice([str(each) for each in about.choices], case_sensitive=False)}
    if kind not in (int, float):
        return {"type": click.Path() if about.value in ("FILE", "DIR") else str}
    schema = schema_of(name) if name in Limits.model_fields else {}
    span: Any = schema.get("minimum"), schema.get("maximum")
    number: Any = click.IntRange(*span) if kind is int else click.FloatRange(*span)
    number.name = "number"
    return {"type": number}
