"""Tells of tools that seem to end the process they are called in: a run that comes back to them dies again."""

from __future__ import annotations

from collections import Counter

from leadhand.domain.errors import FailureClass
from leadhand.domain.events import AttemptLost
from leadhand.domain.ids import assignment_of
from leadhand.domain.lifecycle import AttemptStatus
from leadhand.domain.run import RunStatus
from leadhand.domain.state import AssignmentState, RunState
from leadhand.ports import ContextStore

DIED = "process_died"
"""The type of the failure of an attempt whose process is gone."""


async def losses(store: ContextStore, state: RunState) -> list[tuple[str, str]]:
    """For a run that is taken up: each subtask whose process died more than once in the same call, as a line.

    The log is only read when there may be one.
    """
    calls = {key: _open_call(state.assignments[key]) for key in state.live}
    suspects = {
        key: tool
        for key, tool in calls.items()
        if tool is not None and FailureClass.LOST in state.assignments[key].failures
    }
    if not suspects:
        return []
    times = Counter(
        assignment_of(entry.event.attempt)
        for entry in await store.read(state.run_id)
        if isinstance(entry.event, AttemptLost) and entry.event.failure.type == DIED
    )
    if state.status is not RunStatus.PAUSED:  # those that ran when it was left behind, which nobody wrote down yet
        times.update(key for key in suspects if _runs(state.assignments[key]))
    return [
        ("lost", f"{times[key]} times while calling {tool} ({key}): it may kill this process")
        for key, tool in suspects.items()
        if times[key] > 1
    ]


def _open_call(assignment: AssignmentState) -> str | None:
    """The tool of a call that began and whose end nobody saw."""
    ended = {call.call_id for call in assignment.evidence}
    return next((call.tool for call in assignment.begun if call.call_id not in ended), None)


def _runs(assignment: AssignmentState) -> bool:
    return assignment.attempt is not None and assignment.attempt.status is AttemptStatus.RUNNING
