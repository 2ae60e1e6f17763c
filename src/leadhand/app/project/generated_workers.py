"""The workers of a project as people see them, and those that runs generate: their files and their promotion."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field

from leadhand.app.project.config_files import read_text, unwritten
from leadhand.app.project.declared_workers import check_worker_tools, declared_workers
from leadhand.app.project.manifest import Project, named_files, relative_path
from leadhand.app.project.worker_files import FENCE, SUFFIX, load_worker_file, parse_worker, worker_text
from leadhand.core.artifact import confined
from leadhand.core.errors import ConfigurationError, FailureClass, ToolError, UsageError
from leadhand.core.errors.advice import Advice
from leadhand.core.text import did_you_mean
from leadhand.core.value import Json, Value
from leadhand.core.worker import TOOLSET, Worker
from leadhand.tools.toolbox import Toolbox

_MADE_BY = re.compile(r"---\n# Made by (.+) in \S+, step \S+\n")


class WorkerDocument(Value):
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
    problem: str | None = Field(default=None, description="Why its file cannot be used; null if it can.")


def declared_documents(project: Project) -> Iterator[WorkerDocument]:
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


FOLDER = "workers"
"""The usual directory of worker files in a project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A generated worker, and the file that its promotion writes."""

    project: Project
    worker: WorkerDocument
    target: Path

    @property
    def path(self) -> str:
        """The path of its file after the promotion, relative to the project."""
        return relative_path(self.target, self.project.directory)

    def diff(self) -> str:
        """Return a unified diff of the file; "" if it would not change."""
        before = read_text(self.target).splitlines() if self.target.is_file() else []
        after = self.worker.text.splitlines()
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", lineterm="")
        return "".join(f"{line}\n" for line in lines)

    def carry_out(self, toolbox: Toolbox) -> None:
        """Write the file. Raises ConfigurationError for a worker that cannot be used with these tools, and for a file
        that cannot be written."""
        promoted = {self.path: parse_worker(self.worker.text, self.path)}
        declared_workers(replace(self.project, workers={**self.project.workers, **promoted}), toolbox)
        try:
            _write(self.target, self.worker.text)
        except OSError as error:
            raise ConfigurationError(unwritten(error), "Check that you may write the file.") from error


def _write(file: Path, content: str) -> None:
    """Write a whole file, or leave it as it is. Raises OSError."""
    draft = file.with_name(f".{file.name}.tmp")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        draft.write_text(content, "utf-8")
        os.replace(draft, file)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def promotion_of(project: Project, name: str, run_id: str | None = None) -> Promotion:
    """Return the promotion of the newest generated worker with a name, or of that of a run.

    Raises UsageError if no run generated one; ConfigurationError if its file is malformed, and if the manifest does not
    name the file that it would get.
    """
    every = [each for each in generated_workers(project) if run_id in (None, each.run_id)]
    worker = next((each for each in every if each.name == name), None)
    if worker is None:
        where = f" in run {run_id}" if run_id is not None else ""
        names = list(dict.fromkeys(each.name for each in every))
        choose = f"Choose from: {', '.join(names)}.{did_you_mean(name, names)}"
        how = choose if names else Advice("List them: {list_workers}")
        raise UsageError(f"there is no generated worker {name!r}{where}", how)
    if worker.problem is not None:
        what, _, how = worker.problem.partition(". ")
        raise ConfigurationError(what, how)
    file = PurePosixPath(f"{name}{SUFFIX}")
    patterns = [PurePosixPath(each) for each in project.manifest.worker_files]
    places = [source for source, each in project.workers.items() if each.name == name]
    places += [
        str(each.with_name(file.name)) for each in patterns if file.match(each.name) and "*" not in each.parent.name
    ]
    if not places:
        how = f'Add a pattern such as "{FOLDER}/*{SUFFIX}" to worker_files, and promote it again.'
        raise project.fault(f"no pattern in worker_files fits {file}", how, "worker_files")
    return Promotion(project=project, worker=worker, target=project.directory / places[0])


LARGEST_ATTACHMENT = 1_000_000
"""Bytes of a file of the project that is attached to a call, at most."""
_HIDDEN = re.compile(r"(^|/)\.")


class ProjectWorkshop:
    """Keeps the workers of a project whose manifest sets ``generated_workers_dir``."""

    def __init__(self, project: Project, generated: Path) -> None:
        self._project = project
        self._generated = generated
        self._writing = threading.Lock()

    def _free(self, run_id: str, name: str, about: str) -> bool:
        try:
            file = self._generated / run_id / f"{name}{SUFFIX}"
            return file.read_text("utf-8").startswith(f"{FENCE}\n# {about}\n")
        except (OSError, ValueError):
            return True

    async def write(self, run_id: str, worker: Worker, about: str, taken: Collection[str]) -> tuple[Worker, str]:
        """Write the file of a worker, and return the worker with its name, and the path in the project.

        A new version replaces the file. Raises ToolError if it cannot be written, or does not read back as written.
        """
        return await asyncio.to_thread(self._write, run_id, worker, about, taken)

    def _write(self, run_id: str, worker: Worker, about: str, taken: Collection[str]) -> tuple[Worker, str]:
        with self._writing:  # makers side by side may choose one name
            names = (worker.name, *(f"{worker.name}-{number}" for number in range(2, 100_000)))
            free = (name for name in names if name not in taken and self._free(run_id, name, about))
            worker = worker.evolve(name=next(free))
            return worker, self._written(self._generated / run_id, worker, about)

    def _written(self, folder: Path, worker: Worker, about: str) -> str:
        text = worker_text(worker, about)
        read = parse_worker(text, f"{worker.name}{SUFFIX}").recorded()
        if read.evolve(counts=worker.counts, fingerprint=worker.fingerprint) != worker:
            raise ToolError(f"the file of {worker.name} would not read back as it was written", type="not_readable")
        file = folder / f"{worker.name}{SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if folder.resolve() != self._project.directory.resolve() / folder.relative_to(self._project.directory):
                raise ToolError(f"{folder} is reached through a link", type="not_confined")
            _write(file, text)
        except OSError as error:
            raise ToolError(
                unwritten(error, file),
                type="file",
                class_=FailureClass.UNAVAILABLE,
                next_action="make the directory generated_workers_dir writable",
            ) from error
        return str(file.relative_to(self._project.directory))

    async def attachment(self, path: str) -> bytes:
        """Return the content of a file of the project. Raises UsageError for a path outside it, or no file."""
        return await asyncio.to_thread(self._attachment, path)

    def _attachment(self, path: str) -> bytes:
        relative = confined(path)
        root = self._project.directory.resolve()
        file = (root / relative).resolve()
        if _HIDDEN.search(relative) or root not in file.parents:
            raise UsageError(f"{relative} is not a file that can be attached", "attach a file below the project")
        try:
            with file.open("rb") as opened:
                content = opened.read(LARGEST_ATTACHMENT + 1)
        except OSError as error:
            raise UsageError(
                f"cannot read the attachment {relative}: {error.strerror or error}", "attach a file that exists"
            ) from error
        if len(content) > LARGEST_ATTACHMENT:
            raise UsageError(f"the attachment {relative} is too large", f"attach at most {LARGEST_ATTACHMENT:,} bytes")
        return content
