"""Whatever is wrong: one line what, one line how, the right code, and never a traceback unless it is asked for."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.__main__ import main

BAD = [
    (2, "--max-steps is 0", "Give a number from 1 to 100.", "run --max-steps 0 x"),
    (2, "--max-steps is 101", "Give a number from 1 to 100.", "run --max-steps 101 x"),
    (2, "--max-steps is '1.5'", "Give a whole number.", "run --max-steps 1.5 x"),
    (2, "--max-workers is 1000000", "Give a number from 1 to 10,000.", "run --max-workers 1000000 x"),
    (2, "--max-workers is 0", "Give a number from 1 to 10,000.", "run --max-workers 0 x"),
    (2, "--batch-size is 0", "Give a number from 1 to 1,000,000.", "run --batch-size 0 x"),
    (2, "--budget is -1", "Give a number from 0 to 1,000,000.", "run --budget -1 x"),
    (2, "--budget is 'abc'", "Give a number.", "run --budget abc x"),
    (2, "--budget is nan", "Give a number from 0 to 1,000,000.", "run --budget nan x"),
    (2, "--timeout is 0", "Give a number from 0.001 to 31,622,400.", "run --timeout 0 x"),
    (2, "--approve is 'maybe'", "It is one of: ask, auto, never.", "run --approve maybe x"),
    (2, "--approve is ask and never", "Give one policy; rules look like", "run --approve ask --approve never x"),
    (2, "--approve is 'tool:x'", "A rule says what it comes to: tool:x=ask", "run --approve tool:x x"),
    (2, "--approve names tool:x twice", "Give one rule", "run --approve tool:x=ask --approve tool:x=auto x"),
    (2, "the approval rule 'toll:x' looks at nothing", "Begin it with tool:, tools", "run --approve toll:x=ask x"),
    (2, "the approval rule 'tool:x' says 'maybe'", "It says one of: ask, auto", "run --approve tool:x=maybe x"),
    (2, "the approval rule 'effect:onec' names no effect", "The effects are: pure", "run --approve effect:onec=ask x"),
    (2, "--approval-timeout is 0", "Give a number from 0.001", "run --approval-timeout 0 x"),
    (2, "no open approval has the id nope", "It was answered, or has changed.", "approvals approve nope"),
    (2, "the approval id is empty", "List the open approvals: leadhand approvals list", "approvals deny ''"),
    (2, "did it happen, or did it not?", "Give --happened or --did-not", "approvals settle x"),
    (2, "did it happen, or did it not?", "Give --happened or --did-not", "approvals settle x --happened --did-not"),
    (2, "--args is no JSON: ", "Give it in quotes: --args", "approvals approve x --args {a"),
    (2, "--result is no JSON: ", "Give it in quotes: --result", "approvals settle x --happened --result oops"),
    (2, "--model needs a value", "leadhand run --help says what it takes.", "run x --model"),
    (2, "unknown option: --budjet", "Did you mean --budget?", "run x --budjet 3"),
    (2, "too many arguments: b", 'Put a request of several words in quotes: leadhand run "…"', "run a b"),
    (2, 'unknown command "rn"', 'Did you mean "run"? There are: run, serve, runs, approvals, tools,', "rn x"),
    (2, 'unknown command "shw"', 'Did you mean "show"? There are: list, show,', "runs shw"),
    (2, "unknown option: --nope", "leadhand --help says what it takes.", "--nope"),
    (2, "home is empty", "Name a directory with it, or leave it out.", "run --offline --home= x"),
    (2, "home is empty", "Name a directory with it, or leave it out.", "runs list --home="),
    (2, "database is empty", "Name a file or a postgresql://… URL with it", "run --offline --database= x"),
    (2, "model is empty", "Name one with it, as provider:name or offline", "run --model= x"),
    (2, "lead_model is empty", "Name one with it, as provider:name or offline", "run --model offline --lead-model= x"),
    (2, "unknown option: -5°?", "A request that begins with a dash goes last, after --: ", "run --offline -5°?"),
    (2, "--json and --stream-json exclude each other", "Give one of them.", "run --json --stream-json x"),
    (2, "--detach leaves nothing to stream", "Follow the run with", "run --detach --stream-json x"),
    (2, "--offline allows no other model, and openai:x was named", "Give ", "run --offline --model openai:x y"),
    (2, "there is no run nope", "leadhand runs list shows what there is.", "runs show nope"),
    (2, "the run's id is empty", "leadhand runs list shows what there is.", "runs show run_"),
    (2, "RUN_ID is missing", "leadhand runs show --help says what it takes.", "runs show"),
    (2, "name one run, or --all of them", "leadhand runs list shows what there is.", "runs resume"),
    (2, "--status is 'x'", "It is one of: queued, running, ", "runs list --status x"),
    (2, "--limit is 0", "Give 1 or more.", "runs list --limit 0"),
    (2, "--jsonl and --html exclude each other", "Give one of them.", "runs export x --jsonl --html"),
    (2, "there is no tool 'wether_tool'", "Did you mean weather_tool? There are: ", "tools show wether_tool"),
    (2, "there is no Python file nope.py", "Name a file that ends in .py, or a module.", "run --tools nope.py x"),
    (2, "'.' names no Python file and no module", "Name a file that ends in .py, or a module.", "run --tools . x"),
    (2, "./ is a directory", "Name a file that ends in .py, or a module.", "run --tools ./ x"),
    (2, "--max-requests is 0", "Give a number from 1 to", "run --max-requests 0 x"),
    (2, "--max-tokens is 0", "Give a number from 1 to", "run --max-tokens 0 x"),
    (2, "there is no module nope.tools", "Name a Python file", "tools list --tools nope.tools"),
    (6, "there is no model 'nope'", "Name it provider:model; the providers are", "run --model nope x"),
    (6, "there is no key for OpenAI: OPENAI_API_KEY is not set", "Set OPENAI_API_KEY,", "run --model openai:gpt-9 x"),
    (6, "cannot open /nope/x.db: there is no directory /nope", "Make it", "run --offline --database /nope/x.db x"),
    (6, "cannot open /nope/x.db: there is no directory /nope", "Make it", "runs list --database sqlite:////nope/x.db"),
    (6, "the database URL begins with mysql://", "Use sqlite:///path", "run --offline --database mysql://x x"),
    (6, "the home directory /dev/null/x cannot be written", "Name another one", "run --offline --home /dev/null/x x"),
    (2, "--project is not in this release", "Leave it out", "run --project leadhand.toml x"),
    (2, "--worker is not in this release", "Leave it out", "run --worker lead x"),
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
    assert "leadhand: the request is empty\n  Say what you want: " in leadhand("run", "--offline", " ").err


def test_half_a_surrogate_pair_is_refused(leadhand: Any) -> None:
    result = leadhand("run", "--offline", "weather in \udcff")

    assert result.code == 2
    assert result.err == "leadhand: the argument 'weather in \\udcff' is no text in UTF-8\n  Give it in UTF-8.\n"


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

    monkeypatch.setattr("leadhand.cli.own_tools.all_tools", broken)
    result = leadhand("run", "--offline", "x")

    assert result.code == 1
    assert result.err == (
        "leadhand: internal error: RuntimeError: two lines\n"
        "  Run it again with --debug for the traceback; the run is kept: leadhand runs list\n"
    )


def test_ctrl_c_before_anything_began_is_quiet(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("leadhand.cli.own_tools.all_tools", interrupted)

    assert main(["run", "--offline", "x"]) == 130
    assert capsys.readouterr().err == ""


def test_resuming_a_finished_run_says_where_to_read_it(leadhand: Any) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]

    result = leadhand("runs", "resume", run_id)

    assert result.code == 2
    assert f"leadhand: run {run_id} is finished (succeeded)\n" in result.err
    assert f"leadhand runs show {run_id}" in result.err
