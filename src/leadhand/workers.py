"""Workers as files: ``load_worker_file("triage.worker")`` returns what ``Worker(…)`` makes in Python."""

from __future__ import annotations

from pathlib import Path

from leadhand.app.project.worker_files import load_worker_file as _load
from leadhand.flows.seam.worker import Worker

__all__ = ["Worker", "load_worker_file"]


def load_worker_file(path: Path | str) -> Worker:
    """Return the worker that a file defines. Raises ConfigurationError, with the line, for a malformed file."""
    return _load(Path(path))
