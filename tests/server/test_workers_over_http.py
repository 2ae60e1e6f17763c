"""The workers of a project over HTTP: which there are, what they may do, who used them, and how one is promoted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door

from leadhand import tool
from leadhand.app.project.manifest import load_project
from leadhand.app.steering.access import Scope
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
    refused = await api.post("/api/workers/poet/promote", {"digest": "any"})
    assert refused.status_code == 409
    assert refused.json()["detail"] in second["problem"]


async def test_a_promoted_worker_is_known_to_the_next_run(open_door: OpenDoor, project: Path) -> None:
    api = await door_of(open_door, project, approve="auto")
    await api.over(await led(api))
    lead = {"request": "Go", "worker": "poet"}
    unknown = await api.post("/api/runs", lead)
    assert (unknown.status_code, "'poet'" in unknown.json()["detail"]) == (409, True)

    shown = (await api.get("/api/workers/poet/promotion")).json()
    assert (shown["name"], shown["path"], shown["exists"]) == ("poet", "workers/poet.worker", False)
    assert "+++ b/workers/poet.worker" in shown["diff"]
    assert "+Write verse." in shown["diff"]
    promoted = await api.post("/api/workers/poet/promote", {"digest": shown["digest"]})
    assert (promoted.status_code, promoted.json()) == (200, {"path": "workers/poet.worker"})

    run_id = (await api.post("/api/runs", lead)).json()["run_id"]
    assert (await api.over(run_id))["answer"].startswith("A verse.")
    by_path = {each["path"]: each for each in await workers(api)}
    assert by_path["workers/poet.worker"]["source"] == "project"
    again = (await api.get("/api/workers/poet/promotion")).json()
    assert (again["exists"], again["diff"]) == (True, "")


async def test_a_worker_that_this_server_cannot_run_is_not_promoted(open_door: OpenDoor, project: Path) -> None:
    made(project, "run_1", "---\nname: poet\ntools: [fly]\n---\nFly.\n")
    api = await door_of(open_door, project)
    shown = (await api.get("/api/workers/poet/promotion")).json()
    refused = await api.post("/api/workers/poet/promote", {"digest": shown["digest"]})
    assert refused.status_code == 409
    assert all(each in refused.json()["detail"] for each in ("workers/poet.worker", "'fly'"))
    assert os.listdir(project / "workers") == ["orchestrator.worker"]


async def test_of_two_runs_the_newest_is_promoted_unless_one_is_named(open_door: OpenDoor, project: Path) -> None:
    for number, run_id in enumerate(("run_1", "run_2"), start=1):
        os.utime(made(project, run_id, f"---\nname: poet\n---\nWrite {run_id}.\n"), (number, number))
    api = await door_of(open_door, project)
    assert "+Write run_2." in (await api.get("/api/workers/poet/promotion")).json()["diff"]
    named = await api.get("/api/workers/poet/promotion", params={"run_id": "run_1"})
    assert "+Write run_1." in named.json()["diff"]
    await api.post("/api/workers/poet/promote", {"run_id": "run_1", "digest": named.json()["digest"]})
    assert "Write run_1." in (project / "workers" / "poet.worker").read_text()
    replaced = (await api.get("/api/workers/poet/promotion")).json()
    assert replaced["exists"] is True
    assert "-Write run_1.\n+Write run_2." in replaced["diff"]


async def test_what_is_not_there_is_not_found(open_door: OpenDoor, project: Path, api: Door) -> None:
    assert await workers(api) == []
    assert (await api.get("/api/workers/poet/promotion")).json()["code"] == "not_found"
    mine = await door_of(open_door, project)
    missing = await mine.post("/api/workers/poet/promote", {"digest": "any"})
    assert (missing.status_code, "'poet'" in missing.json()["detail"]) == (404, True)


async def test_keys_see_the_workers_of_their_own_runs_and_only_admin_promotes(
    open_door: OpenDoor, project: Path
) -> None:
    api = await door_of(open_door, project, approve="auto")
    ann, ben = await api.key("ann"), await api.key("ben")
    admin = await api.key("admin", Scope.ADMIN)
    await api.over(await led(api, headers=ann))
    assert [each["name"] for each in await workers(api, headers=ann)] == ["orchestrator", "poet"]
    (declared,) = await workers(api, headers=ben)
    assert declared["name"] == "orchestrator"
    assert (await api.get("/api/workers/poet/promotion", headers=ben)).status_code == 404
    seen = await api.get("/api/workers/poet/promotion", headers=ann)
    assert seen.status_code == 200
    body = {"digest": seen.json()["digest"]}
    assert (await api.post("/api/workers/poet/promote", body, headers=ann)).status_code == 403
    assert (await api.post("/api/workers/poet/promote", body, headers=admin)).status_code == 200


@pytest.mark.parametrize("newer", ["generated/run_2/poet.worker", "generated/run_1/poet.worker", "workers/poet.worker"])
async def test_only_what_was_shown_is_promoted(open_door: OpenDoor, project: Path, newer: str) -> None:
    worker = "---\nname: poet\n---\nWrite {}.\n"
    made(project, "run_1", worker.format("verse"))
    api = await door_of(open_door, project)
    shown = (await api.get("/api/workers/poet/promotion")).json()
    (project / newer).parent.mkdir(parents=True, exist_ok=True)
    (project / newer).write_text(worker.format("what nobody reviewed"))

    refused = await api.post("/api/workers/poet/promote", {"digest": shown["digest"]})

    assert (refused.status_code, refused.json()["code"]) == (409, "other_version")
    assert (project / "workers" / "poet.worker").exists() is newer.startswith("workers")
    assert (await api.post("/api/workers/poet/promote", {})).status_code == 422
    now = (await api.get("/api/workers/poet/promotion")).json()
    assert (await api.post("/api/workers/poet/promote", {"digest": now["digest"]})).status_code == 200
