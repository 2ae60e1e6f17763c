"""Promote a generated worker: copy its file to those that the project declares, and name it in the manifest."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from leadhand.app.config_files import read_text, unwritten
from leadhand.app.manifest import Project, load_project, relative_path
from leadhand.app.project_workers import declared_workers
from leadhand.app.worker_files import SUFFIX, parse_worker
from leadhand.app.workers import WorkerDocument, generated_workers
from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.text import did_you_mean
from leadhand.tools.toolbox import Toolbox

FOLDER = "workers"
"""The directory of worker files in a project that declares none."""


class OtherVersion(UsageError):
    """Another version of a worker was shown than the one that would be promoted."""

    code = "other_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A generated worker, and the files that its promotion writes, with their content."""

    project: Project
    worker: WorkerDocument
    target: Path
    manifest: str

    @property
    def path(self) -> str:
        """The path of its file after the promotion, relative to the project."""
        return relative_path(self.target, self.project.directory)

    @property
    def exists(self) -> bool:
        """Whether there is such a file already, which would be replaced."""
        return self.target.is_file()

    def diff(self) -> str:
        """Return a unified diff of all files that would change; "" if none would."""
        return "".join(_diff(*each) for each in self._changes())

    @property
    def digest(self) -> str:
        """What identifies the changes: their files, with the content before and after."""
        return hashlib.sha256(json.dumps(self._changes()).encode()).hexdigest()[:32]

    def _changes(self) -> tuple[tuple[str, str, str], ...]:
        """Return the path of each file, its content as it is now, and that after the promotion."""
        before = read_text(self.target) if self.exists else ""
        manifest = self.project.path.name, read_text(self.project.path), self.manifest
        return (self.path, before, self.worker.text), manifest

    def carry_out(self, toolbox: Toolbox, shown: str) -> Project:
        """Write the files, and return the project with the worker. Nothing is changed if it could not be used.

        ``shown`` is the digest of what a person was shown. Raises OtherVersion if that is something else;
        ConfigurationError for a worker that cannot be used with these tools, and for files that cannot be written.
        """
        if shown != self.digest:
            what = f"what promoting {self.worker.name} changes is not what was shown ({shown})"
            raise OtherVersion(what, f"Look at it again: its digest is now {self.digest}.")
        promoted = {self.path: parse_worker(self.worker.text, self.path)}
        declared_workers(replace(self.project, workers=promoted), toolbox)
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            for file, text in ((self.target, self.worker.text), (self.project.path, self.manifest)):
                draft = file.with_name(f".{file.name}.tmp")
                draft.write_bytes(text.encode())
                os.replace(draft, file)
        except OSError as error:
            raise ConfigurationError(unwritten(error), "Check that you may write the file.") from error
        return load_project(self.project.path)


def promotion_of(project: Project, name: str, run_id: str | None = None) -> Promotion:
    """Return the promotion of the newest generated worker with a name, or of that of a run.

    Raises UsageError if no run generated one, ConfigurationError if its file is malformed.
    """
    every = [each for each in generated_workers(project) if run_id in (None, each.run_id)]
    worker = next((each for each in every if each.name == name), None)
    if worker is None:
        where = f" in run {run_id}" if run_id is not None else ""
        names = list(dict.fromkeys(each.name for each in every))
        how = f"Choose from: {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
        raise UsageError(f"there is no generated worker {name!r}{where}", how)
    if worker.problem is not None:
        what, _, how = worker.problem.partition(". ")
        raise ConfigurationError(what, how)
    declared = next((source for source, each in project.workers.items() if each.name == name), None)
    target = project.directory / (declared or _folder(project) / f"{name}{SUFFIX}")
    return Promotion(project=project, worker=worker, target=target, manifest=_manifest(project, target))


def _folder(project: Project) -> PurePosixPath:
    """Return the directory of the worker files of a project, relative to it."""
    folders = [PurePosixPath(named).parent for named in project.manifest.worker_files]
    return next((each for each in folders if not any(letter in str(each) for letter in "*?[")), PurePosixPath(FOLDER))


def _manifest(project: Project, target: Path) -> str:
    """Return the text of the manifest that names a worker file, with everything else as it is."""
    text, named = read_text(project.path), relative_path(target, project.directory)
    here = PurePosixPath(named)
    if any(PurePosixPath(each).parent == here.parent and here.match(each) for each in project.manifest.worker_files):
        return text
    import tomlkit  # imported late: only promotions write manifests

    document = tomlkit.parse(text)
    document.setdefault("worker_files", tomlkit.array()).append(named)
    return tomlkit.dumps(document)


def _diff(name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    return "".join(f"{line}\n" for line in lines)
