"""``leadhand tools``: what a lead can plan with, and trying it by hand."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from leadhand.cli.terminal.messages import tools_of
from leadhand.core.run import RunDefinition

CALL = ("tools", "call")


def greet_tool(name: str) -> str:
    """Greet somebody."""
    return f"Good morning, {name}"


def test_the_tools_that_ship_are_listed_and_ones_own_beside_them(leadhand: Any) -> None:
    assert [line.split()[0] for line in leadhand("tools", "list").out.splitlines()] == [
        "TOOL",
        "weather_tool",
        "directions_tool",
        "web_search",
        "web_fetch",
    ]
    own = leadhand("tools", "list", "--tools", leadhand.tools, "--json").json
    assert [(spec["name"], spec["effect"]) for spec in own[2:4]] == [("measure_tool", "pure"), ("pay_tool", "once")]
    assert leadhand("tools", "show", "weather_tool", "--json").json["parameters"]["required"] == ["location"]
    called = leadhand(*CALL, "weather_tool", "location=Paris", "days=2", "--offline")
    assert (called.code, "Paris" in called.out, "https://" in called.out) == (0, True, True)


def test_values_are_text_where_the_schema_wants_text_and_json_elsewhere(leadhand: Any) -> None:
    paid = leadhand(*CALL, "pay_tool", "amount=30", "to=7", "--tools", leadhand.tools, "--json")

    assert paid.json["task_name"] == "pay_tool"
    assert (paid.json["ok"], paid.json["data"]["raw"]) == (True, "paid 30 to 7")
    assert leadhand.calls == {"paid 7": 1}


def test_the_tools_of_installed_packages_are_those_that_are_named(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    points = [EntryPoint(name, f"{__name__}:{name}", "leadhand.tools") for name in ("greet_tool", "nobody_asked")]
    for module in ("cli.terminal.messages", "app.project.toolsets"):
        monkeypatch.setattr(f"leadhand.{module}.entry_points", lambda group: points)

    assert "greet_tool" not in leadhand("tools", "list").out
    leadhand("tools", "list", "--tools", "installed:greet").refused("greet_tool, nobody_asked")
    leadhand("tools", "list", "--tools", "installed:nobody_asked").refused("nobody_asked", code="configuration")
    named = ("--tools", "installed:greet_tool")
    assert leadhand(*CALL, "greet_tool", "name=Ann", "--offline", *named).out == "Good morning, Ann\n"

    manifest = tmp_path / "leadhand.toml"
    manifest.write_text('tools = ["installed:greet_tool"]\n')
    project = ("--project", str(manifest))
    run_id = leadhand("run", "--offline", "--json", *project, "What is the weather in Paris?").json["run_id"]
    started = leadhand("runs", "show", run_id, "--seq", "1").json
    assert "greet_tool" in [tool["name"] for tool in started["definition"]["tools"]]
    leadhand("runs", "fork", run_id, "--at", "2").refused("greet_tool", code="configuration")
    assert tools_of(RunDefinition.model_validate(started["definition"])) == ["installed:greet_tool"]
    assert leadhand("runs", "fork", run_id, "--at", "2", "--json", *project).code == 0
