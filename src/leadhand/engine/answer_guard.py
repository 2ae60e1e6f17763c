"""Let hooks decide on the answer of a run, whatever wrote it, before the end of the run is recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from leadhand.core.events import AnyEvent, RunFinished
from leadhand.core.evolve import foreseen
from leadhand.core.outcome import FlowAnswer, concluded, failure_gap
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.engine.hooks import Hooks


async def guarded(
    hooks: Hooks, answer_of: Callable[[RunState], FlowAnswer], state: RunState, events: list[AnyEvent], now: datetime
) -> list[AnyEvent]:
    """Return the events that follow from ``state``; if the last one ends the run, with an answer that its hooks let
    pass.

    An answer that they block is replaced by the plain list of results or, if they block that too, by the reason. The
    gap says so.
    """
    if not events or not isinstance(end := events[-1], RunFinished):
        return events
    *first, _ = events
    failure = await hooks.before_answer(state.run_id, state.definition, end.answer, end.value)
    if failure is None:
        return events
    before, cancelled = foreseen(state, first, now) if first else state, end.status is RunStatus.CANCELLED
    stated = answer_of(before)
    gaps = [*stated.gaps, failure_gap("the answer", failure)]
    without = stated._replace(text="", value=None, gaps=gaps, judgement=None)
    plain = concluded(before, without, end.failure, cancelled=cancelled)
    failure = await hooks.before_answer(state.run_id, state.definition, plain.answer)
    if failure is None:
        return [*first, plain]
    end = plain.evolve(
        status=RunStatus.CANCELLED if cancelled else RunStatus.FAILED,
        answer=f"The answer is withheld: {failure.message}.",
        sources=(),
        gaps=(failure_gap("the answer", failure),),
        failure=failure,
    )
    return [*first, end]
