"""Exit codes, and the exit code of each outcome of a run."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.run import Gap, RunStatus

if TYPE_CHECKING:
    from leadhand.core.state import RunState


class Exit(IntEnum):
    """The exit codes. ``docs/reference/cli.md`` promises them to scripts."""

    ANSWERED = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    WAITING = 4
    EXHAUSTED = 5
    CONFIGURATION = 6
    INTERRUPTED = 130
    PIPE_CLOSED = 141
    """The reader closed stdout: 128 + SIGPIPE, as shells report it."""


OF_STATUS = {
    RunStatus.SUCCEEDED: Exit.ANSWERED,
    RunStatus.PARTIAL: Exit.PARTIAL,
    RunStatus.WAITING: Exit.WAITING,
    RunStatus.PAUSED: Exit.INTERRUPTED,
}
"""Every other status exits with FAILED: a run that still counts as running here has lost its process."""

CREDENTIALS = frozenset({"bad_key", "unknown_model", "not_an_api", "quota", "configuration"})
"""Types of ``unavailable`` failures that are configuration errors when they end a whole run."""


def exit_code(status: RunStatus, failure: Failure | None, gaps: Sequence[Gap]) -> Exit:
    """Return the exit code of a run: that of its status, unless a limit or the configuration ended it.

    A used-up limit takes precedence over a partial answer. A run that failed for another reason does not count as out
    of budget, even if its subtasks never ran.
    """
    if status is RunStatus.FAILED and failure is not None:
        if failure.class_ == FailureClass.UNAVAILABLE and failure.type in CREDENTIALS:
            return Exit.CONFIGURATION
        return Exit.EXHAUSTED if failure.class_ == FailureClass.EXHAUSTED else Exit.FAILED
    classes = {each.class_ for each in (*gaps, *filter(None, [failure]))}
    if status in (RunStatus.PARTIAL, RunStatus.FAILED) and FailureClass.EXHAUSTED in classes:
        return Exit.EXHAUSTED
    return OF_STATUS.get(status, Exit.FAILED)


def code_of(state: RunState) -> Exit:
    """Return the exit code of a run at rest."""
    finished = state.finished
    return exit_code(state.status, finished and finished.failure, finished.gaps if finished is not None else ())
