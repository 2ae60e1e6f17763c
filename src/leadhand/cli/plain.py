"""Reads a command line that holds nothing unusual, without the parser: it alone would be a third of a cold start.

Whatever is not quite plain (help, an unknown flag, a value that does not fit) is left to :mod:`leadhand.cli.parser`,
which says what is wrong with it. Where both read a line they read the same: a test holds one against the other.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_args, get_type_hints

from leadhand.cli.catalogue import BY_WORDS, Command, CommandFunction
from leadhand.domain.errors import UsageError

Call = tuple[CommandFunction, list[Any], dict[str, Any]]


class _NotPlain(Exception):
    pass


def read(arguments: Sequence[str]) -> Call | None:
    """The command with its arguments, or None when the parser has to look at it. Raises UsageError."""
    command = BY_WORDS.get(tuple(arguments[:2])) or BY_WORDS.get(tuple(arguments[:1]))
    if command is None:
        return None
    try:
        return _read(command, list(arguments[len(command.words) :]))
    except _NotPlain:
        return None


def _read(command: Command, words: list[str]) -> Call:
    function = command.load()
    flags, positional, groups, required = _shape(function)
    given: dict[str, Any] = {}
    placed: list[str] = []
    words.reverse()
    while words:
        word = words.pop()
        if word == "--":
            placed += reversed(words)
            break
        if not word.startswith("-") or word == "-":
            placed.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in flags:
            raise _NotPlain
        field, kind = flags[name]
        if kind is bool:
            if equals or field in given:
                raise _NotPlain
            given[field] = True
            continue
        if not equals:
            if not words or (words[-1].startswith("-") and words[-1] != "-"):
                raise _NotPlain
            value = words.pop()
        if kind is tuple:
            given[field] = (*given.get(field, ()), value)
        elif field in given:
            raise _NotPlain
        else:
            given[field] = _converted(name, value, kind)
    if not required <= given.keys():
        raise _NotPlain
    return function, _placed(positional, placed), _grouped(function, groups, given)


def _shape(
    function: Callable[..., Any],
) -> tuple[dict[str, tuple[str, type]], list[inspect.Parameter], dict[str, type], set[str]]:
    """A command's flags with field and kind, its positional parameters, the classes that hold groups of flags, and the
    fields of the flags that have to be given."""
    hints = get_type_hints(function)
    flags: dict[str, tuple[str, type]] = {}
    positional: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    required: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(parameter)
        elif dataclasses.is_dataclass(hints[name]):
            groups[name] = hints[name]
            for field, hint in get_type_hints(hints[name]).items():
                flags[_flag(field)] = (field, _kind(hint))
        else:
            flags[_flag(name)] = (name, _kind(hints[name]))
            if parameter.default is parameter.empty:
                required.add(name)
    return flags, positional, groups, required


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _kind(hint: Any) -> type:
    """The type a flag's value is converted to: ``int | None`` is int, ``tuple[str, …]`` is tuple."""
    if getattr(hint, "__origin__", None) is tuple:
        return tuple
    return next((each for each in get_args(hint) if each is not type(None)), hint)


def _converted(flag: str, value: str, kind: type) -> Any:
    """The value as its flag's type. Raises UsageError."""
    if kind is str:
        return value
    if kind not in (int, float):
        raise _NotPlain
    try:
        return kind(value)
    except ValueError as error:
        what = "whole number" if kind is int else "number"
        raise UsageError(f"{flag} is {value!r}", f"Give a {what}.") from error


def _placed(positional: list[inspect.Parameter], placed: list[str]) -> list[Any]:
    if len(positional) > 0 and positional[-1].kind is inspect.Parameter.VAR_POSITIONAL:
        least, most = positional[:-1], len(placed)
    else:
        least, most = positional, len(positional)
    needed = sum(1 for parameter in least if parameter.default is parameter.empty)
    if not needed <= len(placed) <= most:
        raise _NotPlain
    return list(placed)


def _grouped(function: Callable[..., Any], groups: dict[str, type], given: dict[str, Any]) -> dict[str, Any]:
    """Flags as keywords, those of a group in an instance of its class; what was not given keeps its default."""
    keywords = dict(given)
    for name, group in groups.items():
        own = {field: keywords.pop(field) for field in get_type_hints(group) if field in keywords}
        if own:
            keywords[name] = group(**own)
    return keywords
