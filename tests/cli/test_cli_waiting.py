"""What is said while a model server is away, and while it answers slowly."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.test_cli_terminal import drawn, lanes_of, thinking
from cli.test_cli_told import log_of
from processes import Process

from leadhand.cli.terminal.progress import Progress
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import AnyEvent, AttemptReturned, NoteEmitted, RunClaimed

SCRIPT = Path(__file__).parent.parent / "crashes" / "model_server.py"
TOOLS = """
from leadhand import tool

@tool
def measure(n: int) -> str:
    "Measure one part."
    return "it is done"
"""

Start = Callable[[int, str], tuple[subprocess.Popen[str], int]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a model server as a process of its own, on a port (0: any), and returns the port."""
    processes: list[subprocess.Popen[str]] = []

    def begin(port: int, kind: str) -> tuple[subprocess.Popen[str], int]:
        command = [sys.executable, str(SCRIPT), str(port), kind]
        process = Process(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        processes.append(process)
        assert process.stdout is not None
        return process, int(process.stdout.readline())

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_model_server_that_is_away_is_announced_and_so_is_its_return(
    leadhand: Any, monkeypatch: pytest.MonkeyPatch, start: Start, tmp_path: Path
) -> None:
    away, port = start(0, "answers")
    away.kill()
    away.wait()
    tools = tmp_path / "parts_tools.py"
    tools.write_text(TOOLS)
    monkeypatch.setenv("LEADHAND_BASE_URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("LEADHAND_PRICE", "0")

    run = leadhand.start(
        "run", "--model", "openai_compatible:m", "--tools", str(tools), "do it", stdin=subprocess.DEVNULL
    )
    lines: list[str] = []
    while not lines or not lines[-1].startswith("Waiting"):
        lines.append(run.stderr.readline())
        assert lines[-1], "".join(lines)
    start(port, "answers")
    out, rest = run.communicate(timeout=90)

    assert run.returncode == 0, rest
    assert re.match(r"Waiting .*openai_compatible:m.* 300 s", lines[-1])
    assert len(re.findall("^Waiting", rest, re.MULTILINE)) == 0
    assert len(re.findall("openai_compatible:m", rest)) == 1, "its return"
    assert "it is done" in out


# --- in the view -------------------------------------------------------------------------------------------------

REASON = "the server is gone"
AWAY = NoteEmitted(attempt="plan/a1", message=REASON, waits_for="m", waits_s=300.0)


def test_a_wait_is_drawn_with_its_reason_and_how_long_it_lasts() -> None:
    assert re.search(rf"{REASON}.* 3.0 s ", drawn(lanes_of(*thinking("plan"), AWAY, subtasks=1)))
    over = NoteEmitted(attempt="wo-001.0/a1", message="m answers again", waits_for="m")
    assert REASON not in drawn(lanes_of(*thinking("plan"), AWAY, over, subtasks=1))
    assert REASON not in drawn(lanes_of(*thinking("plan"), AWAY, subtasks=1), 301.0)


LOST = Failure.of("gone", "x", FailureClass.LOST)


@pytest.mark.parametrize(
    "end",
    [
        AttemptReturned(attempt="plan/a1", failure=LOST),
        AttemptReturned(attempt="plan/a1", lost=True, failure=LOST),
        RunClaimed(owner="another"),
    ],
    ids=lambda end: end.type,
)
def test_nothing_is_awaited_by_an_attempt_that_ended_or_by_a_process_that_died(end: AnyEvent) -> None:
    assert REASON in drawn(lanes_of(*thinking("plan"), AWAY, subtasks=1))
    assert REASON not in drawn(lanes_of(*thinking("plan"), AWAY, end, subtasks=1))


def test_a_wait_that_continues_is_one_line_about_the_run() -> None:
    progress, back = Progress(), AWAY.evolve(message="m is back", waits_s=None)
    lines = [str(progress.take(entry)) for entry in log_of(AWAY, AWAY, back, AWAY)][2:]

    assert [(REASON.capitalize() in line, "m is back" in line) for line in lines] == [
        (True, False),
        (False, False),
        (False, True),
        (True, False),
    ]
