"""Which commands there are, what each does in one line, and where its code is. Nothing here imports a command."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

CommandFunction = Callable[..., Coroutine[Any, Any, int]]
"""What a command is: a coroutine function that returns an exit code. Its parameters are its arguments and flags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command: the words that call it, its code (``module`` below ``leadhand.cli.commands``), and its help."""

    words: tuple[str, ...]
    module: str
    summary: str
    details: str = ""

    def load(self) -> CommandFunction:
        """Its function, which is called as the module is."""
        return getattr(importlib.import_module(f"leadhand.cli.commands.{self.module}"), self.module)


GROUPS = {
    "approvals": "Look at what runs ask people, and answer.",
    "hosts": "Look at the processes that drive runs.",
    "keys": "Make API keys, look at them, revoke them.",
    "runs": "Look at runs and steer them.",
    "tools": "Look at tools, and try one by hand.",
}


def _command(words: str, summary: str, details: str = "") -> Command:
    return Command(words=tuple(words.split()), module=words.replace(" ", "_"), summary=summary, details=details)


COMMANDS = (
    _command(
        "run",
        "Carry a request out and print the answer.",
        "The request is planned as a work order, carried out by workers in parallel, reviewed, and answered. The answer"
        " goes to stdout, progress to stderr. Ctrl-C parks the run and says how to resume it.\n\nExits with 0 answered,"
        " 1 failed, 2 wrong usage, 3 answered in part, 4 waiting for a person's yes, 5 budget or time used up,"
        " 6 configuration or credentials, 130 interrupted.",
    ),
    _command(
        "serve",
        "Serve the API and the console on this machine.",
        "Runs that are started there survive the server: the next one goes on with them. On another address than this"
        " machine's own it wants a key: leadhand keys create.",
    ),
    _command("runs list", "List runs, newest first."),
    _command("runs show", "Show what became of a run."),
    _command(
        "runs watch",
        "Follow a run until it ends.",
        "Ctrl-C stops watching; the run goes on. Exits with the run's own code.",
    ),
    _command(
        "runs resume",
        "Go on with a run that was parked or left behind.",
        "What is finished stays finished; only what is missing is carried out.",
    ),
    _command("runs pause", "Park a run: what is finished is kept."),
    _command("runs cancel", "End a run for good."),
    _command(
        "runs retry",
        "Have subtasks done again, and what waited for them.",
        "What is finished is not done again. A run that was over goes on, and comes to another answer; the earlier ones"
        " stay on record. When another process drives the run, it goes on with it there; else here, until the run is"
        " over or rests.",
    ),
    _command(
        "runs skip",
        "Leave a subtask undone.",
        "One that is not under way, such as one that waits for a yes. It is a gap of the answer.",
    ),
    _command(
        "runs supply",
        "Give the result of a subtask by hand.",
        "One that failed or has not begun. Your word counts as evidence of a person; what needs the result goes on. A"
        " run that was over comes to another answer.",
    ),
    _command(
        "runs fork",
        "Make another run that begins as one did, up to an event.",
        "The first run is left alone. What it did after the event that cannot be taken back, the fork may do again: it"
        " is listed, and asked about.",
    ),
    _command("runs export", "Write a run as lines of JSON, or as one page of HTML."),
    _command(
        "approvals list",
        "List the open questions of all runs, newest first.",
        "Each with the call, where its arguments came from, what it does and costs, who asks, and when silence becomes"
        " a no.",
    ),
    _command(
        "approvals approve",
        "Say yes to a call.",
        "The yes is bound to the arguments that were shown, and counts once. It works from anywhere: a process that"
        " drives the run goes on with it; else the line is printed that resumes the run.",
    ),
    _command("approvals deny", "Say no to a call; the lead is told the reason."),
    _command(
        "approvals settle",
        "Say what became of a call that had begun and whose end nobody saw.",
        "Such a call is never made again unasked. If it happened it counts as made, with the result you give; if not,"
        " it may be made again.",
    ),
    _command("tools list", "List the tools a lead can plan with."),
    _command("tools show", "Show one tool: what it does and takes."),
    _command("tools call", "Call a tool by hand, as a worker would."),
    _command(
        "hosts list",
        "List the processes that are alive and drive runs, and which.",
        "A process is seen from the moment it takes a run on until it lets go of it, or dies.",
    ),
    _command(
        "keys create",
        "Make an API key, and show it once.",
        "The key alone goes to stdout. Only its digest is kept, so it cannot be shown again: a key that is lost is"
        " revoked, and another one made. The scopes run and approve include read; admin includes all.",
    ),
    _command("keys list", "List API keys, newest first; never the keys themselves."),
    _command(
        "keys revoke",
        "Have an API key open nothing any more.",
        "It cannot be taken back. The key stays in the list, as one that was revoked.",
    ),
    _command("doctor", "Say what is wrong with this set-up and how to mend it."),
)
BY_WORDS = {command.words: command for command in COMMANDS}
