"""Whatever is wrong: an error code, one line what, one line how, and never a traceback unless it is asked for."""

from __future__ import annotations

import shlex
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.app import main

USAGE = (
    ("run --max-steps 0 x", "--max-steps", "0", "100"),
    ("run --max-steps 101 x", "--max-steps", "101", "100"),
    ("run --max-steps 1.5 x", "--max-steps", "'1.5'"),
    ("run --max-workers 1000000 x", "--max-workers", "1000000", "10,000"),
    ("run --max-workers 0 x", "--max-workers", "0", "10,000"),
    ("run --batch-size 0 x", "--batch-size", "0", "1,000,000"),
    ("run --budget -1 x", "--budget", "-1", "1,000,000"),
    ("run --budget abc x", "--budget", "'abc'"),
    ("run --budget nan x", "--budget", "nan", "leadhand run --help"),
    ("run --timeout 0 x", "--timeout", "0", "0.001", "31,622,400"),
    ("run --max-requests 0 x", "--max-requests", "0"),
    ("run --max-tokens 0 x", "--max-tokens", "0"),
    ("run --approve maybe x", "--approve", "'maybe'", "ask, auto, never"),
    ("run --approve ask --approve never x", "--approve", "ask", "never", "tool:send_*=auto"),
    ("run --approve tool:x x", "--approve", "'tool:x'", "tool:x=ask"),
    ("run --approve tool:x=ask --approve tool:x=auto x", "--approve", "tool:x"),
    ("run --approve toll:x=ask x", "'toll:x'", "tool:, toolset:, effect:, origin:"),
    ("run --approve tool:x=maybe x", "'tool:x=maybe'", "ask, auto, never"),
    ("run --approve effect:onec=ask x", "'effect:onec'", "pure, idempotent, once"),
    ("run --limit max_workers=0 x", "--max-workers", "0", "10,000"),
    ("run --limit max_workers=1.5 x", "--max-workers", "'1.5'"),
    ("run --limit allow_unknown_price=maybe x", "--allow-unknown-price", "'maybe'"),
    ("run --limit depth=3 x", "--limit", "'depth'"),
    ("report --stage tone.gives=draft --stage tone.gives=feedback --offline x", "--stage", "tone.gives"),
    ("run --approval-timeout 0 x", "--approval-timeout", "0", "0.001"),
    ("run --tag team x", "--tag", "'team'", "KEY=VALUE"),
    ("run --flow nope --offline x", "'nope'", "report, research, solo, work-order"),
    ("run --only-tool wether_tool --offline x", "'wether_tool'", "weather_tool"),
    ("run --worker= x", "''", "the name of one of the project"),
    ("run --documents nope --offline x", "'nope'", "--documents"),
    ("run --option max_revisions x", "--option", "'max_revisions'", "NAME=VALUE"),
    ("run --option =2 x", "--option", "'=2'", "NAME=VALUE"),
    ("run --option flow=report x", "--option", "'flow=report'", "NAME=VALUE"),
    ("run --option 'a b=2' x", "--option", "'a b=2'", "NAME=VALUE"),
    ("run --option max_revisions=1 --option max-revisions=2 x", "--option", "max_revisions"),
    ("run --offline ' '", 'leadhand run "'),
    ("run x --model", "--model", "leadhand run --help"),
    ("run x --model --offline", "--model", "leadhand run --help"),
    ("run x --offline=true", "--offline", "leadhand run --help"),
    ("run x --bud 3", "--bud", "--budget"),
    ("run x --budjet 3", "--budjet", "--budget"),
    ("run first second", "second", "in quotes"),
    ("run -5°? --offline", "-5", "-- before text"),
    ("run --home= --offline x", "home"),
    ("run --database= --offline x", "database", "postgresql://"),
    ("run --model= x", "model", "provider:name", "offline"),
    ("run --model offline --lead-model= x", "lead_model"),
    ("run --detach --stream-json x", "--detach", "--stream-json", "leadhand runs watch --stream-json"),
    ("run --offline --model openai:x y", "--offline", "openai:x"),
    ("run --tools nope.py x", "nope.py"),
    ("run --tools . x", "'.'", ".py"),
    ("run --tools ./ x", "./", ".py"),
    ("run --hooks none.py x", "none.py", ".py"),
    ("run --flows . --flow team x", "'.'", ".py"),
    ("run --project leadhand.toml x", "leadhand.toml", "leadhand init"),
    ("research --max-turns 0 --offline x", "--max-turns", "0", "1000"),
    ("research --approve-plan --offline x", "research", "--approve-plan"),
    ("rn x", "rn", "'run'", "run, report, research, answer, signal, work, serve,"),
    ("nonsense", "nonsense", "run, report,"),
    ("--nope", "--nope", "leadhand --help"),
    ("runs shw", "shw", "'show'", "list, show,"),
    ("runs clean --help", "clean", "list, show,"),
    ("runs --jsn", "--jsn", "leadhand runs --help"),
    ("runs list --home=", "home"),
    ("runs list --status x", "--status", "'x'", "'queued', 'running',"),
    ("runs list --limit 0", "limit", "0"),
    ("runs list --limit many", "--limit", "'many'"),
    ("runs list --sort colour", "--sort", "'colour'", "'created', 'cost'"),
    ("runs show first second", "second", "leadhand runs show --help"),
    ("runs show run_", "'run_'", "leadhand runs list"),
    ("runs delete ' RUN_ '", "'run_'", "leadhand runs list"),
    ("runs skip RUN", "--subtask", "leadhand runs skip --help"),
    ("runs skip RUN --subtask", "--subtask"),
    ("runs fork RUN", "--at", "leadhand runs fork --help"),
    ("runs export x --jsonl --html", "--jsonl", "--html"),
    ("runs export x --md --json", "--json", "--md"),
    ("runs prune", "--older-than", "--keep-runs", "[retention]"),
    ("runs prune --keep-runs 0", "--keep-runs", "0"),
    *((f"runs prune --older-than={age}", "--older-than", age, "30d") for age in ("never", "30", "-1d", "3y")),
    ("runs prune --older-than=", "--older-than", "30d"),
    ("approvals approve nope", "nope", "leadhand approvals list"),
    ("approvals deny ''", "leadhand approvals list"),
    ("approvals settle x", "--happened", "--did-not"),
    ("approvals settle x --happened --did-not", "--happened", "--did-not"),
    ("approvals approve x --args {a", "--args", "'{"),
    ("approvals settle x --happened --result oops", "--result", "'{"),
    ("approvals settle x --not-happened", "--not-happened", "leadhand approvals settle --help"),
    ("tools show wether_tool", "'wether_tool'", "weather_tool", "directions_tool"),
    ("tools call wether_tool", "'wether_tool'", "weather_tool"),
    ("tools call", "NAME", "leadhand tools call --help"),
    ("tools call weather_tool", "location", "location=… [day=…] [units=…] [days=…]"),
    ("tools call weather_tool locaton=Paris", "locaton", "location=…"),
    ("tools call weather_tool location=Paris days=many", "many", "location=…"),
    ("tools call weather_tool location=a location=b", "location"),
    ("tools call weather_tool Paris", "'Paris'", "location=…"),
    ("tools call weather_tool a=1 --jsn b=2", "--jsn", "--json"),
    ("tools list --tools nope.tools", "nope.tools"),
    ("workers list", "leadhand.toml", "--project", "leadhand init"),
    ("keys create", "NAME", "leadhand keys create --help"),
    ("keys create ' '", "100"),
    (f"keys create {'x' * 101}", "100"),
    ("keys create a --scope write", "--scope", "'write'", "'read', 'read:all', 'run', 'approve', 'admin'"),
    ("keys create a --scope read --budget 1", "read", "run"),
    ("keys create a --budget -1", "--budget", "-1", "1,000,000"),
    ("keys create a --budget-per-day nan", "--budget-per-day", "nan", "leadhand keys create --help"),
    ("keys create a --max-runs 0", "--max-runs", "0", "10,000"),
    ("keys create a --max-running-steps 0", "--max-running-steps", "0", "10,000"),
    ("keys revoke 0a1b2c3d", "'0a1b2c3d'", "leadhand keys list"),
    ("keys revoke ''", "leadhand keys list"),
    ("serve --port 70000", "--port", "70000", "65535"),
    ("serve --cors app.example.org", "--cors", "'app.example.org'"),
    ("serve --cors https://app.example.org/path", "--cors", "'https://app.example.org/path'"),
    ("serve --cors *", "--cors", "'*'"),
    ("serve --approve perhaps", "--approve", "'perhaps'"),
    ("completion tcsh", "'tcsh'", "'bash', 'zsh', 'fish'"),
    *((f"backup {name}", name.strip("'") or ".", "backup.db") for name in (".", "''", "/")),
)
"""Lines that are wrong, and what the error names: flags, values, ids and commands."""
OTHERS = (
    ("no_such_run", "runs show nope", "'nope'", "leadhand runs list"),
    ("no_such_run", "runs retry run_nobody", "'run_nobody'", "leadhand runs list"),
    ("no_such_run", "run --continue run_zz x", "'run_zz'", "leadhand runs list"),
    ("configuration", "run --model nope x", "'nope'", "openai:", "ollama:"),
    ("configuration", "run --model gpt-4o x", "openai:gpt-4o?"),
    ("configuration", "run --model opnai:gpt-4o x", "openai:gpt-4o?"),
    ("configuration", "run --model openai:gpt-9 x", "OPENAI_API_KEY", "--model offline"),
    ("configuration", "run --offline --database mysql://x x", "mysql://", "sqlite:///", "postgresql://"),
    ("configuration", "run --offline --home /dev/null/x x", "/dev/null/x", "--home"),
    ("configuration", "serve --offline --host 0.0.0.0", "0.0.0.0", "leadhand keys create"),
    ("configuration", "serve --offline --require-key", "--require-key", "leadhand keys create"),
    ("configuration", "work", "--database postgresql://"),
    ("store", "run --offline --database /nope/x.db x", "/nope/x.db", "directory", "--database"),
    ("store", "runs list --database sqlite:////nope/x.db", "/nope/x.db", "--home", "--database"),
    ("store", "backup /nope/copy.db", "/nope/copy.db"),
)
BAD = [*(("usage", *row) for row in USAGE), *OTHERS]


@pytest.mark.parametrize(("code", "line", "named"), [(*row[:2], row[2:]) for row in BAD], ids=[row[1] for row in BAD])
def test_what_is_wrong_is_told_in_two_lines_that_name_it(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, code: str, line: str, named: tuple[str, ...]
) -> None:
    monkeypatch.chdir(leadhand.folder)
    leadhand(*shlex.split(line)).refused(*named, code=code)


def test_half_a_surrogate_pair_is_refused(leadhand: Any) -> None:
    for line in ("runs list --search", "runs show", "tools call weather_tool", "run --model x", "run"):
        leadhand(*line.split(), "ab\udcff").refused("'ab\\udcff'", "UTF-8")


def test_a_file_of_tools_that_fails_is_a_matter_of_configuration(leadhand: Any, tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text("raise ValueError('boom')")
    (tmp_path / "exits.py").write_text("raise SystemExit(0)")
    (tmp_path / "none.py").write_text("x = 1")

    leadhand("tools", "list", "--tools", str(tmp_path / "exits.py")).refused(code="configuration")
    leadhand("tools", "list", "--tools", str(tmp_path / "none.py")).refused()
    boom = ("tools", "list", "--tools", str(tmp_path / "boom.py"))
    leadhand(*boom).refused(boom[-1], "ValueError: boom", code="configuration")
    debugged = leadhand(*boom, "--debug")
    assert (debugged.code, "Traceback" in debugged.err) == (6, True)


@pytest.mark.parametrize("command", ["runs list", "run --offline x", "runs show x", "runs resume"])
def test_a_database_that_is_none_is_left_alone(leadhand: Any, tmp_path: Path, command: str) -> None:
    other = tmp_path / "other.db"
    other.write_text("this is no database, whatever its name says")

    leadhand(*command.split(), "--database", str(other)).refused(str(other), code="store")


def test_a_database_of_a_newer_release_is_left_alone(leadhand: Any) -> None:
    leadhand("runs", "list")
    path = leadhand.home / "leadhand.db"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET version = 99")
    connection.close()

    leadhand("runs", "list").refused("99", "pip install -U leadhand", code="store")


def test_a_defect_of_ours_is_told_as_one(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("leadhand.cli.commands.run.all_tools", broken)
    result = leadhand("run", "--offline", "x")

    what, how = result.err.splitlines()
    assert (result.code, str(result.ended_by)) == (1, "two\nlines")
    assert what.endswith("RuntimeError: two lines")
    assert "--debug" in how


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

    for command in ("resume", "pause", "cancel"):
        leadhand("runs", command, run_id).refused(run_id, "succeeded")
    leadhand("runs", "resume", run_id).refused(f"leadhand runs show {run_id}")


def test_a_file_that_starts_runs_is_not_run_a_second_time_for_its_tools(leadhand: Any, tmp_path: Path) -> None:
    script = tmp_path / "pays.py"
    script.write_text(
        "from pathlib import Path\n"
        "from leadhand import Leadhand, tool\n\n\n"
        "@tool\n"
        "def pay_tool() -> str:\n"
        '    """Pay."""\n'
        f"    Path({str(tmp_path / 'paid')!r}).touch()\n"
        '    return "paid"\n\n\n'
        f"Leadhand('offline', tools=[pay_tool], home={str(tmp_path / 'home')!r}, approve='auto').run_sync('Pay')\n"
    )
    leadhand("tools", "list", "--tools", str(script)).refused("pays.py", 'if __name__ == "__main__":')
    assert not (tmp_path / "paid").exists()
