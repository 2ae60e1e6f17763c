"""The input schema of a worker: what does not fit it is refused before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus, UsageError
from leadhand.core.errors import ConfigurationError
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, says

GRADER = """---
name: grader
input: {type: object, properties: {deck: {type: string}, strict: {type: boolean}}, required: [deck]}
---
Grade the deck.
"""
ORCHESTRATOR = "---\nname: orchestrator\ntoolsets: [dynamic_workers]\n---\nCall the grader.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "workers").mkdir(parents=True)
    (folder / "workers" / "grader.worker").write_text(GRADER)
    (folder / "workers" / "orchestrator.worker").write_text(ORCHESTRATOR)
    (folder / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\n')
    return folder


async def led(project: Path, script: ScriptedModel, request: str, worker: str) -> Any:
    async with Leadhand.of_project(project, home=project.parent / "home", models=script, tools=[]) as lead:
        return await lead.run(request, worker=worker)


@pytest.mark.parametrize(
    ("request_", "why"), [("Grade solar.md", "grader"), ('{"strict": true}', '"deck"'), ('{"deck": 5}', "deck: 5")]
)
async def test_a_request_that_does_not_fit_is_refused(project: Path, request_: str, why: str) -> None:
    with ScriptedModel() as script, pytest.raises(UsageError) as refused:
        await led(project, script, request_, "grader")
    assert why in refused.value.what
    assert '"required":["deck"]' in refused.value.how
    assert not script.requests


async def test_a_request_that_fits_is_carried_out(project: Path) -> None:
    answer = await led(project, ScriptedModel([says("good")]), '{"deck": "solar.md"}', "grader")
    assert answer.text.startswith("good")


async def test_a_call_that_does_not_fit_is_refused_with_the_schema_and_starts_nothing(project: Path) -> None:
    script = ScriptedModel()
    script.on(lambda request: request.worker == "grader", says("good"))
    script.on(
        lambda request: request.worker == "orchestrator",
        calls("worker_call", worker="grader", input="Grade solar.md"),
        calls("worker_call", worker="grader", input='{"deck": "solar.md"}'),
        says("It is good."),
    )
    answer = await led(project, script, "Go", "orchestrator")
    assert answer.status is not RunStatus.FAILED
    (graded,) = [request for request in script.requests if request.worker == "grader"]
    assert brief_of(graded)["input"] == {"deck": "solar.md"}
    asked = [request for request in script.requests if request.worker == "orchestrator"]
    assert '"deck"' in asked[1].messages[-1].content.replace("\\", "")


async def test_a_worker_of_the_project_cannot_have_the_name_of_one_of_the_flow(project: Path) -> None:
    (project / "workers" / "review.worker").write_text("---\nname: review\n---\nReview.\n")
    async with Leadhand.of_project(project, home=project.parent / "home", models=ScriptedModel(), tools=[]) as lead:
        with pytest.raises(ConfigurationError, match=r"review .*work-order"):
            await lead.start("x")
