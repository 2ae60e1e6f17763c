"""The command line, as commands of click that are built from the signatures of the functions that carry them out.

The parameters of such a function are arguments and flags: positional-only ones are arguments, keyword-only ones are
flags, and a keyword-only dataclass is a group of flags. ``Annotated[…, Flag(…)]`` marks each and holds its help. The
docstring is the help of the command.
"""

from __future__ import annotations

import importlib
import inspect
import os
import textwrap
from collections.abc import Coroutine, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import click
from click.shell_completion import shell_complete

from leadhand import __version__
from leadhand.cli.catalogue import COMMANDS, GROUPS, USUAL
from leadhand.cli.flags import (
    Argument,
    CommandFunction,
    LimitType,
    Option,
    flag_option,
    limit_flags,
    of_project,
    parameters_of,
)
from leadhand.cli.options import NO_PROJECT, Flag, LimitFlags
from leadhand.core.errors import UsageError

DESCRIPTION = (
    "Leadhand runs a request with one lead and as many workers as the job needs. It plans the request, runs the"
    " subtasks in parallel, keeps every result, and answers from what its own log shows."
)
COMPLETING = "_LEADHAND_COMPLETE"
"""The variable with which the completion scripts ask what completes a line."""
SETTINGS: dict[str, Any] = {"max_content_width": 100, "help_option_names": ["--help", "-h"]}
VERBATIM = "\b\n"
"""Before a paragraph of a help page that is not wrapped."""
LONGEST_HELP = 40
"""Lines of a help page, from which on it shows the flags that most people use."""
TAKE_TEXT = frozenset({"run", "report", "research", "answer"})
"""Commands with an argument that people write in words."""
DEBUG = Flag("Show the traceback of an error, also of errors in tools.")
_MODELS = ("model", "lead_model", "worker_model", "review_model")


class Call(NamedTuple):
    """A command with its arguments and flags."""

    function: CommandFunction
    arguments: list[str]
    flags: dict[str, Any]

    def start(self) -> Coroutine[Any, Any, int | None]:
        """Call the command."""
        return self.function(*self.arguments, **self.flags)


def parse(words: Sequence[str]) -> Call | None:
    """Return the call that a command line requests, None after showing the help that it requests. Raises UsageError."""
    if COMPLETING in os.environ:
        shell_complete(LEADHAND, {}, "leadhand", COMPLETING, os.environ[COMPLETING])
        return None
    given = [*words[1:], "--help"] if words[:1] == ["help"] else list(words)
    try:
        with LEADHAND.make_context("leadhand", given) as context:
            return LEADHAND.invoke(context)
    except click.exceptions.Exit:
        return None
    except click.UsageError as error:
        raise _usage_error(error) from error


def _usage_error(error: click.UsageError) -> UsageError:
    what, context = error.format_message(), error.ctx
    if isinstance(error, click.NoSuchOption) and error.option_name.startswith("--not"):
        what = error.message  # nobody should settle a call as the reverse of what happened
    command = context.command if context is not None else LEADHAND
    how = f"See: {context.command_path if context is not None else 'leadhand'} --help"
    if isinstance(error, click.NoSuchCommand) and isinstance(command, click.Group):
        how = f"Choose from: {', '.join(command.commands)}."
    elif command.name in TAKE_TEXT and (isinstance(error, click.NoSuchOption) or "extra argument" in what):
        how += ". Put text of several words in quotes, and -- before text that begins with a dash."
    return UsageError(what[:1].lower() + what[1:].rstrip("."), how)


class Leaf(click.Command):
    """A command. Its module is imported when it is called, completed or explained."""

    def __init__(self, words: str, module: str, summary: str) -> None:
        super().__init__(
            words.rpartition(" ")[2],
            context_settings=SETTINGS,
            short_help=summary,
            options_metavar="[FLAGS]",
        )
        self.words = words
        self._module = module

    @cached_property
    def function(self) -> CommandFunction:
        """The function that carries the command out: ``runs_list`` for ``runs list``."""
        module = importlib.import_module(f"leadhand.cli.commands.{self._module}")
        return getattr(module, self.words.replace(" ", "_"))

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Import the command and parse its arguments."""
        self.help = (inspect.getdoc(self.function) or "").replace("\n\nExamples:", f"\n\n{VERBATIM}Examples:")
        self.params = [*parameters_of(self.function), flag_option("debug", bool, DEBUG, False), _HELP_ALL]
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an error knows which command it is about."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def get_help(self, ctx: click.Context) -> str:
        """Return the help: of a command with many flags only what most people need, unless --help-all asks for all."""
        full = super().get_help(ctx)
        if _HELP_ALL.name in ctx.meta or full.count("\n") < LONGEST_HELP:
            return full
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        paragraphs = (self.help or "").split("\n\n")
        shown = [paragraphs[0], *(each for each in paragraphs if each.startswith(VERBATIM))]
        formatter.write("".join(f"\n{textwrap.indent(each.removeprefix(VERBATIM), '  ')}\n" for each in shown))
        rows = [(each.label, each.text) for each in self.params if isinstance(each, Argument)]
        usual = (each for each in self.params if isinstance(each, Option) and each.name in USUAL)
        rows += [row for each in usual if (row := each.get_help_record(ctx)) is not None]
        rows.append(("--help-all", "Show all flags, and more about each."))
        room = formatter.width - max(len(name) for name, _ in rows) - 4
        with formatter.section("Arguments and flags" if rows[0][0][0] != "-" else "Flags"):
            formatter.write_dl(
                [
                    (name, textwrap.shorten(text.split(". ")[0].rstrip("."), room, placeholder="…"))
                    for name, text in rows
                ]
            )
        return formatter.getvalue().rstrip("\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and flags, each group of flags with its title."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.params:
            if isinstance(each, Argument):
                sections.setdefault("Arguments", []).append((each.label, each.text))
            elif (record := each.get_help_record(ctx)) is not None:
                group = each.group if isinstance(each, Option) else None
                sections.setdefault(group[1].TITLE if group is not None else "Flags", []).append(record)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Call:
        """Return the call, completed by the manifest of the project."""
        given = {name: value for name, value in ctx.params.items() if value not in ((), None) and value is not False}
        given.pop("debug", None)
        if isinstance(limits := given.get("limit"), tuple):  # --limit of a list is a number
            given["limit"] = dict(self._limit(ctx, each) for each in cast("tuple[str, ...]", limits))
        arguments: list[str] = []
        for each in self.params:
            if isinstance(each, Argument) and each.name in given:
                value = given.pop(each.name)
                arguments += value if each.nargs == -1 else [value]
        given = _with_project(
            given, {each.name for each in self.params if isinstance(each, Option) and of_project(each)}
        )
        return Call(self.function, arguments, _grouped(self.params, given))

    def _limit(self, ctx: click.Context, given: str) -> tuple[str, Any]:
        """Return the name and the value of a limit that is given as ``NAME=VALUE``."""
        name, _, text = given.partition("=")
        name = name.strip().replace("-", "_")
        limits = next(flags.LIMITS for each in self.params if (flags := limit_flags(each)) is not None)
        if name in limits.model_fields:
            flag = next(each for each in self.params if each.name in (name, "limit"))
            return name, LimitType(limits, name).convert(text, flag, ctx)
        raise click.BadParameter(f"there is no limit {name!r}", ctx, param_hint="--limit")


def _show_all(ctx: click.Context, option: click.Parameter, asked: bool) -> None:
    """Show the whole help of a command if it is asked for."""
    if asked and not ctx.resilient_parsing:
        ctx.meta[str(option.name)] = True
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=_show_all
)


def _with_project(given: Mapping[str, Any], flags: set[str]) -> dict[str, Any]:
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
    if "limit" in flags:
        limits = project.manifest.limits.model_dump(exclude_unset=True)
        found["limit"] = {each: value for each, value in limits.items() if each not in given} | given.get("limit", {})
    for name, value in project.flags().items():
        own = given.get(name, ())
        if name not in flags or (name in _MODELS and given.get("offline")) or (name == "approve" and own):
            continue
        if isinstance(value, tuple):
            found[name] = (*value, *(each for each in own if each not in value))
        else:
            found.setdefault(name, value)
    return found | {"loaded": project}


def _grouped(parameters: Sequence[click.Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call: flags of a group as an instance of its class, if any of them is given.

    A class with a field ``loaded`` receives the project, one with limits a dict of them.
    """
    keywords: dict[str, Any] = {}
    groups: dict[tuple[str, Any], dict[str, Any]] = {}
    for each in parameters:
        group = each.group if isinstance(each, Option) else None
        value = {each.name: given[each.name]} if each.name in given else {}
        if group is None:
            keywords |= value
        elif value or (each.name == "project" and "loaded" in given):
            values = groups.setdefault(group, {})
            if issubclass(group[1], LimitFlags):
                value = value.get("limit", value)
                values = values.setdefault("given", {})
            values.update(value)
    for (name, group), values in groups.items():
        project = {"loaded": given["loaded"]} if "loaded" in given and hasattr(group, "loaded") else {}
        keywords[name] = group(**values, **project)
    return keywords


class _Group(click.Group):
    """A group of commands, which are listed in their order and, if none is named, explained."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(
            name,
            help=text,
            callback=self._explain,
            invoke_without_command=True,
            subcommand_metavar="COMMAND [ARGUMENTS] [FLAGS]",
            options_metavar="",
            context_settings=SETTINGS,
            epilog="COMMAND --help shows the arguments and flags of a command.",
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most used first."""
        return list(self.commands)

    def _explain(self) -> None:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            click.echo(context.get_help())


def _tree() -> tuple[_Group, dict[str, Leaf]]:
    root = click.version_option(__version__, "--version", "-V", message="leadhand %(version)s")(
        _Group("leadhand", DESCRIPTION)
    )
    groups = {name: _Group(name, text) for name, text in GROUPS.items()}
    leaves: dict[str, Leaf] = {}
    for words, (module, summary) in COMMANDS.items():
        leaves[words] = Leaf(words, module, summary)
        group = words.rpartition(" ")[0]
        if group and group not in root.commands:
            root.add_command(groups[group])
        (groups[group] if group else root).add_command(leaves[words])
    return root, leaves


LEADHAND, LEAVES = _tree()
"""The command ``leadhand``, and the commands by their words."""
