"""Workers of several inputs that make workers at the same time: each input has its own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand
from leadhand.app.project.generated_workers import generated_workers
from leadhand.app.project.manifest import load_project
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, Step, brief_of, calls, calls_all, says

FLOWERS = [f"flower {number}" for number in range(20)]


def made(request: ModelRequest) -> Step:
    """Make a poet of one flower, call it, and return its verse."""
    returned = [each.content for each in request.messages if each.role == "tool"]
    if request.worker.startswith("poet"):
        return says(request.messages[0].text.partition("\n")[0]).after(random.random() * 0.02)
    flower = brief_of(request)["input"]
    if not returned:
        create = ("worker_create", {"name": "poet", "instructions": f"Write about {flower}.", "description": "Writes."})
        call = ("worker_call", {"worker": "poet", "input": "Write."})
        return calls_all(*((create, call) if flower < "flower 5" else (create,))).after(random.random() * 0.02)
    if len(returned) == 1:
        return calls("worker_call", worker="poet", input="Write.").after(random.random() * 0.02)
    return says(returned[-1])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "workers").mkdir(parents=True)
    maker = "---\nname: maker\ntoolsets: [dynamic_workers]\n---\nMake a poet and call it.\n"
    (folder / "workers" / "maker.worker").write_text(maker)
    (folder / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\ngenerated_workers_dir = "generated"\n')
    return folder


@pytest.mark.parametrize("approve", ["auto", "ask"])
async def test_each_input_calls_the_worker_that_was_made_for_it(project: Path, approve: Any) -> None:
    models = ScriptedModel().on(lambda _: True, always=made)
    given: Any = {"models": models, "tools": [], "approve": approve, "on_approval": lambda _: True}
    async with Leadhand.of_project(project, home=project.parent / "home", **given) as lead:
        results = [each async for each in lead.map("maker", FLOWERS)]
    assert [each.text for each in results] == [f'{{"summary":"Write about {flower}."}}' for flower in FLOWERS]
    kept = {each.name: each.instructions for each in generated_workers(load_project(project))}
    assert sorted(kept.values()) == sorted(f"Write about {flower}." for flower in FLOWERS)
    assert "poet" in kept
