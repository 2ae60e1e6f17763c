"""Projects that tests write, and models that play their workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand
from leadhand.testing.scripted_model import ScriptedModel

ORCHESTRATOR = "---\nname: orchestrator\ntoolsets: [dynamic_workers]\n---\nMake workers and call them.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one worker that makes others."""
    folder = tmp_path / "project"
    (folder / "workers").mkdir(parents=True)
    (folder / "workers" / "orchestrator.worker").write_text(ORCHESTRATOR)
    (folder / "leadhand.toml").write_text('worker_files = ["workers/*.worker"]\ngenerated_workers_dir = "generated"\n')
    return folder


def declare(project: Path, name: str, *lines: str, does: str = "Do it.") -> None:
    """Declare a worker, with these lines in its front matter."""
    front = "\n".join((f"name: {name}", *lines))
    (project / "workers" / f"{name}.worker").write_text(f"---\n{front}\n---\n{does}\n")


def played(**workers: Any) -> ScriptedModel:
    """A model that plays each worker: with a list of turns, or always with the same one."""
    script = ScriptedModel()
    for name, turns in workers.items():
        mine = lambda request, name=name: request.worker == name  # noqa: E731
        script = script.on(mine, *turns) if isinstance(turns, list) else script.on(mine, always=turns)
    return script


def lead_of(project: Path, script: Any = None, **settings: Any) -> Leadhand:
    """Return a Leadhand of a project, with a home beside it."""
    scripted = {} if script is None else {"models": script, "tools": []}
    return Leadhand.of_project(project, home=project.parent / "home", **{**scripted, **settings})


async def led(project: Path, script: Any, request: str = "Go", worker: str = "orchestrator", **settings: Any) -> Any:
    """Return the answer of a run that a worker leads, and that asks nobody."""
    async with lead_of(project, script, approve="auto", **settings) as lead:
        return await lead.run(request, worker=worker)


def requests_of(script: ScriptedModel, worker: str) -> list[Any]:
    """Return the requests of a worker."""
    return [request for request in script.requests if request.worker == worker]


def results_of(script: ScriptedModel, worker: str = "orchestrator") -> list[str]:
    """Return the results of tools in the last request of a worker."""
    return [each.content for each in requests_of(script, worker)[-1].messages if each.role == "tool"]
