"""Workers of the project that carry out stages of reports: their instructions, model, tools and limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, UsageError
from leadhand.flows.report.stages import instructions

TOPIC = "Heat pumps in old houses"
STYLIST = """---
name: stylist
description: Writes in the style of the house.
limits: {max_requests: 7}
output: {type: object, properties: {words: {type: integer}}}
---
Write short sentences.
"""
CHECKER = """---
name: checker
description: Looks for sources.
tools: [web_search]
---
Find sources.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "stylist.worker").write_text(STYLIST)
    (folder / "checker.worker").write_text(CHECKER)
    (folder / "leadhand.toml").write_text('worker_files = ["*.worker"]\n[stages.writer]\nworker = "stylist"\n')
    return folder


def lead_of(project: Path) -> Leadhand:
    (project / "leadhand.toml").write_text('worker_files = ["*.worker"]\n')  # stages are those of a call in Python
    return Leadhand.of_project(project, home=project.parent / "home", offline=True)


async def workers_of(project: Path, *agents: dict[str, Any]) -> dict[str, Any]:
    async with lead_of(project) as lead:
        run = await lead.start(TOPIC, flow="report", agents=list(agents))
        state = await run.wait()
        assert state.finished is not None
        return {worker.name: worker for worker in state.definition.workers}


@pytest.mark.slow
async def test_a_built_in_stage_keeps_its_instructions_and_its_output(project: Path) -> None:
    plain = (await workers_of(project))["writer"]
    worker = (await workers_of(project, {"name": "writer", "worker": "stylist"}))["writer"]
    assert worker.instructions == f"{instructions('writer')}\n\nWrite short sentences."
    assert (worker.output, worker.max_requests) == (plain.output, 7)


async def test_what_a_stage_sets_itself_stays(project: Path) -> None:
    worker = (await workers_of(project, {"name": "writer", "worker": "stylist", "max_requests": 3}))["writer"]
    assert worker.max_requests == 3


async def test_the_tools_of_a_worker_are_those_of_its_stage(project: Path) -> None:
    workers = await workers_of(
        project, {"name": "researcher", "worker": "checker"}, {"name": "facts", "worker": "checker", "after": "writer"}
    )
    assert workers["researcher"].tools == ("web_search",)
    assert workers["facts"].tools == ("web_search",)
    assert "Find sources." in workers["facts"].instructions


@pytest.mark.parametrize(
    ("stage", "what"),
    [
        ({"name": "writer", "worker": "stylst"}, "'stylst'"),
        ({"name": "writer", "worker": "stylist", "agent": "x.py:Writer"}, "writer.*agent.*worker"),
    ],
)
async def test_a_stage_with_a_worker_that_it_cannot_have_is_refused(
    project: Path, stage: dict[str, Any], what: str
) -> None:
    async with lead_of(project) as lead:
        with pytest.raises(UsageError, match=what):
            await lead.start(TOPIC, flow="report", agents=[stage])
