"""What the stages of a run reported: the beginnings and ends of steps, and the notes of their workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leadhand.core.events import Entry, NoteEmitted, StepIssued, StepSettled
from leadhand.core.ids import step_of
from leadhand.core.value import Json, iso
from leadhand.core.work_order import Step


def progress_lines(entries: Iterable[Entry], before: str = "") -> Iterator[dict[str, Json]]:
    """Yield a line for each entry of a log that reports something: its time, the role, and a message; only those
    ``before`` a step was issued, if one is named, so that each of its attempts has the same ones."""
    known: dict[str, Step] = {}
    for entry in entries:
        match entry.event:
            case StepIssued(step=given) if given.step_id == before:
                return
            case StepIssued(step=given):
                key, message = given.step_id, f"{given.name}: started"
                known[key] = given
            case StepSettled(step=key, attempt=attempt, final=True, failure=failure) if attempt:
                ended = "completed" if failure is None else f"failed: {failure.message}"
                message = f"{known[key].name if key in known else key}: {ended}"
            case NoteEmitted(attempt=attempt, message=message, refused=False):
                key = step_of(attempt)
            case _:
                continue
        if key in known:
            yield {"timestamp": iso(entry.at), "agent": known[key].worker, "message": message}
