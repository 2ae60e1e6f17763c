"""The documents of a run, as scripts, the console and people read them: projections of the log and nothing else."""

from .event_line import EventDocument, event_line
from .moments import Moment, iso
from .run_document import run_document, run_line
from .shapes import ApprovalCard, RunDocument, RunLine
from .work import context_events, work_order, work_state

__all__ = [
    "ApprovalCard",
    "EventDocument",
    "Moment",
    "RunDocument",
    "RunLine",
    "context_events",
    "event_line",
    "iso",
    "run_document",
    "run_line",
    "work_order",
    "work_state",
]
