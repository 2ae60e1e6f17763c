"""``leadhand init``, ``doctor`` and ``completion``: set up a project, this installation and a shell."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from click.shell_completion import get_completion_class

from leadhand import __version__
from leadhand.app.export.formatting import one_line, sentence
from leadhand.app.project.scaffold import write_project
from leadhand.app.runtime.checks import Finding, examine
from leadhand.app.settings import settings
from leadhand.cli.dispatch import Exit
from leadhand.cli.options import Flag, StoreFlags
from leadhand.cli.parser import COMPLETING, LEADHAND
from leadhand.cli.run_lookup import how_to_resume
from leadhand.cli.terminal.streams import err_is_terminal, say, write, write_json, write_line

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


async def doctor(
    *,
    json: Annotated[bool, Flag("Print a JSON array of findings: check, level (ok, warn, fail), what, how.")] = False,
    store: StoreFlags = StoreFlags(),
) -> int:
    """Check this installation and suggest fixes."""
    findings: list[Finding] = []
    set_up = settings(home=store.home, database=store.database)
    async for finding in examine(set_up, __version__, lambda log, orphans: how_to_resume(log, orphans, store)):
        findings.append(finding)
        if not json:
            write_line(f"{MARKS[finding.level]}  {finding.check:<9} {one_line(finding.what)}")
            if finding.how:
                write_line(f"{'':<16}{sentence(finding.how)}")
    levels = Counter(finding.level for finding in findings)
    if json:
        write_json([asdict(finding) for finding in findings])
    elif err_is_terminal():
        say(f"{levels['ok']} passed, {levels['warn']} warnings, {levels['fail']} failed")
    return Exit.CONFIGURATION if levels["fail"] else Exit.ANSWERED


async def init(directory: Annotated[str, Flag("The directory of the project.", "DIR")] = ".", /) -> None:
    """Write the files of a new project.

    A manifest (leadhand.toml), a tool, a worker, and a test of them. No file is replaced.
    """
    for file in write_project(Path(directory)):
        write_line(str(file))
    if Path(directory) != Path():
        say(f"Go there: cd {shlex.quote(directory)}")
    say('Try it: leadhand run --offline "opening hours on Saturday"')


async def completion(shell: Annotated[str, Flag("The shell.", choices=("bash", "zsh", "fish"))], /) -> None:
    """Print the completion script of a shell.

    Commands, flags, their values, files and the ids of runs are completed.

    Examples:
      eval "$(leadhand completion bash)"    # in ~/.bashrc
      eval "$(leadhand completion zsh)"     # in ~/.zshrc, after compinit
      leadhand completion fish > ~/.config/fish/completions/leadhand.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    write(script(LEADHAND, {}, "leadhand", COMPLETING).source())
