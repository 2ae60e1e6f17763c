"""The names of commands and flags are promises: scripts depend on them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from leadhand.cli.catalogue import COMMANDS

FILES = ("--agent", "--hooks", "--project")
COMMON = {"--home", "--database", "--debug"}
OUTPUT = {"--json", "--stream-json"}
NEW_LIMITS = {"--budget", "--timeout", "--max-requests", "--max-tokens", "--max-turns", "--limit"}
FLAGS: dict[str, set[str]] = {
    "run": COMMON
    | {"--check", "--strict", "--worker-calls"}
    | OUTPUT
    | {"--model", "--lead-model", "--worker-model", "--review-model", "--offline"}
    | {"--max-steps", "--max-workers", "--batch-size", "--budget", "--timeout", "--max-output-tokens"}
    | {"--allow-unknown-price", "--approval-timeout", "--max-requests", "--max-tokens"}
    | {"--attempt-timeout", "--model-patience"}
    | {"--budget-per-day", "--budget-total", "--limit"}
    | {"--name", "--priority", "--tag", "--instructions", "--only-tool", "--plan-only", "--approve-plan"}
    | {
        "--approve",
        "--continue",
        "--detach",
        "--documents",
        "--only-documents",
        "--tools",
        "--flow",
        "--flows",
        "--option",
        "--output-schema",
        *FILES,
        "--worker",
        "--solo",
        "--inputs",
    },
    "report": COMMON
    | {"--check", "--strict", "--worker-calls"}
    | OUTPUT
    | {"--model", "--lead-model", "--worker-model", "--review-model", "--offline"}
    | {"--max-steps", "--max-workers", "--batch-size", "--budget", "--timeout", "--max-output-tokens"}
    | {"--allow-unknown-price", "--approval-timeout", "--max-requests", "--max-tokens"}
    | {"--attempt-timeout", "--model-patience"}
    | {"--budget-per-day", "--budget-total", "--limit"}
    | {
        "--approve",
        "--continue",
        "--detach",
        "--documents",
        "--only-documents",
        "--tools",
        "--flows",
        "--option",
        *FILES,
    }
    | {"--max-revisions", "--no-review", "--stage", "--output-schema", "--name", "--priority", "--tag"}
    | {"--instructions", "--only-tool", "--plan-only", "--approve-plan"},
    "research": COMMON
    | {"--check", "--strict", "--worker-calls"}
    | OUTPUT
    | {"--model", "--lead-model", "--worker-model", "--review-model", "--offline"}
    | {"--max-steps", "--max-workers", "--batch-size", "--budget", "--timeout", "--max-output-tokens"}
    | {"--allow-unknown-price", "--approval-timeout", "--max-requests", "--max-tokens"}
    | {"--attempt-timeout", "--model-patience"}
    | {"--budget-per-day", "--budget-total", "--limit"}
    | {"--approve", "--detach", "--documents", "--only-documents", "--tools", "--flows", "--option", *FILES}
    | {"--max-turns", "--continue", "--output-schema"}
    | {"--name", "--priority", "--tag"}
    | {"--instructions", "--only-tool", "--plan-only", "--approve-plan"},
    "answer": COMMON | OUTPUT | {"--tools", "--flows", *FILES},
    "work": COMMON
    | {"--check", "--strict", "--worker-calls"}
    | {"--model", "--lead-model", "--worker-model", "--review-model", "--offline"}
    | {"--documents", "--tools", "--flows", "--concurrency", "--grace", *FILES},
    "serve": COMMON
    | {"--check", "--strict", "--worker-calls"}
    | {"--host", "--port", "--open", "--cors", "--allow-host", "--require-key", "--root-path"}
    | {"--model", "--lead-model", "--worker-model", "--review-model", "--offline"}
    | {"--max-steps", "--max-workers", "--batch-size", "--budget", "--timeout", "--max-output-tokens"}
    | {"--allow-unknown-price", "--approval-timeout", "--max-requests", "--max-tokens"}
    | {"--attempt-timeout", "--model-patience"}
    | {"--budget-per-day", "--budget-total", "--limit"}
    | {"--approve", "--documents", "--only-documents", "--tools", "--flows", "--concurrency", *FILES},
    "runs list": COMMON | {"--status", "--flow", "--search", "--tag", "--sort", "--limit", "--json"},
    "runs show": COMMON | {"--json", "--call", "--seq", "--full"},
    "runs open": COMMON | {"--url"},
    "runs watch": COMMON | OUTPUT,
    "runs resume": COMMON | OUTPUT | NEW_LIMITS | {"--all", "--tools", "--flows", *FILES},
    "runs pause": COMMON | {"--flows", *FILES},
    "runs cancel": COMMON | {"--flows", *FILES},
    "runs retry": COMMON | OUTPUT | NEW_LIMITS | {"--subtask", "--args", "--yes", "--tools", "--flows", *FILES},
    "runs skip": COMMON | OUTPUT | {"--subtask", "--reason", "--tools", "--flows", *FILES},
    "runs supply": COMMON | OUTPUT | {"--subtask", "--summary", "--result", "--tools", "--flows", *FILES},
    "runs fork": COMMON | OUTPUT | NEW_LIMITS | {"--at", "--yes", "--tools", "--flows", *FILES},
    "runs export": COMMON | {"--jsonl", "--json", "--md", "--html", "--output"},
    "runs delete": COMMON | {"--yes"},
    "runs label": COMMON | {"--name", "--tag", "--untag"},
    "runs prune": COMMON | {"--older-than", "--keep-runs", "--dry-run", "--project"},
    "approvals list": COMMON | {"--json"},
    "approvals approve": COMMON | {"--args", "--always", "--reason", "--flows", *FILES},
    "approvals deny": COMMON | {"--reason", "--flows", *FILES},
    "approvals settle": COMMON | {"--happened", "--did-not", "--summary", "--result", "--flows", *FILES},
    "tools list": {"--tools", "--project", "--json", "--debug"},
    "tools show": {"--tools", "--project", "--json", "--debug"},
    "signal": COMMON,
    "tools call": COMMON | {"--documents", "--only-documents", "--tools", "--offline", "--json"},
    "workers list": {"--json", "--project", "--debug"},
    "workers promote": {"--run", "--digest", "--project", "--debug"},
    "workers schema": {"--debug"},
    "hosts list": COMMON | {"--json"},
    "keys create": COMMON
    | {
        "--scope",
        "--json",
        "--budget",
        "--budget-per-day",
        "--budget-total",
        "--limit",
        "--max-runs",
        "--max-workers",
        "--max-running-steps",
    },
    "keys list": COMMON | {"--json"},
    "keys revoke": COMMON | {"--json"},
    "backup": COMMON,
    "completion": {"--debug"},
    "init": {"--debug"},
    "doctor": COMMON | {"--json"},
}


def test_the_help_says_what_pauses_and_what_cancels(leadhand: Any) -> None:
    assert "Pause a run" in leadhand("runs", "pause", "--help").out
    assert "Cancel a run" in leadhand("runs", "cancel", "--help").out


def test_every_command_is_pinned() -> None:
    assert COMMANDS.keys() == FLAGS.keys()


@pytest.mark.parametrize("command", FLAGS)
def test_every_flag_is_pinned_and_explained(leadhand: Any, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    result = leadhand(*command.split(), "--help-all")

    assert result.code == 0
    told: dict[str, str] = dict(re.findall(r"^  (--[a-z-]+)(.*(?:\n    .*)*)", result.out, re.MULTILINE))
    assert told.keys() == FLAGS[command]
    assert all(len(words.split()) > 2 for words in told.values())
    narrow = [
        line for line in help_at(80, leadhand, monkeypatch, command) if not re.match(r"    (leadhand|eval) ", line)
    ]
    assert max(map(len, narrow)) <= 80
    assert not re.search(r"[│╭╰\x1b]", result.out)
    assert len(narrow) <= 40


def help_at(columns: int, leadhand: Any, monkeypatch: pytest.MonkeyPatch, command: str) -> list[str]:
    """The help of a command on a terminal of so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    return leadhand(*command.split(), "--help").out.splitlines()


@pytest.mark.parametrize("line", [[], ["--help"], ["-h"]])
def test_help_names_every_command(leadhand: Any, line: list[str]) -> None:
    result = leadhand(*line)

    assert result.code == 0
    for word in ("run ", "serve ", "runs ", "approvals ", "tools ", "hosts ", "keys ", "doctor "):
        assert f"\n  {word}" in result.out
    assert "\n  resume " in leadhand("runs").out
