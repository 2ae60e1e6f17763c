"""Workers as files: ``load_worker_file("triage.worker")`` returns what ``Worker(…)`` makes in Python."""

from __future__ import annotations

from leadhand.app.project.worker_files import load_worker_file as load_worker_file
from leadhand.flows.seam.function import Worker as Worker
