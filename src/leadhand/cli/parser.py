"""The parser of the command line: argparse, built from the signature of the one command that is called.

The parameters of a command function are its arguments and flags: positional-only ones are arguments, keyword-only ones
are flags, and a keyword-only dataclass is a group of flags. ``Annotated[…, Flag(…)]`` holds the help of each.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import functools
import inspect
import shlex
import shutil
import textwrap
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import Annotated, Any, NoReturn, get_args, get_origin, get_type_hints

from leadhand.cli.catalogue import BY_WORDS, COMMANDS, GROUPS, Command, CommandFunction
from leadhand.cli.options import Flag
from leadhand.domain.errors import UsageError

DESCRIPTION = (
    "Leadhand runs a request with one lead and as many workers as the job needs. It plans the request, runs the"
    " subtasks in parallel, keeps every result, and answers from what its own log shows."
)
CHECK = "If something does not work, check your installation with: leadhand doctor"
MAX_WIDTH = 100
HELP_FLAGS = ("--help", "-h")


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A command with its arguments and flags."""

    function: CommandFunction
    arguments: list[str]
    flags: dict[str, Any]

    def start(self) -> Coroutine[Any, Any, int]:
        """Call the command."""
        return self.function(*self.arguments, **self.flags)


def parse(words: Sequence[str]) -> Call | str:
    """Return the call that a command line asks for, or the help that it asks for. Raises UsageError."""
    if words[:1] == ["help"]:
        words = [*words[1:], HELP_FLAGS[0]]
    command = BY_WORDS.get(tuple(words[:2])) or BY_WORDS.get(tuple(words[:1]))
    if command is None:
        return _overview(words)
    rest = list(words[len(command.words) :])
    end = rest.index("--") if "--" in rest else len(rest)
    early, late = rest[:end], rest[end + 1 :]
    parameters = list(_parameters(command.load()))
    if any(word in HELP_FLAGS for word in early):
        return _parser(command, parameters, help_only=True).format_help()
    given, left = _read(_parser(command, parameters), parameters, early)
    unknown = next((word for word in left if word.startswith("-") and word != "-"), None)
    if unknown is not None:
        raise _unknown_flag(command, parameters, unknown)
    missing = next((each.flag for each in parameters if each.required and each.name not in given), None)
    if missing is not None:
        raise UsageError(f"{missing} is missing", _see_help(command))
    return Call(command.load(), _arguments(command, parameters, [*left, *late]), _grouped(parameters, given))


def flags_of(function: CommandFunction) -> list[str]:
    """Return the flags of a command: ``--json``, ``--home``, …"""
    return [each.flag for each in _parameters(function) if each.flag]


# --- the parameters of a command -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Parameter:
    """An argument or, if ``flag`` is not empty, a flag. ``group`` is the keyword and class of a group of flags."""

    name: str
    flag: str = ""
    type: type
    help: Flag
    default: Any
    repeats: bool = False
    group: tuple[str, Any] | None = None

    @property
    def required(self) -> bool:
        return bool(self.flag) and self.default is inspect.Parameter.empty

    @property
    def placeholder(self) -> str:
        return self.help.value or self.name.upper()


def _parameters(function: CommandFunction) -> Iterator[_Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            assert isinstance(hint, type)
            own = get_type_hints(hint, include_extras=True)
            for field in dataclasses.fields(hint):
                yield _parameter(field.name, own[field.name], field.default, flag=True, group=(name, hint))
        else:
            flag = parameter.kind is parameter.KEYWORD_ONLY
            repeats = parameter.kind is parameter.VAR_POSITIONAL
            yield _parameter(name, hint, parameter.default, flag=flag, repeats=repeats)


def _parameter(
    name: str, hint: Any, default: Any, *, flag: bool, repeats: bool = False, group: tuple[str, Any] | None = None
) -> _Parameter:
    assert get_origin(hint) is Annotated, f"{name} has no Flag"
    hint, told = get_args(hint)[:2]
    kind = (
        tuple if get_origin(hint) is tuple else next((each for each in get_args(hint) if each is not type(None)), hint)
    )
    return _Parameter(
        name=name,
        flag=f"--{name.replace('_', '-')}" if flag else "",
        type=kind,
        help=told,
        default=default,
        repeats=repeats,
        group=group,
    )


# --- argparse --------------------------------------------------------------------------------------------------------


class _Help(argparse.RawDescriptionHelpFormatter):
    """Two columns, at most 100 characters wide."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=_width())

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"See: {self.prog} --help")


def _parser(command: Command, parameters: Iterable[_Parameter], *, help_only: bool = False) -> argparse.ArgumentParser:
    """Return the parser of a command's flags, for help with its arguments.

    Arguments are not argparse's to read: it would not take them between flags, nor refuse those that begin with a dash.
    """
    parser = _Parser(
        prog=_name(command),
        usage=_usage(command, parameters),
        description=_paragraphs(command.summary, command.details),
        epilog=_examples(command.examples),
        formatter_class=_Help,
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
        argument_default=argparse.SUPPRESS,
    )
    sections: dict[str, Any] = {}
    for each in sorted(parameters, key=lambda each: bool(each.flag)):
        title = str(each.group[1].TITLE) if each.group is not None else "Flags" if each.flag else "Arguments"
        if not each.flag and not help_only:
            continue
        section = sections.get(title) or sections.setdefault(title, parser.add_argument_group(title))
        if not each.flag:
            section.add_argument(each.name, metavar=each.placeholder, help=each.help.text)
        elif each.type is bool:
            section.add_argument(each.flag, dest=each.name, action="store_true", help=each.help.text)
        else:
            section.add_argument(
                each.flag,
                dest=each.name,
                action="append" if each.type is tuple else "store",
                type=str if each.type in (str, tuple) else functools.partial(_number, each.flag, each.type),
                metavar=each.placeholder,
                help=_with_default(each),
            )
    return parser


def _number(flag: str, kind: type, text: str) -> Any:
    try:
        return kind(text)
    except ValueError as error:
        what = "whole number" if kind is int else "number"
        raise UsageError(f"invalid value for {flag}: {text!r}", f"Give a {what}.") from error


def _read(
    parser: argparse.ArgumentParser, parameters: Iterable[_Parameter], words: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the flags given, and the words left over."""
    try:
        namespace, left = parser.parse_known_args(words)
    except argparse.ArgumentError as error:  # numbers raise UsageError themselves: what is left is one or no value
        flag = next(each for each in parameters if each.flag == error.argument_name)
        what = "takes no value" if flag.type is bool else "needs a value"
        raise UsageError(f"{flag.flag} {what}", f"See: {parser.prog} --help") from error
    return vars(namespace), left


def _arguments(command: Command, parameters: Iterable[_Parameter], words: list[str]) -> list[str]:
    """Return the arguments of a command. Raises UsageError if there are too few or too many."""
    expected = [each for each in parameters if not each.flag]
    single = [each for each in expected if not each.repeats]
    required = [each for each in single if each.default is inspect.Parameter.empty]
    if len(words) < len(required):
        raise UsageError(f"{required[len(words)].placeholder} is missing", _see_help(command))
    if len(words) > len(single) and len(single) == len(expected):
        how = 'Put a request of several words in quotes: leadhand run "…"' if command.words == ("run",) else ""
        raise UsageError(f"too many arguments: {' '.join(words[len(single) :])}", how or _see_help(command))
    return words


def _grouped(parameters: Iterable[_Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call: flags of a group as an instance of its class, if any of them is given."""
    keywords: dict[str, Any] = {}
    groups: dict[tuple[str, Any], dict[str, Any]] = {}
    for each in parameters:
        if each.name in given:
            value = tuple(given[each.name]) if each.type is tuple else given[each.name]
            (keywords if each.group is None else groups.setdefault(each.group, {}))[each.name] = value
    return keywords | {name: group(**values) for (name, group), values in groups.items()}


# --- what is wrong ---------------------------------------------------------------------------------------------------


def _unknown_flag(command: Command, parameters: Iterable[_Parameter], word: str) -> UsageError:
    if command.words == ("run",) and (" " in word or not word.lstrip("-")[:1].isalpha()):
        request = f"leadhand run -- {shlex.quote(word)}"
        return UsageError(f"unknown flag: {word}", f"Put a request that begins with a dash last, after --: {request}")
    name = word.partition("=")[0]
    near = difflib.get_close_matches(name, [each.flag for each in parameters if each.flag], 1, cutoff=0.7)
    return UsageError(f"unknown flag: {name}", f"Did you mean {near[0]}?" if near else _see_help(command))


def _unknown_command(words: Sequence[str], known: Iterable[str]) -> UsageError:
    *group, word = words
    chain = " ".join(["leadhand", *group])
    if word.startswith("-"):
        return UsageError(f"unknown flag: {word}", f"See: {chain} --help")
    near = difflib.get_close_matches(word, known := list(known), 1)
    suggestion = f"Did you mean {chain} {near[0]}? " if near else ""
    return UsageError(f"unknown command: {word}", f"{suggestion}Choose from: {', '.join(known)}.")


def _see_help(command: Command) -> str:
    return f"See: {_name(command)} --help"


# --- help ------------------------------------------------------------------------------------------------------------


def _overview(words: Sequence[str]) -> str:
    """Return the help of ``leadhand`` or of a group of commands. Raises UsageError for an unknown command."""
    group = words[0] if words and words[0] in GROUPS else ""
    rest = words[1:] if group else words
    if group:
        summaries = {command.words[1]: command.summary for command in COMMANDS if command.words[0] == group}
    else:
        summaries = {word: _summary(word) for word in dict.fromkeys(command.words[0] for command in COMMANDS)}
    if rest and rest[0] not in HELP_FLAGS:
        raise _unknown_command(words[: 1 + bool(group)], summaries)
    chain = f"leadhand {group}".rstrip()
    lines = [f"Usage: {chain} COMMAND [ARGUMENTS] [FLAGS]", "", _paragraphs(GROUPS.get(group, DESCRIPTION)), ""]
    lines += ["Commands:", *_columns(summaries)]
    lines += ["", _paragraphs(f"{chain} COMMAND --help shows the arguments and flags of a command.")]
    if not group:
        flags = {"-h, --help": "Show this help and exit.", "-V, --version": "Show the version and exit."}
        examples = [BY_WORDS["run",].examples[0], "leadhand runs list", "leadhand serve --open"]
        lines += ["", "Flags:", *_columns(flags), "", _examples(examples), "", _paragraphs(CHECK)]
    return "\n".join(lines) + "\n"


def _summary(word: str) -> str:
    return GROUPS[word] if word in GROUPS else BY_WORDS[word,].summary


def _columns(rows: dict[str, str]) -> Iterator[str]:
    left = max(map(len, rows))
    for name, text in rows.items():
        first, *more = textwrap.wrap(text, max(20, _width() - left - 4))
        yield f"  {name:<{left}}  {first}"
        yield from (f"  {'':<{left}}  {line}" for line in more)


def _usage(command: Command, parameters: Iterable[_Parameter]) -> str:
    words = [_name(command)]
    words += [f"{each.flag} {each.placeholder}" for each in parameters if each.required]
    words += ["[FLAGS]"]
    for each in parameters:
        if not each.flag:
            optional = each.repeats or each.default is not inspect.Parameter.empty
            words.append(f"[{each.placeholder}{' …' if each.repeats else ''}]" if optional else each.placeholder)
    return " ".join(words)


def _with_default(each: _Parameter) -> str:
    default = each.default
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    shown = isinstance(default, (int, float, str)) and default != ""
    return f"{each.help.text.rstrip('.')} (default: {default})." if shown else each.help.text


def _examples(lines: Iterable[str]) -> str:
    shown = [f"  {line}" for line in lines]
    return "\n".join(["Examples:", *shown]) if shown else ""


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(textwrap.fill(part, _width()) for text in texts for part in text.split("\n\n") if part)


def _name(command: Command) -> str:
    return " ".join(["leadhand", *command.words])


def _width() -> int:
    return min(MAX_WIDTH, shutil.get_terminal_size().columns)
