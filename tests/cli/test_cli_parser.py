"""The parser: which command a line calls, and with what."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from leadhand.cli.commands.run import Job
from leadhand.cli.options import DriverFlags, LimitFlags, ModelFlags, Output
from leadhand.cli.parser import Call, parse

LINES: list[tuple[str, str, list[str], dict[str, Any]]] = [
    ("run hello", "run", ["hello"], {}),
    ("run 'several words' --offline", "run", ["several words"], {"models": ModelFlags(offline=True)}),
    ("run --offline", "run", [], {"models": ModelFlags(offline=True)}),
    (
        "run --offline hello --json",
        "run",
        ["hello"],
        {"models": ModelFlags(offline=True), "output": Output(json=True)},
    ),
    (
        "run hello --model=ollama:llama3.1 --lead-model x --worker-model y --review-model z",
        "run",
        ["hello"],
        {"models": ModelFlags(model="ollama:llama3.1", lead_model="x", worker_model="y", review_model="z")},
    ),
    (
        "run hello --max-steps 2 --max-workers=100 --batch-size 5 --budget 0.5 --timeout 60",
        "run",
        ["hello"],
        {"limits": LimitFlags(
            given={"max_steps": 2, "max_workers": 100, "batch_size": 5, "budget": 0.5, "timeout": 60.0}
        )},
    ),
    (
        "run hello --budget 1e-3 --approve never --detach",
        "run",
        ["hello"],
        {"limits": LimitFlags(given={"budget": 0.001}), "job": Job(approve=("never",), detach=True)},
    ),
    (
        "run hello --approve ask --approve 'tool:send_*=auto' --approval-timeout 60 --allow-unknown-price",
        "run",
        ["hello"],
        {
            "job": Job(approve=("ask", "tool:send_*=auto")),
            "limits": LimitFlags(given={"approval_timeout": 60.0, "allow_unknown_price": True}),
        },
    ),
    ("run hello --budget 1 --budget 2", "run", ["hello"], {"limits": LimitFlags(given={"budget": 2.0})}),
    ("run hello --home= --model=", "run", ["hello"], {"store": DriverFlags(home=""), "models": ModelFlags(model="")}),
    ("run -- --not-a-flag", "run", ["--not-a-flag"], {}),
    ("run -- --help", "run", ["--help"], {}),
    ("run --json -- '-5 degrees?'", "run", ["-5 degrees?"], {"output": Output(json=True)}),
    ("run - --budget 2", "run", ["-"], {"limits": LimitFlags(given={"budget": 2.0})}),
    ("run x --max-requests 7 --max-tokens 9", "run", ["x"], {
        "limits": LimitFlags(given={"max_requests": 7, "max_tokens": 9})
    }),
    ("run --json -- -", "run", ["-"], {"output": Output(json=True)}),
    ("run ''", "run", [""], {}),
    ("run - --json", "run", ["-"], {"output": Output(json=True)}),
    (
        "run hello --tools a.py --tools b.c --home /tmp/x --database sqlite:///x.db --debug",
        "run",
        ["hello"],
        {
            "job": Job(tools=("a.py", "b.c")),
            "store": DriverFlags(home="/tmp/x", database="sqlite:///x.db"),
        },
    ),
    ("approvals approve 1a2b --args '{}' --always --reason 'why not'", "approvals_approve", ["1a2b"], {
        "args": "{}", "always": True, "reason": "why not"
    }),
    ("approvals settle run_01:wo-001.0/t0/c0 --did-not", "approvals_settle", ["run_01:wo-001.0/t0/c0"], {
        "did_not": True
    }),
    ("runs list --status running --search x --limit 5 --json", "runs_list", [], {
        "status": "running", "search": "x", "limit": 5, "json": True
    }),
    ("runs show run_01 --seq 3", "runs_show", ["run_01"], {"seq": 3}),
    ("runs fork run_01 --at 3", "runs_fork", ["run_01"], {"at": 3}),
    ("runs export run_01 --output -", "runs_export", ["run_01"], {"output": "-"}),
    (
        "tools call --json weather_tool location=Paris --offline days=2",
        "tools_call",
        ["weather_tool", "location=Paris", "days=2"],
        {"json": True, "offline": True},
    ),
    ("doctor --json", "doctor", [], {"json": True}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "name", "arguments", "flags"), LINES, ids=[line for line, *_ in LINES])
def test_a_line_calls_its_command(line: str, name: str, arguments: list[str], flags: dict[str, Any]) -> None:
    call = parse(shlex.split(line))

    assert isinstance(call, Call)
    assert (call.function.__name__, call.arguments, call.flags) == (name, arguments, flags)


@pytest.mark.parametrize("line", ["", "--help", "runs", "runs -h", "run --help", "help runs show"])
def test_help_is_shown(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(shlex.split(line)) is None
    assert "Usage: leadhand" in capsys.readouterr().out
