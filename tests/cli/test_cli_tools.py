"""``leadhand tools``: what a lead can plan with, and trying it by hand."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

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
    assert "report, research" in leadhand("tools", "list").out
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


def test_the_tools_of_installed_packages_are_used_without_a_flag(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("greet_tool", f"{__name__}:greet_tool", "leadhand.tools")
    monkeypatch.setattr("leadhand.app.project.toolsets.entry_points", lambda group: [point])

    assert "greet_tool" in leadhand("tools", "list").out
    assert leadhand(*CALL, "greet_tool", "name=Ann", "--offline").out == "Good morning, Ann\n"
    run_id = leadhand("run", "--offline", "--json", "What is the weather in Paris?").json["run_id"]
    started = leadhand("runs", "show", run_id, "--seq", "1").json
    assert "greet_tool" in [tool["name"] for tool in started["definition"]["tools"]]
    paused = leadhand("runs", "fork", run_id, "--at", "2", "--json")
    assert paused.code == 0, "the fork needs no --tools either"
