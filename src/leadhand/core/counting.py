"""Count the subtasks of a run as its view does. Stores count by events, and some events settle or replace several."""

from __future__ import annotations

from collections import Counter

from .events import SubtaskCounts
from .lifecycle import StepStatus
from .state import RunState


def subtask_counts(state: RunState) -> SubtaskCounts:
    """Return how lists count the subtasks of a run."""
    counting = (each for each in state.steps.values() if each.counts and each.superseded_by is None)
    found = Counter(each.status for each in counting)
    return SubtaskCounts(
        subtasks=found.total(),
        completed=found[StepStatus.COMPLETED],
        failed=found[StepStatus.FAILED] + found[StepStatus.DROPPED],
    )
