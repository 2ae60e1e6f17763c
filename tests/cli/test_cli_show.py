"""``leadhand runs show`` and ``open``: what failed comes first, equal failures once, and a large run fits a screen."""

from __future__ import annotations

import asyncio
import re
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from leadhand import FailureClass, Leadhand, Limits, ToolError, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, plans

SUBTASKS = 1_000


@tool(retries=0)
async def look_up(place: str) -> ToolReturn:
    """Look a place up."""
    number = int(place.rpartition(" ")[2])
    if number < 4:
        raise ToolError(f"there is no place {place}", type="not_found", class_=FailureClass.UNAVAILABLE)
    if number < 7:
        raise ToolError("the service answered 503", type="http_503", class_=FailureClass.UNAVAILABLE)
    return ToolReturn(summary=f"{place} was found.")


@pytest.fixture
def large(leadhand: Any) -> str:
    """A run of 1,000 subtasks, of which 7 failed for two reasons."""
    subtasks = [{"name": f"look_{n}", "tool": "look_up", "args": {"place": f"Place {n}"}} for n in range(SUBTASKS)]
    model = ScriptedModel(plan=[plans(*subtasks)], lenient=True)

    async def run() -> str:
        async with Leadhand(
            home=Path(leadhand.home), models=model, tools=[look_up], limits=Limits(max_steps=1)
        ) as lead:
            return (await lead.run("Look places up")).run_id

    return asyncio.run(run())


def test_a_large_run_is_summed_up_with_what_failed_first_unless_all_is_asked_for(leadhand: Any, large: str) -> None:
    shown = leadhand("runs", "show", large)
    lines = shown.out.splitlines()
    assert lines[0] == f"{large}  partial"
    assert shown.command("runs retry") == ["runs", "retry", large, "--tools", __name__]
    assert "7" in lines[3]
    assert lines[4] == "look_4, look_5, look_6: the service answered 503"
    assert [line for line in lines[5:11] if line.endswith("there is no place Place 0")]

    assert [line for line in lines if re.search(r"^wo-001 .*1,000.*993.*7", line)]
    listed = [line for line in lines if "wo-001." in line and "look_up" not in line and " look_" in line]
    assert len(lines) <= 40
    assert len(listed) >= 5
    assert all("✗" in line for line in listed[:7])
    left = SUBTASKS - len(listed)
    assert [line for line in lines if f" {left:,} " in line and line.endswith(f"leadhand runs show {large} --full")]

    assert leadhand("runs", "show", large, "--full").out.count("  ✓ wo-001.") == SUBTASKS - 7


def test_a_run_is_opened_in_the_console_of_a_server(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    console, opened = "http://127.0.0.1:8700", list[str]()
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    assert leadhand("run", "--offline", "Weather in Paris?").code == 0
    run_id = leadhand.listing()["run_id"]

    result = leadhand("runs", "open", run_id[4:8], "--url", f"{console}/")
    assert (result.code, result.out) == (0, f"{console}/runs/{run_id}\n")
    assert opened == [f"{console}/runs/{run_id}"]
