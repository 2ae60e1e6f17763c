"""The workers of a project, declared and generated, as people see them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from leadhand.app.config_files import read_text
from leadhand.app.document import Document
from leadhand.app.manifest import Project, named_files, relative_path
from leadhand.app.project_workers import check_worker_tools
from leadhand.app.worker_files import SUFFIX, TOOLSET, load_worker_file
from leadhand.core.errors import ConfigurationError
from leadhand.core.value import Json
from leadhand.tools.toolbox import Toolbox

_MADE_BY = re.compile(r"---\n# Made by (.+) in \S+, step \S+\n")


class WorkerDocument(Document):
    """A worker of a project: declared in its ``worker_files``, or generated during a run."""

    name: str
    description: str = ""
    source: Literal["project", "generated"]
    path: str = Field(description="Its file, relative to the project.")
    model: str | None = None
    tools: tuple[str, ...] = ()
    toolsets: tuple[str, ...] = ()
    limits: dict[str, int | float] = Field(default={}, description="The limits of one step that are set, by name.")
    input: dict[str, Json] | None = Field(default=None, description="The JSON schema of its tasks; null: text.")
    output: dict[str, Json] | None = Field(default=None, description="The JSON schema of its answers; null: text.")
    instructions: str = ""
    text: str = Field(default="", description="The whole file.")
    run_id: str | None = Field(default=None, description="The run that generated it.")
    made_by: str | None = Field(default=None, description="The worker that generated it.")
    runs: tuple[str, ...] = Field(default=(), description="The newest runs that used it, at most 20.")
    problem: str | None = Field(default=None, description="Why its file cannot be used; null if it can.")


def declared_workers(project: Project) -> Iterator[WorkerDocument]:
    """Yield the workers that a project declares, as their files are now, in the order of its manifest."""
    files = [file for named in project.manifest.worker_files for file in named_files(project.directory, named)]
    for file in dict.fromkeys(files):
        yield _document(project, file, source="project")


def generated_workers(project: Project) -> Iterator[WorkerDocument]:
    """Yield the workers that runs generated, those of the newest run first."""
    folder = project.generated_workers
    if folder is None:
        return
    for file in sorted(folder.glob(f"*/*{SUFFIX}"), key=lambda each: (each.stat().st_mtime, str(each)), reverse=True):
        made_by = _MADE_BY.match(_text(file))
        yield _document(
            project,
            file,
            source="generated",
            run_id=file.parent.name,
            made_by=made_by[1] if made_by else None,
        )


def checked(workers: Iterable[WorkerDocument], toolbox: Toolbox) -> list[WorkerDocument]:
    """Return workers, with the problem of those that name a tool or a toolset that does not exist."""
    known, found = toolbox.known(every=True), list[WorkerDocument]()
    for worker in workers:
        try:
            check_worker_tools((*worker.tools, *(f"{TOOLSET}{each}" for each in worker.toolsets)), worker.path, known)
        except ConfigurationError as error:
            worker = worker.evolve(problem=worker.problem or f"{error.what}. {error.how}")
        found.append(worker)
    return found


def _document(project: Project, file: Path, **more: Any) -> WorkerDocument:
    path = relative_path(file, project.directory)
    more |= {"path": path, "text": _text(file)}
    try:
        worker = load_worker_file(file)
    except ConfigurationError as error:
        problem = f"{error.what}. {error.how}".replace(str(file), path)
        return WorkerDocument(name=file.stem, problem=problem, **more)
    return WorkerDocument(
        name=worker.name,
        description=worker.description,
        model=", ".join(worker.models) or None,
        tools=tuple(each for each in worker.tools or () if not each.startswith(TOOLSET)),
        toolsets=tuple(each.removeprefix(TOOLSET) for each in worker.tools or () if each.startswith(TOOLSET)),
        limits=dict(worker.limits or {}),
        input=None if worker.input is None else dict(worker.input),
        output=worker.output,
        instructions=str(worker.instructions),
        **more,
    )


def _text(file: Path) -> str:
    try:
        return read_text(file)
    except ConfigurationError:
        return ""
