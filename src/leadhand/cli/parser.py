"""The command line's parser, for help and for whatever is not plain: built with cyclopts, only when it is needed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

from leadhand import __version__
from leadhand.cli import options
from leadhand.cli.catalogue import COMMANDS, GROUPS
from leadhand.cli.help import Columns
from leadhand.domain.errors import UsageError

DESCRIPTION = """One lead, as many hands as the job needs: plans a request, has it carried out in parallel, keeps
every result, and answers from what its own log shows."""

SECTIONS = (
    ("Models", options.ModelFlags),
    ("Limits", options.LimitFlags),
    ("Output", options.Output),
    ("Place", options.Place),
)


_DASH = "\0-"
"""A dash alone (stdin, stdout) while cyclopts reads: it would take it for a flag. No argument can hold a NUL."""


def build() -> App:
    """The application with all its commands, none of them imported yet."""
    for place, (title, flags) in enumerate(SECTIONS, start=2):
        Parameter(name="*", group=Group(title, sort_key=place))(flags)
    app = App(
        name="leadhand",
        help=DESCRIPTION,
        version=f"leadhand {__version__}",
        version_flags=["--version"],
        help_flags=["--help", "-h"],
        help_format="plaintext",
        help_formatter=Columns(),
        default_parameter=Parameter(negative=()),
        group_arguments=Group("Arguments", sort_key=0),
        group_parameters=Group("Flags", sort_key=1),
    )
    groups: dict[str, App] = {}
    for command in COMMANDS:
        name = command.words[0]
        if name in GROUPS and name not in groups:
            groups[name] = App(name=name, help=GROUPS[name])
            app.command(groups[name])
        parent = groups.get(name, app)
        path = f"leadhand.cli.commands.{command.module}:{command.module}"
        parent.command(path, name=command.words[-1], help=f"{command.summary}\n\n{command.details}")
    return app


def parse(arguments: Sequence[str]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function that these arguments call for, and what it is to be called with; for ``--help`` one that prints.

    Raises UsageError that says what is wrong with them.
    """
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    try:
        words = [_DASH if word == "-" else word for word in arguments]
        function, bound, _ = build().parse_args(words, exit_on_error=False, print_error=False, verbose=False)
    except CycloptsError as error:
        what, how = _words(error)
        chain = " ".join(["leadhand", *(error.command_chain or ())])
        raise UsageError(what, how or f"{chain} --help says what it takes.") from error
    placed = tuple("-" if value == _DASH else value for value in bound.args)
    return function, placed, {name: "-" if value == _DASH else value for name, value in bound.kwargs.items()}


def _after(request: str) -> str:
    """How a request that looks like a flag is given."""
    return f"leadhand run -- {shlex.quote(request)}"


def _words(error: CycloptsError) -> tuple[str, str]:
    """What is wrong, and what cyclopts suggests."""
    if isinstance(error, UnusedCliTokensError):
        how = (
            'Put a request of several words in quotes: leadhand run "…"'
            if tuple(error.command_chain or ()) == ("run",)
            else ""
        )
        return f"too many arguments: {' '.join(error.unused_tokens or ())}", how
    if isinstance(error, UnknownOptionError) and tuple(error.command_chain or ()) == ("run",):
        given = error.token.keyword or error.token.value
        if " " in given or not given.lstrip("-")[:1].isalpha():
            return f"unknown option: {given}", f"A request that begins with a dash goes last, after --: {_after(given)}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        name = error.argument.name
        return (f"{name} needs a value" if error.keyword else f"{name} is missing"), ""
    text = " ".join(str(error).split())
    if isinstance(error, UnknownCommandError):
        text = text.replace("Available commands", "There are")
        if error.unused_tokens and error.unused_tokens[0].startswith("-"):
            return f"unknown option: {error.unused_tokens[0]}", ""
    what, _, how = text.partition(". ")
    what = what.rstrip(".")
    return what[:1].lower() + what[1:], how
