"""The workers of a project over HTTP: which there are, what they may do, and who used them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door

from leadhand import tool
from leadhand.app.project.manifest import load_project
from leadhand.testing.scripted_model import ScriptedModel, calls, says

ORCHESTRATOR = """---
name: orchestrator
description: Makes others.
tools: [look]
toolsets: [dynamic_workers]
limits:
  max_requests: 9
---
Make workers.
"""
POET = {"name": "poet", "instructions": "Write verse.", "description": "Writes."}
MANIFEST = """worker_files = ["workers/*.worker"]
generated_workers_dir = "generated"
"""


@tool
def look(at: str) -> str:
    """Look at something."""
    return at


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "workers").mkdir(parents=True)
    (folder / "workers" / "orchestrator.worker").write_text(ORCHESTRATOR)
    (folder / "leadhand.toml").write_text(MANIFEST)
    return folder


def script() -> ScriptedModel:
    """A model that makes a poet and calls it, in every run."""
    made = ScriptedModel()
    made.on(lambda request: request.worker == "poet", always=says("A verse."))
    for turn in (
        calls("worker_create", **POET),
        calls("worker_call", worker="poet", input="Write."),
        says("A verse."),
    ) * 3:
        made.on(lambda request: request.worker == "orchestrator", turn)
    return made


async def door_of(open_door: OpenDoor, project: Path, **settings: Any) -> Door:
    given = {"project": load_project(project), "models": script(), "tools": [look], **settings}
    return await open_door(**given)


async def led(api: Door, **options: Any) -> str:
    """The id of a run that the orchestrator leads."""
    body = {"request": "Go", "worker": "orchestrator"}
    return (await api.post("/api/runs", body, **options)).json()["run_id"]


def made(project: Path, run_id: str, text: str) -> Path:
    """The file of a poet that a run made."""
    file = project / "generated" / run_id / "poet.worker"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


async def workers(api: Door, **options: Any) -> list[dict[str, Any]]:
    return (await api.get("/api/workers", **options)).json()["workers"]


async def test_declared_and_generated_workers_are_listed_with_their_files(open_door: OpenDoor, project: Path) -> None:
    api = await door_of(open_door, project, approve="auto")
    run_id = await led(api)
    await api.over(run_id)
    declared, generated = await workers(api)
    assert declared == {
        "name": "orchestrator",
        "description": "Makes others.",
        "source": "project",
        "path": "workers/orchestrator.worker",
        "model": None,
        "tools": ["look"],
        "toolsets": ["dynamic_workers"],
        "limits": {"max_requests": 9},
        "input": None,
        "output": None,
        "instructions": "Make workers.",
        "text": ORCHESTRATOR,
        "run_id": None,
        "made_by": None,
        "problem": None,
    }
    file = project / "generated" / run_id / "poet.worker"
    assert generated == {
        **declared,
        "name": "poet",
        "description": "Writes.",
        "source": "generated",
        "path": f"generated/{run_id}/poet.worker",
        "toolsets": [],
        "instructions": "Write verse.",
        "text": file.read_text(),
        "run_id": run_id,
        "made_by": "orchestrator",
    }


async def test_a_file_that_cannot_be_read_is_listed_with_its_problem(open_door: OpenDoor, project: Path) -> None:
    api = await door_of(open_door, project)
    file = project / "workers" / "orchestrator.worker"
    file.write_text(ORCHESTRATOR.replace("tools:", "tool:"))
    made(project, "run_1", "").write_bytes(b"\xff")
    first, second = await workers(api)
    assert first["problem"].startswith("workers/orchestrator.worker:4: ")
    assert "'tool'" in first["problem"]
    assert (first["name"], first["text"]) == ("orchestrator", file.read_text())
    assert second["problem"].startswith("generated/run_1/poet.worker:1: ")


async def test_keys_see_the_workers_of_their_own_runs(open_door: OpenDoor, project: Path, api: Door) -> None:
    assert await workers(api) == []
    mine = await door_of(open_door, project, approve="auto")
    ann, ben = await mine.key("ann"), await mine.key("ben")
    await mine.over(await led(mine, headers=ann))
    assert [each["name"] for each in await workers(mine, headers=ann)] == ["orchestrator", "poet"]
    (declared,) = await workers(mine, headers=ben)
    assert declared["name"] == "orchestrator"
