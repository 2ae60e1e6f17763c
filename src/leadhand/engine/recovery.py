"""Recovery when a process takes a run over: gives up the attempts of the process that is gone."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.domain import commands as do
from leadhand.domain.errors import Failure
from leadhand.domain.evolve.attempts import INTERRUPTED
from leadhand.domain.lifecycle import AttemptStatus
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState


def lost_attempts(state: RunState) -> Iterator[do.Command]:
    """Give up every attempt that was running: in this set-up its process was the owner, and the owner is another now.

    The usual rules decide what follows: the work is retried, unless a ``once`` call had begun. Attempts that were only
    scheduled start as usual.
    """
    paused = state.status is RunStatus.PAUSED
    forked = state.epoch == 1 and state.definition.forked_from is not None
    for key in state.live:
        assignment = state.assignments[key]
        attempt = assignment.attempt
        if attempt is None or attempt.status is not AttemptStatus.RUNNING:
            continue
        if forked:
            failure = _lost("the run was forked while it was under way", INTERRUPTED)
        elif paused:
            failure = _lost("the run was paused while it was under way", INTERRUPTED)
        else:
            failure = _lost(f"the process that ran it ({attempt.host}) is gone", "process_died")
        yield do.GiveUpAttempt(attempt=attempt.attempt, failure=failure)


def _lost(message: str, type_: str) -> Failure:
    return Failure.model_validate({"message": message, "type": type_, "class": "lost"})
