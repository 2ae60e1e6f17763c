"""A research run whose process is killed at any turn continues at that turn, and no finished subagent runs again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import Process

import leadhand

from .runs import SHOWN

CHILD = Path(__file__).with_name("child.py")


def life(folder: Path, **config: Any) -> Process:
    given = {"home": str(folder / "home"), "calls": str(folder / "calls"), "hold": "", **config}
    environment = {**os.environ, "PYTHONPATH": str(Path(leadhand.__file__).parents[1])}
    return Process(
        [sys.executable, str(CHILD), json.dumps(given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def lived(process: Process) -> list[Any]:
    """Let a life end, and return what it printed."""
    with process:
        out, err = process.communicate(timeout=90)
    assert err == ""
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("held", ["lead-3", "lead-4"])
def test_killed_after_a_limit_was_raised(tmp_path: Path, held: str) -> None:
    """The run ends after two turns of its lead; it is resumed with four, and killed at one of the two that are left."""

    def requests() -> list[str]:
        return (tmp_path / "calls").read_text().split()

    first, answer = lived(life(tmp_path, limits={"max_turns": 2}))
    assert answer["status"] == "partial"
    before = requests()
    with life(tmp_path, resume=first["run_id"], limits={"max_turns": 4}, hold=held) as process:
        assert process.stdout is not None
        assert {"held": held} in [json.loads(process.stdout.readline()) for _ in range(2)]
        process.kill()
    made = requests()

    _, answer = lived(life(tmp_path, resume=first["run_id"]))
    assert answer == {"status": "succeeded", "answer": SHOWN}
    assert made[len(before) :] == ["lead-3", "lead-4"][: 1 + ["lead-3", "lead-4"].index(held)]
    again = requests()[len(made) :]
    assert again == ["lead-3", "lead-4"][["lead-3", "lead-4"].index(held) :], "the same answer is not judged again"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held", "again"),
    [
        ("lead-3", ["lead-3", "lead-4", "judge-1"]),  # both subagents have finished
        ("subagent-size-2", ["subagent-size-2", "subagent-size-3", "lead-3", "lead-4", "judge-1"]),
        ("lead-4", ["lead-4", "judge-1"]),  # the file was read
        ("judge-1", ["judge-1"]),
    ],
)
def test_killed_at_a_turn(tmp_path: Path, held: str, again: list[str]) -> None:
    with life(tmp_path, hold=held) as process:
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert {"held": held} in first
        process.kill()
    run_id = next(each["run_id"] for each in first if "run_id" in each)
    before = (tmp_path / "calls").read_text().split()

    with life(tmp_path, resume=run_id) as process:
        out, err = process.communicate(timeout=90)
    ended = json.loads(out.splitlines()[-1])

    assert (ended, err) == ({"status": "succeeded", "answer": SHOWN}, "")
    made = [each for each in (tmp_path / "calls").read_text().split()[len(before) :] if "costs" not in each]
    assert made == again
    if held.startswith("lead"):
        assert not any(each.startswith("subagent") for each in (tmp_path / "calls").read_text().split()[len(before) :])
