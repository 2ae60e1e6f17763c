"""What people are told beside the answer: once, in order, and what they need to mend a tool of their own."""

from __future__ import annotations

import gc
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli.terminals import ESCAPES, Terminal, rest_of

from leadhand.cli.collecting import THRESHOLDS
from leadhand.cli.lines import Lines
from leadhand.cli.progress import Progress
from leadhand.domain.assignment import Assignment
from leadhand.flows.work_order.roles import RoleName
from leadhand.domain.events import (
    AnyEvent,
    AssignmentIssued,
    AttemptSettled,
    AttemptStarted,
    Entry,
    RunClaimed,
    RunResumed,
    RunStarted,
    RunWaiting,
    WorkOrderIssued,
)
from leadhand.domain.limits import Limits
from leadhand.domain.run import ModelChoice, RunDefinition
from leadhand.domain.work_order import Subtask, WorkOrder

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
TOOLS = '''
"""Tools that do what they should not."""
import gc
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
    raise ValueError("broken on purpose")


@tool
def log_tool(place: str) -> str:
    """Log at a place."""
    log.info("logged in %s", place)
    time.sleep(0.3)
    return place


@tool(timeout=60)
async def block_tool(place: str) -> str:
    """Block at a place."""
    time.sleep(40)
    return place


@tool(effect="idempotent")
async def kill_tool(place: str) -> str:
    """Kill at a place."""
    os._exit(9)  # its beginning is on disk: that is what an effect is for


@tool
def collector_tool(place: str) -> str:
    """Tell the collector at a place."""
    return f"{gc.get_threshold()} {gc.get_freeze_count() > 0}"
'''


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "told_tools.py"
    path.write_text(TOOLS)
    return str(path)


# --- a tool of one's own that fails ------------------------------------------------------------------------------


def test_debug_shows_where_a_tool_that_is_called_by_hand_fails(leadhand: Any, tools: str) -> None:
    call = ["tools", "call", "break_tool", "place=here", "--tools", tools]

    plain = leadhand.process(*call).err
    assert "Traceback" not in plain
    assert plain.endswith(" (invalid, exception)\n  Mend the tool; --debug shows the traceback\n")
    result = leadhand.process(*call, "--debug", "--json")
    assert "Debug: the tool break_tool raised\nTraceback (most recent call last):\n" in result.err
    assert 'raise ValueError("broken on purpose")' in result.err
    assert "leadhand/engine" not in result.err, "the way there is ours"
    assert result.json["error"]["type"] == "exception"


def test_debug_shows_where_a_tool_of_a_run_fails(leadhand: Any, tools: str) -> None:
    run = ["run", "--offline", "--tools", tools, "Break in Paris"]

    assert "Traceback" not in leadhand.process(*run).err
    result = leadhand.process(*run, "--debug")
    assert 'raise ValueError("broken on purpose")' in result.err
    assert "Traceback" not in result.out


def test_debug_shows_it_between_the_lanes(leadhand: Any, terminal: Terminal, tools: str) -> None:
    written = rest_of(terminal("run", "--offline", "--tools", tools, "--debug", "Break in Paris"))

    assert 'raise ValueError("broken on purpose")\r\n' in ESCAPES.sub("", written)


def test_what_tools_log_comes_between_the_lanes(leadhand: Any, terminal: Terminal, tools: str) -> None:
    written = rest_of(terminal("run", "--offline", "--tools", tools, "Log in Paris, London and Rome"))

    for place in ("Paris", "London", "Rome"):
        line = next(line for line in written.splitlines() if f"logged in {place}" in line)
        assert ESCAPES.sub("", line.rpartition("\x1b[2K")[2]) == f"INFO:mine:logged in {place}"


# --- a tool that does harm ---------------------------------------------------------------------------------------


def test_a_tool_that_blocks_is_named_and_a_second_interrupt_leaves_at_once(
    leadhand: Any, terminal: Terminal, tools: str
) -> None:
    child = terminal("run", "--offline", "--tools", tools, "Block in Paris", columns=300)
    child.expect("block_tool blocks everything else until it returns")
    child.sendintr()

    def left() -> bool:
        child.sendintr()
        time.sleep(0.1)  # two that come at once are one
        return not child.isalive()

    leadhand.wait(left, "the end")
    assert "Left at once. Resume with: leadhand runs resume run_" in rest_of(child)
    assert child.exitstatus == 130
    assert leadhand.listing()["orphan"] is True


def test_a_tool_that_kills_its_process_is_named_when_the_run_comes_back_to_it(leadhand: Any, tools: str) -> None:
    leadhand.process("run", "--offline", "--tools", tools, "Kill in Paris")
    resume = ["runs", "resume", "--all", "--tools", tools]

    assert "it may kill this process" not in leadhand.process(*resume).err
    again = leadhand.process(*resume).err
    assert "lost    2 times while calling kill_tool (wo-001.0): it may kill this process" in again


def test_two_tools_of_one_name_are_refused_by_every_command(leadhand: Any, tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(
        'from leadhand import tool\n\n\n@tool\ndef weather_tool(x: str) -> str:\n    """X."""\n    return x\n'
    )

    for command in (["list"], ["show", "weather_tool"], ["call", "weather_tool", "x=1"]):
        result = leadhand.process("tools", *command, "--tools", str(path))
        assert result.code == 2
        assert "two tools are called weather_tool" in result.err


# --- one line, in order ------------------------------------------------------------------------------------------


def test_why_a_run_failed_is_told_once_beside_the_answer(leadhand: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")

    result = leadhand("run", "--model", "openai_compatible:some-model", "Weather in Paris?")

    assert result.code == 1
    assert len(re.findall("no connection to ", result.err)) == 1
    assert len(re.findall("no connection to ", result.out)) == 1
    shown = leadhand("runs", "show", leadhand.listing()["run_id"]).out
    assert len(re.findall("no connection to ", shown)) == 1


def log_of(*events: AnyEvent, workers: int = 1) -> list[Entry]:
    """Two subtasks, and what became of them."""
    limits = Limits(max_workers=workers)
    definition = RunDefinition(request="x", flow="work-order", models=ModelChoice(default="offline"), limits=limits)
    order = WorkOrder(work_order_id="wo-001", goal="x", subtasks=(Subtask(name="one"), Subtask(name="two")))
    given = [RunStarted(definition=definition), WorkOrderIssued(order=order), *events]
    return [Entry(seq=seq, at=NOON, epoch=1, event=event) for seq, event in enumerate(given, start=1)]


def begun(key: str) -> list[AnyEvent]:
    issued = AssignmentIssued(assignment=Assignment(assignment_id=key, role=RoleName.WORK))
    return [issued, AttemptStarted(attempt=f"{key}/a1", host="here")]


def ended(key: str) -> AttemptSettled:
    return AttemptSettled(attempt=f"{key}/a1", ok=True, final=True)


def test_a_start_is_told_after_the_end_that_made_room_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = "wo-001.0", "wo-001.1"
    lines = Lines()
    for entry in log_of(*begun(one), *begun(two), ended(one), ended(two)):
        lines.take(entry, new=True)

    told = [line.split()[:2] for line in capsys.readouterr().err.splitlines()[1:]]
    assert told == [["start", one], ["done", one], ["start", two], ["done", two]]


def test_a_yes_is_told_as_going_on_and_not_as_a_change_of_owners() -> None:
    progress = Progress()
    again = RunClaimed(owner="vm-1-abc")
    steps = [progress.take(entry) for entry in log_of(*begun("wo-001.0"), RunWaiting(), again, RunResumed())]
    assert [str(step) for step in steps[-2:]] == ["None", "resumed goes on where it was"]

    progress = Progress()
    (*_, step) = [progress.take(entry) for entry in log_of(*begun("wo-001.0"), again)]
    assert str(step) == "resumed the process that drove it is gone; another one goes on"


# --- what is asked for -------------------------------------------------------------------------------------------


def test_help_is_a_word_too(leadhand: Any) -> None:
    assert leadhand("help").out == leadhand("--help").out
    assert leadhand("help", "runs", "show").out == leadhand("runs", "show", "--help").out


def test_model_calls_and_tokens_can_be_limited(leadhand: Any) -> None:
    limits = leadhand(
        "run", "--offline", "--json", "--max-requests", "7", "--max-tokens", "500000", "Weather in Paris?"
    )

    assert limits.code == 0
    assert (limits.json["limits"]["max_requests"], limits.json["limits"]["max_tokens"]) == (7, 500_000)
    assert leadhand("run", "--offline", "--max-requests", "1", "Weather in Paris?").code == 5


def test_a_run_of_the_command_line_has_the_collector_look_seldom(leadhand: Any, tools: str) -> None:
    before = gc.get_threshold()

    result = leadhand("run", "--offline", "--tools", tools, "Collector in Paris")

    assert f"{THRESHOLDS} True" in result.out
    assert gc.get_threshold() == before, "a program that calls the command line keeps its own"
    assert gc.get_freeze_count() == 0
