"""What people are told beside the answer: once, in order, and what they need to mend a tool of their own."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli.terminals import ESCAPES, Terminal, rest_of

from leadhand.core.events import (
    AnyEvent,
    Entry,
    OrderIssued,
    RunStarted,
)
from leadhand.core.limits import Limits
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.core.work_order import Subtask, WorkOrder

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
RAISES = 'raise ValueError("broken on purpose")'
TOOLS = f'''
"""Tools that do what they should not."""
import logging
import os
import sys
import time

from leadhand import tool

logging.basicConfig(level=logging.INFO)  # keeps hold of stderr as it is now
log = logging.getLogger("mine")


@tool
def break_tool(place: str) -> str:
    """Break at a place."""
    {RAISES}


@tool
def log_tool(place: str) -> str:
    """Log at a place."""
    log.info("logged in %s", place)
    time.sleep(0.3)
    return place


@tool(timeout=60)
async def block_tool(place: str) -> str:
    """Block at a place."""
    with open(os.environ["CALLS"], "a") as file:
        file.write("blocked\\n")
    time.sleep(40)
    return place

'''


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "told_tools.py"
    path.write_text(TOOLS)
    return str(path)


# --- a tool of one's own that fails ------------------------------------------------------------------------------


def test_debug_shows_where_a_tool_that_is_called_by_hand_fails(leadhand: Any, tools: str) -> None:
    call = ["tools", "call", "break_tool", "place=here", "--tools", tools]

    plain = leadhand(*call).err
    assert "Traceback" not in plain
    assert all(data in plain for data in ("(invalid, exception)", "--debug"))
    result = leadhand(*call, "--debug", "--json")
    assert re.search("break_tool .*\nTraceback ", result.err)
    assert RAISES in result.err
    assert result.json["error"]["type"] == "exception"


def test_debug_shows_where_a_tool_of_a_run_fails(leadhand: Any, tools: str) -> None:
    run = ["run", "--offline", "--tools", tools, "Break in Paris"]

    assert "Traceback" not in leadhand.process(*run).err
    result = leadhand.process(*run, "--debug")
    assert RAISES in result.err
    assert "Traceback" not in result.out


def test_debug_shows_it_between_the_lanes(leadhand: Any, terminal: Terminal, tools: str) -> None:
    written = rest_of(terminal("run", "--offline", "--tools", tools, "--debug", "Break in Paris"))

    assert f"{RAISES}\r\n" in ESCAPES.sub("", written)


def test_what_tools_log_comes_between_the_lanes(leadhand: Any, terminal: Terminal, tools: str) -> None:
    written = rest_of(terminal("run", "--offline", "--tools", tools, "Log in Paris, London and Rome"))

    for place in ("Paris", "London", "Rome"):
        logged = f"INFO:mine:logged in {place}"
        line = next(line for line in written.splitlines() if logged in line)
        assert ESCAPES.sub("", line.rpartition("\x1b[2K")[2]) == logged


# --- a tool that does harm ---------------------------------------------------------------------------------------


def test_a_second_interrupt_leaves_at_once_although_a_tool_blocks(
    leadhand: Any, terminal: Terminal, tools: str
) -> None:
    child = terminal("run", "--offline", "--tools", tools, "Block in Paris", columns=300)
    leadhand.wait(lambda: leadhand.calls["blocked"], "the call")
    child.sendintr()

    def left() -> bool:
        child.sendintr()
        time.sleep(0.1)  # two that come at once are one
        return not child.isalive()

    leadhand.wait(left, "the end")
    assert "leadhand runs resume " in rest_of(child)
    assert child.exitstatus == 130
    assert leadhand.listing()["orphan"] is True


def test_two_tools_of_one_name_are_refused_by_every_command(leadhand: Any, tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(
        'from leadhand import tool\n\n\n@tool\ndef weather_tool(x: str) -> str:\n    """X."""\n    return x\n'
    )

    for command in (["list"], ["show", "weather_tool"], ["call", "weather_tool", "x=1"]):
        leadhand("tools", *command, "--tools", str(path)).refused("weather_tool")


# --- one line, in order ------------------------------------------------------------------------------------------


def log_of(*events: AnyEvent, workers: int = 1) -> list[Entry]:
    """Two subtasks, and what became of them."""
    limits = Limits(max_workers=workers)
    definition = RunDefinition(request="x", flow="work-order", models=ModelChoice(default="offline"), limits=limits)
    order = WorkOrder(work_order_id="wo-001", goal="x", subtasks=(Subtask(name="one"), Subtask(name="two")))
    given = [RunStarted(definition=definition), OrderIssued(order=order), *events]
    return [Entry(seq=seq, at=NOON, epoch=1, event=event) for seq, event in enumerate(given, start=1)]


# --- what is asked for -------------------------------------------------------------------------------------------


def test_help_is_a_word_too(leadhand: Any) -> None:
    assert leadhand("help").out == leadhand("--help").out
    assert leadhand("help", "runs", "show").out == leadhand("runs", "show", "--help").out
