"""The documents of a run, as scripts, the console and people read them: projections of the log and nothing else."""

from .event_line import EventDocument, EventWords, event_line
from .run_document import artifact_lines, run_document, run_line, work_order, work_state
from .shapes import ApprovalCard, ArtifactLine, Moment, RunDocument, RunLine, iso

__all__ = [
    "ApprovalCard",
    "ArtifactLine",
    "EventDocument",
    "EventWords",
    "Moment",
    "RunDocument",
    "RunLine",
    "artifact_lines",
    "event_line",
    "iso",
    "run_document",
    "run_line",
    "work_order",
    "work_state",
]
