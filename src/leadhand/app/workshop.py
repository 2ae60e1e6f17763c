"""The files of workers that are made during runs, and the files of the project that are attached to calls of workers.

Workers are kept as ``<generated_workers_dir>/<run>/<name>.worker``.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Collection
from pathlib import Path

from leadhand.app.config_files import unwritten
from leadhand.app.manifest import Project
from leadhand.app.worker_files import FENCE, SUFFIX, parse_worker, worker_text
from leadhand.core.artifact import confined
from leadhand.core.errors import FailureClass, ToolError, UsageError
from leadhand.core.worker import Worker

LARGEST_ATTACHMENT = 1_000_000
"""Bytes of a file of the project that is attached to a call, at most."""
_HIDDEN = re.compile(r"(^|/)\.")


class ProjectWorkshop:
    """Keeps the workers of a project whose manifest sets ``generated_workers_dir``."""

    def __init__(self, project: Project, generated: Path) -> None:
        self._project = project
        self._generated = generated
        self._writing = threading.Lock()

    def text(self, worker: Worker, about: str) -> str:
        """Return the whole file of a worker. Raises ToolError if it would not read back as it was written."""
        text = worker_text(worker, about)
        read = parse_worker(text, f"{worker.name}{SUFFIX}").recorded()
        if read.evolve(counts=worker.counts, fingerprint=worker.fingerprint) != worker:
            raise ToolError(f"the file of {worker.name} would not read back as it was written", type="not_readable")
        return text

    def named(self, run_id: str, worker: Worker, about: str, taken: Collection[str]) -> Worker:
        """Return a worker with a name that is not ``taken``, and whose file is missing or has the same ``about``."""
        names = (worker.name, *(f"{worker.name}-{number}" for number in range(2, 100_000)))
        return worker.evolve(name=next(name for name in names if name not in taken and self._free(run_id, name, about)))

    def _free(self, run_id: str, name: str, about: str) -> bool:
        try:
            file = self._generated / run_id / f"{name}{SUFFIX}"
            return file.read_text("utf-8").startswith(f"{FENCE}\n# {about}\n")
        except (OSError, ValueError):
            return True

    async def write(self, run_id: str, worker: Worker, about: str, taken: Collection[str]) -> tuple[Worker, str]:
        """Write the file of a worker, and return the worker as it is :meth:`named`, and the path in the project.

        A new version replaces the file. Raises ToolError if it cannot be written, or does not read back as written.
        """
        return await asyncio.to_thread(self._write, run_id, worker, about, taken)

    def _write(self, run_id: str, worker: Worker, about: str, taken: Collection[str]) -> tuple[Worker, str]:
        with self._writing:  # makers side by side may choose one name
            worker = self.named(run_id, worker, about, taken)
            return worker, self._written(self._generated / run_id, worker, about)

    def _written(self, folder: Path, worker: Worker, about: str) -> str:
        text = self.text(worker, about)
        file = folder / f"{worker.name}{SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if folder.resolve() != self._project.directory.resolve() / folder.relative_to(self._project.directory):
                raise ToolError(f"{folder} is reached through a link", type="not_confined")
            draft = file.with_suffix(".tmp")
            draft.write_text(text, "utf-8")
            os.replace(draft, file)
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
