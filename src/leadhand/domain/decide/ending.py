"""Ending a run: what is still under way is ended, and the evidence decides the outcome of the run."""

from __future__ import annotations

from datetime import datetime

from leadhand.domain import commands as do
from leadhand.domain import events as ev
from leadhand.domain.errors import Failure
from leadhand.domain.evolve import fold
from leadhand.domain.lifecycle import RUN
from leadhand.domain.outcome import concluded
from leadhand.domain.policy import Policy
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState

from .attempts import failure_of, under_way, unseen_effect


def may_become(state: RunState, status: RunStatus) -> bool:
    """Whether a run may go from its status to this one."""
    return status in RUN[state.status]


def finish(state: RunState, command: do.Finish, now: datetime, policy: Policy) -> list[ev.AnyEvent]:
    """End a run. Its flow states the outcome; status, sources and gaps follow from the evidence."""
    ended = _end_attempts(state, command.failure, policy)
    entries = [
        ev.Entry.model_construct(seq=state.seq + n, at=now, epoch=state.epoch, event=event)
        for n, event in enumerate(ended, start=1)
    ]
    after = fold(state, entries) if entries else state
    finished = concluded(after, policy.outcome(after), command.failure, cancelled=command.cancelled)
    if not may_become(state, finished.status):
        raise do.Refused(f"a run that is {state.status} does not end as {finished.status}")
    return [*ended, finished]


def _end_attempts(state: RunState, failure: Failure | None, policy: Policy) -> list[ev.AnyEvent]:
    """End what is still under way or waits when its run ends; what has returned is judged, and not retried."""
    cause = failure or Failure.model_validate(
        {"message": "the run ended before it did", "type": "run_ended", "class": "rejected"}
    )
    ended: list[ev.AnyEvent] = []
    for key in state.unsettled:
        assignment = state.assignments[key]
        if assignment.attempt is not None and assignment.attempt.result is not None:
            found = failure_of(state, assignment, assignment.attempt.result, policy)
            ended.append(
                ev.AttemptSettled(
                    attempt=assignment.attempt.attempt,
                    ok=found is None,
                    final=True,
                    counts=assignment.counts,
                    failure=found,
                )
            )
    for key in (*state.live, *state.parked, *state.retrying):
        assignment = state.assignments[key]
        attempt = under_way(state, key).attempt
        why = unseen_effect(assignment) or cause
        if key in state.live:
            ended.append(ev.AttemptLost(attempt=attempt, failure=why))
        ended.append(ev.AttemptSettled(attempt=attempt, ok=False, final=True, counts=assignment.counts, failure=why))
    return ended
