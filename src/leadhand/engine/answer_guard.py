"""Let hooks decide on the answer of a run, whatever wrote it, before the end of the run is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.core.events import AnyEvent, RunFinished
from leadhand.core.outcome import failure_gap
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.engine.hooks import Hooks


async def guarded(hooks: Hooks, state: RunState, events: Sequence[AnyEvent]) -> Sequence[AnyEvent]:
    """Return the events that follow from ``state``; if the last one ends the run, with an answer that its hooks let
    pass, or with the reason why not in place of it."""
    if not events or not isinstance(end := events[-1], RunFinished):
        return events
    failure = await hooks.before_answer(state.run_id, state.definition, end.answer, end.value)
    if failure is None:
        return events
    withheld = end.evolve(
        status=RunStatus.CANCELLED if end.status is RunStatus.CANCELLED else RunStatus.FAILED,
        answer=f"The answer is withheld: {failure.message}.",
        value=None,
        sources=(),
        gaps=(failure_gap("the answer", failure),),
        failure=failure,
        judgement=None,
    )
    return [*events[:-1], withheld]
