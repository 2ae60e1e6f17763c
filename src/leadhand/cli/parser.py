"""The parser of the command line, built from the signature of the one command that is called.

The parameters of a command function are its arguments and flags: positional-only ones are arguments, keyword-only ones
are flags, and a keyword-only dataclass is a group of flags. ``Annotated[…, Flag(…)]`` marks each and holds its help.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
import shlex
import shutil
import textwrap
from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from leadhand.cli.catalogue import BY_WORDS, COMMANDS, GROUPS, Command, CommandFunction
from leadhand.cli.options import NO_PROJECT, Flag
from leadhand.core.errors import UsageError

DESCRIPTION = (
    "Leadhand runs a request with one lead and as many workers as the job needs. It plans the request, runs the"
    " subtasks in parallel, keeps every result, and answers from what its own log shows."
)
CHECK = "If something does not work, check your installation with: leadhand doctor"
MAX_WIDTH = 100
MAX_NAME = 26
"""Columns for the names of flags; a longer name has a line of its own."""
HELP_FLAGS = ("--help", "-h")
LIKE_A_FLAG = re.compile(r"-(?!\.?\d)[^ ]+")
"""Not a value: neither ``-``, nor a negative number, nor text with a space."""


class Call(NamedTuple):
    """A command with its arguments and flags."""

    function: CommandFunction
    arguments: list[str]
    flags: dict[str, Any]

    def start(self) -> Coroutine[Any, Any, int | None]:
        """Call the command."""
        return self.function(*self.arguments, **self.flags)


def parse(words: Sequence[str]) -> Call | str:
    """Return the call or the help that a command line requests. Raises UsageError."""
    if words[:1] == ["help"]:
        words = [*words[1:], HELP_FLAGS[0]]
    command = BY_WORDS.get(tuple(words[:2])) or BY_WORDS.get(tuple(words[:1]))
    if command is None:
        return _overview(words)
    rest = list(words[len(command.words) :])
    end = rest.index("--") if "--" in rest else len(rest)
    function = command.load()
    parameters = parameters_of(function)
    if any(word in HELP_FLAGS for word in rest[:end]):
        return _help(command, parameters)
    given, arguments = _read(command, parameters, rest[:end])
    arguments += rest[end + 1 :]
    given = _with_project(given, {each.name for each in parameters if each.flag})
    _check(command, parameters, given, arguments)
    return Call(function, arguments, _grouped(parameters, given))


def flags_of(function: CommandFunction) -> list[str]:
    """Return the flags of a command: ``--json``, ``--home``, …"""
    return [each.flag for each in parameters_of(function) if each.flag]


# --- the parameters of a command -------------------------------------------------------------------------------------


class Parameter(NamedTuple):
    """An argument or, if ``flag`` is not empty, a flag. ``group`` is the keyword and class of a group of flags."""

    name: str
    flag: str
    type: type
    help: Flag
    default: Any
    repeats: bool = False
    group: tuple[str, Any] | None = None

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty and not self.repeats


@cache
def parameters_of(function: CommandFunction) -> Sequence[Parameter]:
    """Return the arguments and flags of a command, in the order of its signature."""
    return tuple(_parameters(function))


def _parameters(function: CommandFunction) -> Iterator[Parameter]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        if dataclasses.is_dataclass(hint):
            assert isinstance(hint, type)
            own = get_type_hints(hint, include_extras=True)
            for field in dataclasses.fields(hint):
                if get_origin(own[field.name]) is Annotated:
                    yield _parameter(field.name, own[field.name], field.default, flag=True, group=(name, hint))
        else:
            flag = parameter.kind is parameter.KEYWORD_ONLY
            repeats = parameter.kind is parameter.VAR_POSITIONAL
            yield _parameter(name, hint, parameter.default, flag=flag, repeats=repeats)


def _parameter(name: str, hint: Any, default: Any, *, flag: bool, **more: Any) -> Parameter:
    assert get_origin(hint) is Annotated, f"{name} has no Flag"
    hint, help_ = get_args(hint)[:2]
    optional = next((each for each in get_args(hint) if each is not type(None)), hint)
    return Parameter(
        name=name,
        flag=f"--{name.rstrip('_').replace('_', '-')}" if flag else "",
        type=tuple if get_origin(hint) is tuple else optional,
        help=help_,
        default=default,
        **more,
    )


# --- the words of a command line -------------------------------------------------------------------------------------


def _read(command: Command, parameters: Iterable[Parameter], words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the flags given, and the arguments. Raises UsageError."""
    flags = {each.flag: each for each in parameters if each.flag}
    given: dict[str, Any] = {}
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, text = word.partition("=")
        flag = flags.get(name)
        if flag is None:
            if word.startswith("-") and word != "-":
                raise _unknown_flag(command, flags, word)
            arguments.append(word)
        elif flag.type is bool:
            if equals:
                raise UsageError(f"{name} takes no value", _see_help(command))
            given[flag.name] = True
        else:
            value = text if equals else next(rest, None)
            if value is None or (not equals and (value.partition("=")[0] in flags or LIKE_A_FLAG.fullmatch(value))):
                raise UsageError(f"{name} needs a value", _see_help(command))
            given[flag.name] = (*given.get(flag.name, ()), value) if flag.type is tuple else _value(flag, value)
    return given, arguments


def _value(flag: Parameter, text: str) -> Any:
    try:
        return flag.type(text)
    except ValueError as error:
        what = "whole number" if flag.type is int else "number"
        raise UsageError(f"invalid value for {flag.flag}: {text!r}", f"Give a {what}.") from error


def _check(command: Command, parameters: Sequence[Parameter], given: dict[str, Any], arguments: list[str]) -> None:
    """Raise UsageError if a required flag is missing, or if there are too few or too many arguments."""
    for each in parameters:
        if each.flag and each.required and each.name not in given:
            raise UsageError(f"{each.flag} is missing", _see_help(command))
    expected = [each for each in parameters if not each.flag]
    required = [each for each in expected if each.required]
    if len(arguments) < len(required):
        raise UsageError(f"{_label(required[len(arguments)])} is missing", _see_help(command))
    if len(arguments) > len(expected) and not any(each.repeats for each in expected):
        how = 'Put a request of several words in quotes: leadhand run "…"' if command.words == ("run",) else ""
        raise UsageError(f"too many arguments: {' '.join(arguments[len(expected) :])}", how or _see_help(command))


_MODELS = ("model", "lead_model", "worker_model", "review_model")


def _with_project(given: Mapping[str, Any], flags: Collection[str]) -> dict[str, Any]:
    """Return the flags of a command, completed by the manifest; ``flags`` are the names of those that it has.

    ``loaded`` is the project, if there is one.

    The manifest is the one that --project names, else the nearest upwards from the working directory. A flag replaces
    what the manifest sets; files are added to those of the manifest. Raises as ``load_project`` does.
    """
    found = dict(given)
    if "project" not in flags or given.get("project") == NO_PROJECT:
        return found
    from leadhand.app.project.config_files import find_manifest  # commands without --project do not need it

    path = Path(given["project"]) if "project" in given else find_manifest(Path.cwd())
    if path is None:
        return found
    from leadhand.app.project.manifest import load_project  # most commands run outside a project

    project = load_project(path)
    for name, value in project.flags().items():
        if name not in flags or (name in _MODELS and given.get("offline")):
            continue
        if name == "approve" and name in given:
            continue
        if name == "stage":
            own = [each.partition("=")[0] for each in given.get(name, ())]
            value = tuple(each for each in value if each.partition("=")[0] not in own)
        if isinstance(value, tuple):
            found[name] = (*value, *(each for each in given.get(name, ()) if each not in value))
        else:
            found.setdefault(name, value)
    return found | {"loaded": project}


def _grouped(parameters: Iterable[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call: flags of a group as an instance of its class, if any of them is given.

    A class with a field ``chosen`` receives the names of those that are given, one with a field ``loaded`` the project.
    """
    keywords: dict[str, Any] = {}
    groups: dict[tuple[str, Any], dict[str, Any]] = {}
    for each in parameters:
        if each.name in given:
            (keywords if each.group is None else groups.setdefault(each.group, {}))[each.name] = given[each.name]
        if each.name == "project" and each.group is not None and "loaded" in given:
            groups.setdefault(each.group, {})
    for (name, group), values in groups.items():
        more = {"chosen": frozenset(values), "loaded": given.get("loaded")}
        keywords[name] = group(**values, **{key: more[key] for key in more.keys() & group.__dataclass_fields__.keys()})
    return keywords


def _unknown_flag(command: Command, flags: Iterable[str], word: str) -> UsageError:
    if command.words == ("run",) and (" " in word or not word.lstrip("-")[:1].isalpha()):
        request = f"leadhand run -- {shlex.quote(word)}"
        return UsageError(f"unknown flag: {word}", f"Put a request that begins with a dash last, after --: {request}")
    name = word.partition("=")[0]
    near = difflib.get_close_matches(name, flags, 1, cutoff=0.7)
    if near and re.sub(r"-(not?|dont|never)(?=-)", "", name) == near[0]:
        near = []  # it is the opposite: nobody should settle a call as the reverse of what happened
    return UsageError(f"unknown flag: {name}", f"Did you mean {near[0]}?" if near else _see_help(command))


def _unknown_command(chain: str, word: str, known: Iterable[str]) -> UsageError:
    if word.startswith("-"):
        return UsageError(f"unknown flag: {word}", f"See: {chain} --help")
    near = difflib.get_close_matches(word, known, 1)
    suggestion = f"Did you mean {chain} {near[0]}? " if near else ""
    return UsageError(f"unknown command: {word}", f"{suggestion}Choose from: {', '.join(known)}.")


def _see_help(command: Command) -> str:
    return f"See: {_name(command)} --help"


# --- help ------------------------------------------------------------------------------------------------------------


def _help(command: Command, parameters: Sequence[Parameter]) -> str:
    sections: dict[str, dict[str, str]] = {}
    usage = [_name(command), *(_label(each) for each in parameters if each.flag and each.required), "[FLAGS]"]
    for each in sorted(parameters, key=lambda each: bool(each.flag)):
        title = str(each.group[1].TITLE) if each.group is not None else "Flags" if each.flag else "Arguments"
        label = _label(each)
        sections.setdefault(title, {})[label] = _with_default(each) if each.flag else each.help.text
        if not each.flag:
            usage.append(label if each.required else f"[{label}{' …' if each.repeats else ''}]")
    width = min(MAX_NAME, max(len(label) for rows in sections.values() for label in rows))
    shown = [_section(title, rows, width) for title, rows in sections.items()]
    return _page(" ".join(usage), command.summary, *command.details.split("\n\n"), *shown, _examples(command.examples))


def _overview(words: Sequence[str]) -> str:
    """Return the help of ``leadhand`` or of a group of commands. Raises UsageError for an unknown command."""
    group = words[0] if words and words[0] in GROUPS else ""
    rest = words[1:] if group else words
    chain = f"leadhand {group}".rstrip()
    if group:
        summaries = {command.words[1]: command.summary for command in COMMANDS if command.words[0] == group}
    else:
        summaries = {command.words[0]: GROUPS.get(command.words[0], command.summary) for command in COMMANDS}
    if rest and rest[0] not in HELP_FLAGS:
        raise _unknown_command(chain, rest[0], summaries)
    parts = [GROUPS.get(group, DESCRIPTION), _section("Commands", summaries)]
    parts.append(f"{chain} COMMAND --help shows the arguments and flags of a command.")
    if not group:
        flags = {"-h, --help": "Show this help and exit.", "-V, --version": "Show the version and exit."}
        examples = [BY_WORDS["run",].examples[0], "leadhand runs list", "leadhand serve --open"]
        parts += [_section("Flags", flags), _examples(examples), CHECK]
    return _page(f"{chain} COMMAND [ARGUMENTS] [FLAGS]", *parts)


def _page(usage: str, *parts: str) -> str:
    """Return a page of help. A part with several lines, such as a section, is shown as it is."""
    texts = (part if "\n" in part else textwrap.fill(part, _width()) for part in parts if part)
    return "\n\n".join([f"Usage: {usage}", *texts]) + "\n"


def _section(title: str, rows: dict[str, str], width: int = 0) -> str:
    """Return names and their meaning in two columns; ``width`` is that of the first one, by default as needed."""
    width = width or max(map(len, rows))
    lines = [f"{title}:"]
    for name, text in rows.items():
        wrapped = textwrap.wrap(text, max(20, _width() - width - 4))
        lines += [f"  {name}"] if len(name) > width else [f"  {name:<{width}}  {wrapped.pop(0)}"]
        lines += (f"  {'':<{width}}  {line}" for line in wrapped)
    return "\n".join(lines)


def _examples(lines: Iterable[str]) -> str:
    shown = [f"  {line}" for line in lines]
    return "\n".join(["Examples:", *shown]) if shown else ""


def _label(each: Parameter) -> str:
    placeholder = each.help.value or each.name.upper()
    return placeholder if not each.flag else each.flag if each.type is bool else f"{each.flag} {placeholder}"


def _with_default(each: Parameter) -> str:
    default = each.default
    if isinstance(default, float) and default.is_integer():
        default = int(default)
    shown = isinstance(default, (int, float, str)) and default is not False and default != ""
    return f"{each.help.text.rstrip('.')} (default: {default})." if shown else each.help.text


def _name(command: Command) -> str:
    return " ".join(["leadhand", *command.words])


def _width() -> int:
    return min(MAX_WIDTH, shutil.get_terminal_size().columns)
