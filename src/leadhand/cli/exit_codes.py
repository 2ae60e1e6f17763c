"""Which exit code a run comes to: one table, for every command that ends with a run's end."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from leadhand.domain.errors import FailureClass
from leadhand.domain.run import RunStatus


class Exit(IntEnum):
    """What the exit codes mean; ``docs/reference/cli.md`` promises them to scripts."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    WAITING = 4
    EXHAUSTED = 5
    CONFIGURATION = 6
    INTERRUPTED = 130
    PIPE_CLOSED = 141
    """Nobody read stdout to its end; shells know it as 128 + SIGPIPE."""


OF_STATUS = {
    RunStatus.SUCCEEDED: Exit.ANSWERED,
    RunStatus.PARTIAL: Exit.PARTIAL,
    RunStatus.FAILED: Exit.FAILED,
    RunStatus.CANCELLED: Exit.FAILED,
    RunStatus.WAITING: Exit.WAITING,
    RunStatus.PAUSED: Exit.INTERRUPTED,
    RunStatus.RUNNING: Exit.FAILED,  # left behind by its process
    RunStatus.QUEUED: Exit.FAILED,
}

CREDENTIALS = frozenset({"bad_key", "unknown_model", "not_an_api", "quota", "configuration"})
"""Kinds of ``unavailable`` that a person mends in the set-up, when they end a whole run."""


def exit_code(status: RunStatus, failure: dict[str, Any] | None, gaps: list[dict[str, Any]]) -> Exit:
    """The exit code of a run: by its status, unless a limit or the set-up was the reason.

    ``failure`` and ``gaps`` are those of the run document. A limit that was used up wins over a partial answer; a run
    that failed for a reason of its own is not said to have run out of anything because its subtasks did not come to it.
    """
    if status is RunStatus.FAILED and failure is not None:
        if failure["class"] == FailureClass.EXHAUSTED:
            return Exit.EXHAUSTED
        if failure["class"] == FailureClass.UNAVAILABLE and failure["type"] in CREDENTIALS:
            return Exit.CONFIGURATION
        return Exit.FAILED
    classes = {gap["class"] for gap in gaps} | ({failure["class"]} if failure is not None else set[str]())
    if status in (RunStatus.PARTIAL, RunStatus.FAILED) and FailureClass.EXHAUSTED in classes:
        return Exit.EXHAUSTED
    return OF_STATUS[status]
