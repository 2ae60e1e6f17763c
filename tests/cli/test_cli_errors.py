"""Whatever is wrong: one line what, one line how, the right code, and never a traceback unless it is asked for."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.app import main

BAD = [
    (2, "invalid value for --max-steps: 0", "Give a number from 1 to 100.", "run --max-steps 0 x"),
    (2, "invalid value for --max-steps: 101", "Give a number from 1 to 100.", "run --max-steps 101 x"),
    (2, "invalid value for --max-steps: '1.5'", "Give a whole number.", "run --max-steps 1.5 x"),
    (2, "invalid value for --max-workers: 1000000", "Give a number from 1 to 10,000.", "run --max-workers 1000000 x"),
    (2, "invalid value for --max-workers: 0", "Give a number from 1 to 10,000.", "run --max-workers 0 x"),
    (2, "invalid value for --batch-size: 0", "Give a number from 1 to 1,000,000.", "run --batch-size 0 x"),
    (2, "invalid value for --budget: -1", "Give a number from 0 to 1,000,000.", "run --budget -1 x"),
    (2, "invalid value for --budget: 'abc'", "Give a number.", "run --budget abc x"),
    (2, "invalid value for --budget: nan", "Give a number from 0 to 1,000,000.", "run --budget nan x"),
    (2, "invalid value for --timeout: 0", "Give a number from 0.001 to 31,622,400.", "run --timeout 0 x"),
    (2, "invalid value for --approve: 'maybe'", "Choose from: ask, auto, never.", "run --approve maybe x"),
    (
        2,
        "--approve names 2 policies: ask and never",
        "Give one policy; rules look like",
        "run --approve ask --approve never x",
    ),
    (2, "invalid value for --approve: 'tool:x'", "Add a policy: tool:x=ask", "run --approve tool:x x"),
    (2, "--approve names tool:x twice", "Give one rule", "run --approve tool:x=ask --approve tool:x=auto x"),
    (2, "unknown kind of approval rule: 'toll:x'", "Start the rule with tool:, tools", "run --approve toll:x=ask x"),
    (
        2,
        "invalid policy for the approval rule 'tool:x': 'maybe'",
        "Choose from: ask, auto",
        "run --approve tool:x=maybe x",
    ),
    (2, "unknown effect in the approval rule 'effect:onec'", "Choose from: pure", "run --approve effect:onec=ask x"),
    (2, "invalid value for --approval-timeout: 0", "Give a number from 0.001", "run --approval-timeout 0 x"),
    (2, "no open approval has the id nope", "It was answered, or has changed.", "approvals approve nope"),
    (2, "the approval id is empty", "List the open approvals: leadhand approvals list", "approvals deny ''"),
    (2, "did the call go through?", "Check the service, then give --happened", "approvals settle x"),
    (
        2,
        "did the call go through?",
        "Check the service, then give --happened",
        "approvals settle x --happened --did-not",
    ),
    (2, "invalid JSON in --args: ", "Quote it: --args", "approvals approve x --args {a"),
    (2, "invalid JSON in --result: ", "Quote it: --result", "approvals settle x --happened --result oops"),
    (2, "--model needs a value", "See: leadhand run --help", "run x --model"),
    (2, "unknown flag: --not-happened", "See: leadhand approvals settle --help", "approvals settle x --not-happened"),
    (2, "unknown flag: --budjet", "Did you mean --budget?", "run x --budjet 3"),
    (2, "too many arguments: b", 'Put a request of several words in quotes: leadhand run "…"', "run a b"),
    (
        2,
        "unknown command: rn",
        "Did you mean leadhand run? Choose from: run, report, research, work, serve,",
        "rn x",
    ),
    (2, "unknown command: shw", "Did you mean leadhand runs show? Choose from: list, show,", "runs shw"),
    (2, "unknown flag: --nope", "See: leadhand --help", "--nope"),
    (2, "home is empty", "Pass a directory, or omit it.", "run --offline --home= x"),
    (2, "home is empty", "Pass a directory, or omit it.", "runs list --home="),
    (2, "database is empty", "Pass a file or a postgresql://… URL", "run --offline --database= x"),
    (2, "model is empty", "Pass provider:name or offline", "run --model= x"),
    (2, "lead_model is empty", "Pass provider:name or offline", "run --model offline --lead-model= x"),
    (2, "unknown flag: -5°?", "Put a request that begins with a dash last, after --: ", "run --offline -5°?"),
    (2, "--json and --stream-json exclude each other", "Give one of them.", "run --json --stream-json x"),
    (2, "--detach and --stream-json exclude each other", "Use leadhand runs watch", "run --detach --stream-json x"),
    (2, "--offline uses the built-in model, and openai:x was named", "Give ", "run --offline --model openai:x y"),
    (2, "no run matches 'nope'", "See: leadhand runs list", "runs show nope"),
    (2, "every run's id begins with 'run_'", "Give more of the id; see: leadhand runs list", "runs show run_"),
    (2, "RUN is missing", "See: leadhand runs show --help", "runs show"),
    (2, "name one run, or use --all", "See: leadhand runs list", "runs resume"),
    (2, "invalid value for --status: 'x'", "Choose from: queued, running, ", "runs list --status x"),
    (2, "invalid value for --limit: 0", "Give 1 or more.", "runs list --limit 0"),
    (2, "--jsonl and --html exclude each other", "Give one of them.", "runs export x --jsonl --html"),
    (2, "--json and --md exclude each other", "Give one of them.", "runs export x --md --json"),
    (2, "unknown tool 'wether_tool'", "Did you mean weather_tool? Available tools: ", "tools show wether_tool"),
    (2, "no Python file nope.py", "Name a file that ends in .py, or a module.", "run --tools nope.py x"),
    (2, "'.' is neither a Python file nor a module", "Name a file that ends in .py, or a module.", "run --tools . x"),
    (2, "./ is a directory", "Name a file that ends in .py, or a module.", "run --tools ./ x"),
    (2, "invalid value for --max-requests: 0", "Give a number from 1 to", "run --max-requests 0 x"),
    (2, "invalid value for --max-tokens: 0", "Give a number from 1 to", "run --max-tokens 0 x"),
    (2, "no module nope.tools", "Name a Python file", "tools list --tools nope.tools"),
    (6, "unknown model 'nope'", "Use provider:model; the providers are", "run --model nope x"),
    (
        6,
        "the key for OpenAI is missing: OPENAI_API_KEY is not set",
        "Set OPENAI_API_KEY,",
        "run --model openai:gpt-9 x",
    ),
    (
        6,
        "cannot open /nope/x.db: there is no directory /nope",
        "Create it with `mkdir -p /nope`, ",
        "run --offline --database /nope/x.db x",
    ),
    (
        6,
        "there is no database /nope/x.db",
        "Name another with --home DIR, --database URL, ",
        "runs list --database sqlite:////nope/x.db",
    ),
    (6, "the database URL begins with mysql://", "Use sqlite:///path", "run --offline --database mysql://x x"),
    (6, "the home directory /dev/null/x is not writable", "Choose another one", "run --offline --home /dev/null/x x"),
    (2, "no manifest /", "Name an existing leadhand.toml, or ", "run --project leadhand.toml x"),
    (2, "--offline takes no value", "See: leadhand run --help", "run --offline=true x"),
    (2, "unknown flag: --jsn", "Did you mean --json?", "tools call weather_tool a=1 --jsn b=2"),
    (2, "unknown command: clean", "Choose from: list, show,", "runs clean --help"),
]


@pytest.mark.parametrize(("code", "what", "how", "line"), BAD, ids=[line for *_, line in BAD])
def test_bad_values_are_told_in_two_lines(leadhand: Any, code: int, what: str, how: str, line: str) -> None:
    result = leadhand(*shlex.split(line))

    assert result.code == code
    assert result.out == ""
    first, second = result.err.splitlines()
    assert first.startswith(f"leadhand: {what}")
    assert second.startswith(f"  {how}")


def test_an_empty_request_is_refused(leadhand: Any) -> None:
    assert "leadhand: the request is empty\n  Example: " in leadhand("run", "--offline", " ").err


def test_half_a_surrogate_pair_is_refused(leadhand: Any) -> None:
    result = leadhand("run", "--offline", "weather in \udcff")

    assert result.code == 2
    assert result.err == "leadhand: the argument 'weather in \\udcff' is not valid UTF-8\n  Encode it as UTF-8.\n"


def test_a_file_of_tools_that_fails_is_a_matter_of_configuration(leadhand: Any, tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text("raise ValueError('boom')")
    (tmp_path / "exits.py").write_text("raise SystemExit(0)")
    (tmp_path / "none.py").write_text("x = 1")

    assert leadhand("tools", "list", "--tools", str(tmp_path / "exits.py")).code == 6
    assert leadhand("tools", "list", "--tools", str(tmp_path / "none.py")).code == 2
    result = leadhand("tools", "list", "--tools", str(tmp_path / "boom.py"))
    assert result.code == 6
    assert result.err.startswith(f"leadhand: {tmp_path / 'boom.py'} cannot be imported: ValueError: boom\n")


def test_debug_shows_the_traceback(leadhand: Any, tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text("raise ValueError('boom')")

    result = leadhand("run", "--debug", "--tools", str(tmp_path / "boom.py"), "x")

    assert result.code == 6
    assert "Traceback (most recent call last)" in result.err


@pytest.mark.parametrize("command", ["runs list", "run --offline x", "runs show x", "runs resume --all"])
def test_a_database_that_is_none_is_left_alone(leadhand: Any, tmp_path: Path, command: str) -> None:
    other = tmp_path / "other.db"
    other.write_text("this is no database, whatever its name says")

    result = leadhand(*command.split(), "--database", str(other))

    assert result.code == 6
    assert "is not a SQLite database" in result.err
    assert len(result.err.splitlines()) == 2


def test_a_database_of_a_newer_release_is_left_alone(leadhand: Any) -> None:
    leadhand("runs", "list")
    path = leadhand.home / "leadhand.db"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET version = 99")
    connection.close()

    result = leadhand("runs", "list")

    assert result.code == 6
    assert "was written by a newer release of Leadhand (schema 99" in result.err
    assert "Upgrade: pip install -U leadhand" in result.err


def test_a_defect_of_ours_is_told_as_one(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("leadhand.cli.commands.run.all_tools", broken)
    result = leadhand("run", "--offline", "x")

    assert result.code == 1
    assert result.err == (
        "leadhand: internal error: RuntimeError: two lines\n"
        "  Add --debug to see the traceback. If a run had started, leadhand runs list shows it.\n"
    )


def test_ctrl_c_before_anything_began_is_quiet(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("leadhand.cli.commands.run.all_tools", interrupted)

    assert main(["run", "--offline", "x"]) == 130
    assert capsys.readouterr().err == ""


def test_resuming_a_finished_run_says_where_to_read_it(leadhand: Any) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]

    result = leadhand("runs", "resume", run_id)

    assert result.code == 2
    assert f"leadhand: run {run_id} is finished (succeeded)\n" in result.err
    assert f"leadhand runs show {run_id}" in result.err
