"""A report whose process is killed in any stage continues in another one, and repeats no finished stage."""

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

CHILD = Path(__file__).with_name("child.py")
ORDER = ["plan", "research", "draft-1", "judge-1", "review-1", "draft-2", "judge-2", "review-2"]


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


def asked(folder: Path) -> list[str]:
    return (folder / "calls").read_text().split()


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["plan", "research-2", *ORDER[2:]])
def test_killed_in_a_stage(tmp_path: Path, stage: str) -> None:
    with life(tmp_path, hold=stage) as process:
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert {"held": stage} in first
        process.kill()
    run_id = next(each["run_id"] for each in first if "run_id" in each)
    before = asked(tmp_path)

    with life(tmp_path, resume=run_id) as process:
        out, err = process.communicate(timeout=90)
    ended = json.loads(out.splitlines()[-1])

    assert (ended["status"], ended["drafts"], err) == ("succeeded", 2, "")
    assert "needs 9 kW [1]." in ended["answer"]
    finished = ORDER[: next(place for place, each in enumerate(ORDER) if stage.startswith(each))]
    again = asked(tmp_path)[len(before) :]
    assert [each for each in again if each.startswith(tuple(finished))] == []
    assert stage in again


@pytest.mark.slow
def test_a_run_that_another_process_resumes_searches_the_documents_that_it_was_started_with(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "boiler.md").write_text("# Boiler\n\nThe boiler in Mill Lane is old.\n", encoding="utf-8")
    with life(tmp_path, hold="research-1", searches=True, documents=str(documents)) as process:
        assert process.stdout is not None
        first = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.kill()

    with life(tmp_path, searches=True, resume=next(each["run_id"] for each in first if "run_id" in each)) as process:
        out, _ = process.communicate(timeout=90)
    assert json.loads(out.splitlines()[-1])["sources"] == ["document:boiler.md"]
