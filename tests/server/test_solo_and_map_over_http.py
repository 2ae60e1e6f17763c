"""``worker`` and ``inputs`` in the body of a request to start a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from server.conftest import OpenDoor
from server.doors import Door

from leadhand.app.project.manifest import load_project
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, fails, says


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "echo.worker").write_text("---\nname: echo\n---\nRepeat it.\n")
    (folder / "leadhand.toml").write_text('worker_files = ["*.worker"]\n')
    return folder


def repeated(request: ModelRequest) -> Step:
    brief = brief_of(request)
    said = brief.get("input", brief.get("request"))
    return fails("invalid", "refused", "no") if said == "bad" else says(f"<{said}>")


async def door_of(open_door: OpenDoor, project: Path, **settings: Any) -> Door:
    models = ScriptedModel().on(lambda _: True, always=repeated)
    return await open_door(project=load_project(project), models=models, tools=[], **settings)


async def test_a_worker_carries_a_request_out(open_door: OpenDoor, project: Path) -> None:
    api = await door_of(open_door, project)
    run_id = (await api.post("/api/runs", {"request": "Hello", "worker": "echo"})).json()["run_id"]
    done = await api.over(run_id)
    assert (done["flow"], done["answer"], done["status"]) == ("solo", "<Hello>", "succeeded")
    followed = await api.post(f"/api/runs/{run_id}/follow-up", {"request": "Again"})
    assert (await api.over(followed.json()["run_id"]))["answer"] == "<Again>"


async def test_it_carries_out_inputs_in_their_order(open_door: OpenDoor, project: Path) -> None:
    api = await door_of(open_door, project)
    body = {"worker": "echo", "inputs": ["one", "bad", {"input": "three"}]}
    done = await api.over((await api.post("/api/runs", body)).json()["run_id"])
    assert (done["flow"], done["status"]) == ("map", "partial")
    assert done["value"] == ["<one>", None, "<three>"]
    assert [each["step"] for each in done["gaps"]] == ["echo-2"]


async def test_an_idempotency_key_returns_the_same_run(open_door: OpenDoor, project: Path) -> None:
    api = await door_of(open_door, project)
    body = {"worker": "echo", "inputs": ["one"]}
    key = {"idempotency-key": "k"}
    first, second = [(await api.post("/api/runs", body, headers=key)).json()["run_id"] for _ in range(2)]
    assert first == second
    other = await api.post("/api/runs", {**body, "inputs": ["two"]}, headers=key)
    assert other.json()["code"] == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"inputs": ["one"]}, 422),
        ({"worker": "echo"}, 422),
        ({"worker": "nobody", "request": "x"}, 409),
        ({"worker": "echo", "request": "x", "inputs": ["one"]}, 409),
        ({"worker": "echo", "request": "x", "flow": "report"}, 409),
        ({"worker": "echo", "inputs": []}, 409),
        ({"worker": "", "request": "x"}, 409),
        ({}, 422),
    ],
)
async def test_what_cannot_be_carried_out_is_refused(
    open_door: OpenDoor, project: Path, body: Any, status: int
) -> None:
    api = await door_of(open_door, project)
    assert (await api.post("/api/runs", body)).status_code == status
