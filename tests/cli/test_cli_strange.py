"""What a stranger does: requests that look like flags, tools that shout, answers without end, places that are not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import BROKEN
from processes import run

from leadhand.cli import background
from leadhand.core.errors import StoreError
from leadhand.stores.sql_store import SqlContextStore

STRANGE = r'''
import os, subprocess
from leadhand import FailureClass, ToolError, tool

@tool
def shout_tool(place: str) -> str:
    """Shout at a place."""
    os.write(1, b"raw\n")
    subprocess.run(["echo", "from a program"])
    print("printed")
    return f"{place}: \x1b]0;title\x07loud \x1b[31mred"

@tool(retries=0)
def moan_tool(place: str) -> str:
    """Moan at a place."""
    raise ToolError("\x1b[31m" + "o" * 5_000_000 + "\nand more", type="moaning")
'''


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "strange_tools.py"
    path.write_text(STRANGE)
    yield str(path)
    sys.modules.pop(path.stem, None)


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [["--json", "-", "--offline"], ["-", "--json", "--offline"], ["--offline", "--json"]])
def test_stdin_is_read_wherever_the_dash_stands(leadhand: Any, flags: list[str]) -> None:
    result = leadhand.process("run", *flags, input="Weather in Paris?\n")

    assert result.json["request"] == "Weather in Paris?"


def test_a_variable_with_a_misspelt_name_is_reported(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_MODLE", "offline")
    result = leadhand.process("run", "Weather in Paris?", "--offline", "--json")

    assert "LEADHAND_MODLE" in result.err
    assert "LEADHAND_MODEL?" in result.err


# --- what is written ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--json", "--stream-json"])
def test_not_even_what_tools_write_past_python_gets_between_the_json(leadhand: Any, strange: str, flag: str) -> None:
    result = leadhand.process("run", "--offline", "--tools", strange, flag, "Shout at Paris")

    assert result.code == 0
    assert [json.loads(line) for line in result.out.splitlines()]
    assert {"raw", "from a program", "printed"} <= set(result.err.splitlines())


@pytest.mark.usefixtures("leadhand")
def test_stdout_leads_where_it_led_when_the_command_is_over(strange: str) -> None:
    script = (
        "import os; from leadhand.cli.app import main;"
        f"main(['run', '--offline', '--tools', {strange!r}, 'Shout at Paris']); os.write(1, b'after')"
    )
    done = run([sys.executable, "-P", "-c", script])
    done.check_returncode()

    assert "Paris: loud red" in done.stdout
    assert done.stdout.endswith("after")
    assert "\nraw\n" not in done.stdout


def test_a_line_of_progress_is_a_line(leadhand: Any, strange: str) -> None:
    result = leadhand("run", "--offline", "--tools", strange, "--max-steps", "1", "Moan at Paris")

    assert max(map(len, result.err.splitlines())) < 1_200
    assert "[31m" not in result.err + result.out
    shown = leadhand("runs", "show", leadhand.listing()["run_id"])
    before = shown.out.partition("Answer:")[0].splitlines()
    assert max(len(line) for line in before) < 1_200, "the reason of what is missing is cut, too"
    assert sum(len(line) > 500 for line in before) == 1


@pytest.mark.slow
def test_a_detached_run_prints_its_document(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "subprocess", subprocess)  # a new interpreter takes the run, as outside of tests
    document = leadhand("run", "--offline", "--detach", "--json", "Weather in Paris?").json

    assert document["request"] == "Weather in Paris?"
    assert document["detached"] is True
    assert document["status"] in ("queued", "running", "succeeded")


def test_the_help_of_the_list_names_every_status(leadhand: Any) -> None:
    words = leadhand("runs", "list", "--help").out.split()

    assert "queued," in words
    assert "cancelled." in words


# --- where things are kept ---------------------------------------------------------------------------------------


def test_no_directory_is_made_for_a_database_or_a_file(leadhand: Any, tmp_path: Path) -> None:
    run_id = leadhand("run", "--offline", "--json", "Weather in Paris?").json["run_id"]

    database = leadhand("run", "--offline", "--database", f"{tmp_path}/not/there.db", "Weather in Paris?")
    database.refused(f"{tmp_path}/not", code="store")
    leadhand("runs", "export", run_id, "--output", f"{tmp_path}/not/there.jsonl").refused(f"{tmp_path}/not")
    assert not (tmp_path / "not").exists()


def test_the_home_is_made_with_its_database(leadhand: Any, tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"

    assert leadhand("run", "--offline", "--home", str(home), "Weather in Paris?").code == 0
    assert (home / "leadhand.db").is_file()
    assert not list(home.glob(".writable*"))


def test_the_doctor_notices_a_home_that_cannot_be_written(leadhand: Any) -> None:
    (leadhand.home / "runs").write_text("not a directory: root may write anywhere else")

    home = next(each for each in leadhand("doctor", "--json").json if each["check"] == "home")
    assert (home["level"], str(leadhand.home) in home["what"]) == ("fail", True)


def test_the_doctor_notices_a_database_that_cannot_be_written(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        raise StoreError("leadhand.db is read-only", "make it writable")

    monkeypatch.setattr(SqlContextStore, "cache", refuse)
    found = leadhand("doctor", "--json").json
    failure = {"check": "database", "level": "fail", "what": "leadhand.db is read-only", "how": "make it writable"}
    assert failure in found


# --- what to do about it -----------------------------------------------------------------------------------------


def test_a_host_that_cannot_be_reached_is_a_matter_of_the_network(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_NOMINATIM_URL", "http://127.0.0.1:9")

    result = leadhand("run", "--model", "offline", "--max-steps", "1", "--json", "Weather in Paris?")

    (gap,) = result.json["gaps"]
    assert (gap["class"], "LEADHAND_NOMINATIM_URL" in gap["next_action"]) == ("transient", True)
    assert "--model" not in gap["next_action"]


def test_a_model_is_recommended_only_where_the_built_in_one_does_not_understand(leadhand: Any) -> None:
    unknown = leadhand("run", "--offline", "Book me a table")
    assert "choose a model" in unknown.err
    broken = leadhand("run", "--offline", "--tools", leadhand.tools, "Measure the noise in Oslo").err
    assert (BROKEN in broken, "--model" in broken) == (True, False)


def test_a_policy_that_denies_names_the_flag_that_asks(leadhand: Any) -> None:
    result = leadhand("run", "--offline", "--tools", leadhand.tools, "--approve", "never", "--json", "Pay 30 to Bob")

    (gap,) = result.json["gaps"]
    assert (result.code, gap["class"], "the policy ask" in gap["next_action"]) == (1, "rejected", True)


def test_used_up_time_is_a_matter_of_the_time_limit_alone(leadhand: Any) -> None:
    request = ("--tools", leadhand.tools, "--timeout", "1", "--json", "Measure the noise in Rome")
    result = leadhand("run", "--offline", *request)

    assert (result.code, [gap["class"] for gap in result.json["gaps"]]) == (5, ["exhausted"])
    advice = " ".join(gap["next_action"] for gap in result.json["gaps"])
    assert "timeout" in advice
    assert "budget" not in advice
    assert "max_steps" not in advice
