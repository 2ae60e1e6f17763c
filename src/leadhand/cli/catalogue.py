"""The commands: words, module, one-line summary and help. Nothing here imports a command."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

CommandFunction = Callable[..., Coroutine[Any, Any, int | None]]
"""A command: a coroutine function that returns an exit code (None: 0). Its parameters are its arguments and flags."""


class Command(NamedTuple):
    """A command: the words that call it, the module of ``leadhand.cli.commands`` that holds it, and its help.

    Its function is called as its words are: ``runs_list`` for ``runs list``.
    """

    words: tuple[str, ...]
    module: str
    summary: str
    details: str = ""
    examples: tuple[str, ...] = ()

    def load(self) -> CommandFunction:
        """Import the command's function."""
        return getattr(importlib.import_module(f"leadhand.cli.commands.{self.module}"), "_".join(self.words))


GROUPS = {
    "runs": "List, watch and steer runs.",
    "approvals": "List and answer approval requests.",
    "tools": "List tools, and call one by hand.",
    "workers": "List the workers of a project, and promote generated ones.",
    "hosts": "List the processes that are driving runs.",
    "keys": "Create, list and revoke API keys.",
}


def _command(words: str, summary: str, details: str = "", *examples: str, module: str = "") -> Command:
    named = tuple(words.split())
    return Command(words=named, module=module or named[0], summary=summary, details=details, examples=examples)


COMMANDS = (
    _command(
        "run",
        "Run a request and print the answer.",
        "Leadhand plans the request, runs its subtasks in parallel, reviews the results and writes the answer. The"
        " answer goes to stdout; progress, and what the answer rests on, to stderr. Ctrl-C pauses the run and prints"
        " the command that resumes it.\n\n"
        "Exit codes: 0 answered, 1 failed, 2 usage error, 3 partial answer, 4 waiting for a person, 5 budget or time"
        " used up, 6 configuration or credentials, 130 interrupted.",
        'leadhand run "What is the weather in Paris?"',
        'leadhand run --offline --json "Weather in Lyon, Nice and Lille"',
        'leadhand run --tools tools.py --approve ask "Pay the open invoices"',
    ),
    _command(
        "report",
        "Write a report on a topic.",
        "Leadhand plans the report, researches its questions in parallel, writes it with citations, has a model compare"
        " every claim with its sources, reviews it and revises it. The report goes to stdout, progress to stderr. Exit"
        " codes are those of run.",
        'leadhand report "Heat pumps in old houses"',
        'leadhand report --max-revisions 2 --stage writer.instructions=@style.md "Heat pumps in old houses"',
        'leadhand report --agent checks.py:FactChecker --no-review "Heat pumps in old houses"',
    ),
    _command(
        "research",
        "Answer a question by research.",
        "A lead plans the research and has subagents search, in parallel. It reads what they found, asks for more where"
        " something is missing, and answers. A model compares each claim of the answer with the passages that it cites."
        " The answer goes to stdout, progress to stderr. Exit codes are those of run.",
        'leadhand research "How do heat pumps perform in old houses?"',
        'leadhand research --max-turns 20 --documents ~/house "What did we spend on the heating?"',
    ),
    _command(
        "answer",
        "Answer the question that a run waits for, and continue the run.",
        "The answer of the run goes to stdout, progress to stderr. On a terminal, a run with a question prompts"
        " for the answer itself. Exit codes are those of run.",
        'leadhand answer 01jd3vq8xk2m "Lisbon, from 3 to 9 March"',
    ),
    _command(
        "signal",
        "Send a signal to a run, whose flow waits for it.",
        "A flow waits with run.wait_for(NAME), and receives the value. A signal that comes before is kept for it.",
        "leadhand signal 01jd3vq8xk2m paid",
        """leadhand signal 01jd3vq8xk2m paid '{"amount": 12.5}'""",
    ),
    _command(
        "work",
        "Carry out the work of runs on this machine.",
        "A host takes work of every run in a PostgreSQL database: it carries out steps beside the process that"
        " drives the run, and drives runs in the background. Start as many hosts as you like, on any machine. On"
        " SIGTERM it takes nothing new and finishes what it has.",
        "leadhand work --database postgresql://leadhand@db.example.org/leadhand",
        "leadhand work --tools tools.py --concurrency 50",
    ),
    _command(
        "serve",
        "Serve the HTTP API and the console.",
        "Runs started here survive the server: the next server on the same database resumes them. To listen on an"
        " address other machines can reach, create an API key first: leadhand keys create.",
        "leadhand serve --open",
        "leadhand serve --host 0.0.0.0 --port 8000",
    ),
    _command(
        "runs list",
        "List runs, newest first.",
        "A search finds the runs that have all of its words, or words that begin with them. Of a run that is running,"
        " only the name and request are searched.",
        'leadhand runs list --search "SKU-0042 timeout"',
        "leadhand runs list --sort cost --tag team=data --status failed",
    ),
    _command(
        "runs show",
        "Show a run: what is missing, status, steps, artifacts and answer.",
        "Of a large run, the subtasks that need attention are listed, and a terminal gets the beginning of a long"
        " answer.",
        "leadhand runs show 01jd3vq8xk2m",
        "leadhand runs show 01jd3vq8xk2m --failed",
        "leadhand runs show 01jd3vq8xk2m --full",
        module="runs_show",
    ),
    _command(
        "runs open",
        "Open a run in the console of a running server.",
        "",
        "leadhand runs open 01jd3vq8xk2m",
        module="runs_show",
    ),
    _command(
        "runs watch",
        "Follow a run until it ends.",
        "Ctrl-C stops watching; the run continues. Exits with the code of the run.",
    ),
    _command(
        "runs resume",
        "Resume a run that was paused or whose process died.",
        "Finished subtasks are kept; only the rest runs.",
        module="runs_control",
    ),
    _command("runs pause", "Pause a run. Finished subtasks are kept.", module="runs_control"),
    _command("runs cancel", "Cancel a run for good.", module="runs_control"),
    _command(
        "runs retry",
        "Retry subtasks and everything that depends on them.",
        "Other finished subtasks are kept. A run that has ended is reopened and writes a new answer; earlier answers"
        " stay in its log. If another process is driving the run, that process does the work; otherwise this one does.",
        module="runs_control",
    ),
    _command(
        "runs skip",
        "Skip a subtask.",
        "A running subtask cannot be skipped; one that is waiting for approval can. The answer lists it as a gap.",
        module="runs_control",
    ),
    _command(
        "runs supply",
        "Enter the result of a subtask by hand.",
        "Works for a subtask that failed or has not started. The log records that you supplied the result, and "
        "subtasks that depend on it continue. A run that has ended is reopened and writes a new answer.",
        module="runs_control",
    ),
    _command(
        "runs fork",
        "Start a new run from an event of an earlier one.",
        "The earlier run does not change. If it made irreversible calls after that event, the fork may repeat them:"
        " they are listed, and you are asked to confirm.",
        module="runs_control",
    ),
    _command(
        "runs export",
        "Export a run as JSON lines, a JSON document, Markdown or one HTML page.",
        "",
        "leadhand runs export run_01jd > run.jsonl",
        "leadhand runs export run_01jd --html --output run.html",
        "leadhand runs export run_01jd --md --output run.md",
    ),
    _command(
        "runs delete",
        "Delete a run: its events, artifacts and files.",
        "This cannot be undone. The space is given back. A damaged run can be deleted, too; a run"
        " that a process is driving cannot.",
        module="upkeep",
    ),
    _command(
        "runs label",
        "Name a run, and set or remove tags.",
        "",
        "leadhand runs label 01jd3vq8xk2m --name nightly --tag team=data --untag draft",
        module="upkeep",
    ),
    _command(
        "runs prune",
        "Delete finished runs that are old or too many.",
        "This cannot be undone. Runs that have not finished are kept. Without --older-than and --keep-runs, [retention]"
        " in leadhand.toml says which runs are kept; leadhand serve applies it once an hour.",
        "leadhand runs prune --older-than 30d --dry-run",
        "leadhand runs prune --older-than 30d",
        module="upkeep",
    ),
    _command(
        "approvals list",
        "List the pending approvals of all runs, newest first.",
        "Each request shows the call, the origin of its arguments, its effect and cost, the requester and the "
        "deadline.",
    ),
    _command(
        "approvals approve",
        "Approve a call.",
        "An approval covers exactly one call with exactly the arguments shown. You can approve from any machine that"
        " reaches the database: the process that is driving the run continues. If no process is driving it, Leadhand"
        " prints the command that resumes it.",
    ),
    _command("approvals deny", "Deny a call. The lead sees your reason."),
    _command(
        "approvals settle",
        "Say whether an interrupted irreversible call went through.",
        "Leadhand never repeats such a call on its own. If it went through, it counts as made, with the result you "
        "enter; if it did not, the worker can make it again.",
    ),
    _command("tools list", "List the tools a run can use."),
    _command("tools show", "Show one tool: description and arguments."),
    _command(
        "tools call",
        "Call a tool by hand, as a worker would.",
        "Leadhand checks the arguments, applies the timeout and classifies a failure, as in a run.",
        'leadhand tools call weather_tool location="Paris, France" day=tomorrow --offline',
    ),
    _command("workers list", "List the workers of the project: declared ones, then generated ones."),
    _command("workers show", "Show the file of a worker."),
    _command(
        "workers promote",
        "Promote a generated worker, so that later runs know it.",
        "Shows what changes, asks, copies the file of the worker to those that the project declares, and adds it to"
        " worker_files in leadhand.toml. Everything else in leadhand.toml, also comments, stays as it is.",
    ),
    _command(
        "workers schema",
        "Print the JSON schema of worker files, for editors.",
        "",
        "leadhand workers schema > worker.schema.json",
    ),
    _command(
        "hosts list",
        "List the processes that are driving runs.",
        "A process is listed from the moment it takes a run until it releases the run or dies. On PostgreSQL, servers"
        " and hosts without a run are listed, too, and so are the runs that wait for a process.",
    ),
    _command(
        "keys create",
        "Create an API key and show it once.",
        "Only the key goes to stdout. Leadhand stores its digest, so a lost key cannot be shown again: revoke it and"
        " create another. The scopes run and approve include read; admin includes all.",
        'leadhand keys create "Ann\'s laptop"',
        "leadhand keys create dashboard --scope read",
    ),
    _command("keys list", "List API keys, newest first, without the secrets."),
    _command("keys revoke", "Revoke an API key.", "This cannot be undone. The key stays in the list."),
    _command(
        "backup",
        "Copy the database and its artifacts to a file.",
        "Runs may continue meanwhile: the copy is of one moment. The copy is a database of its own: look into it with"
        " --database FILE. For PostgreSQL, use pg_dump.",
        "leadhand backup leadhand-$(date +%F).db",
        module="upkeep",
    ),
    _command(
        "completion",
        "Print the completion script of a shell.",
        "Commands, flags, their values, files and the ids of runs are completed.",
        'eval "$(leadhand completion bash)"    # in ~/.bashrc',
        'eval "$(leadhand completion zsh)"     # in ~/.zshrc, after compinit',
        "leadhand completion fish > ~/.config/fish/completions/leadhand.fish",
    ),
    _command(
        "init",
        "Write the files of a new project.",
        "A manifest (leadhand.toml), a tool, a worker, and a test of them. No file is replaced.",
        "leadhand init support",
    ),
    _command("doctor", "Check this installation and suggest fixes."),
)
BY_WORDS = {command.words: command for command in COMMANDS}
