"""A process that is killed in the middle of a judgement repeats nothing that is finished."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .scenes import HONEST

SCENE = "regions"


def life(home: Path, **config: Any) -> subprocess.Popen[str]:
    given = json.dumps({"scene": SCENE, "home": str(home), **config})
    command = [sys.executable, str(Path(__file__).parent / "child.py"), given]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def asked(home: Path) -> list[str]:
    return (home / "calls").read_text().split()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("hold", "kind"),
    [(".3", "judge"), pytest.param("-text", "correct", marks=SLOW), pytest.param("-again-1.2", "judge", marks=SLOW)],
)
def test_what_was_judged_before_a_kill_is_not_judged_again(tmp_path: Path, hold: str, kind: str) -> None:
    with life(tmp_path, hold=hold) as process:
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.kill()
    before = asked(tmp_path)
    held = next(each["held"] for each in first if "held" in each)
    assert held.startswith(kind)

    with life(tmp_path, resume=next(each["run_id"] for each in first if "run_id" in each)) as process:
        out, err = process.communicate(timeout=90)
    ended = json.loads(out.splitlines()[-1])
    assert (ended["status"], ended["answer"], err) == ("partial", HONEST[SCENE].text, "")
    again = asked(tmp_path)[len(before) :]
    together = f"{held.partition('.')[0]}."
    assert held in again
    assert not {each for each in before if each != held and not each.startswith(together)} & {*again}
