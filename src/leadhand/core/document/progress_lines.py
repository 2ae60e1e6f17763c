"""What the stages of a run reported: the beginnings and ends of assignments, and the notes of their workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from leadhand.core.events import AssignmentIssued, AttemptSettled, Entry, NoteEmitted
from leadhand.core.ids import assignment_of
from leadhand.core.value import Json
from leadhand.core.work_order import Assignment

from .event_line import iso


def progress_lines(assignments: Mapping[str, Assignment], entries: Iterable[Entry]) -> Iterator[dict[str, Json]]:
    """Yield a line for each entry of these assignments that reports something: its time, the role, and a message."""
    known: dict[str, Assignment] = {**assignments}
    for entry in entries:
        match entry.event:
            case AssignmentIssued(assignment=given):
                key, message = given.assignment_id, f"{given.name}: started"
                known[key] = given
            case AttemptSettled(attempt=attempt, final=True, failure=failure):
                key = assignment_of(attempt)
                ended = "completed" if failure is None else f"failed: {failure.message}"
                message = f"{known[key].name if key in known else key}: {ended}"
            case NoteEmitted(attempt=attempt, message=message):
                key = assignment_of(attempt)
            case _:
                continue
        if key in known:
            yield {"timestamp": iso(entry.at), "agent": known[key].role, "message": message}


def lines_before(assignment: str, entries: Iterable[Entry]) -> list[dict[str, Json]]:
    """Return the lines of a run before an assignment was issued: the same ones for each of its attempts."""
    before = takewhile(
        lambda each: not isinstance(each.event, AssignmentIssued) or each.event.assignment.assignment_id != assignment,
        entries,
    )
    return list(progress_lines({}, before))
