"""What a flow that is a function states as the answer of its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel

from leadhand.core.outcome import FlowAnswer, gap_of
from leadhand.core.state import RunState
from leadhand.core.value import compact_json, plain_json
from leadhand.core.work_order import Step
from leadhand.flows.seam.results import unfenced

from .passes import Pass
from .pending import Join, Pending
from .results import Result, StepFailed


def answer_now(now: Pass, state: RunState, unfinished: FlowAnswer | None = None) -> FlowAnswer:
    """Return the answer of a run in a state, as far as its pass has come.

    If the function of the pass has not ended, or failed, this is what it has received, unless it is ``unfinished`` with
    this answer. One that has returned is not judged yet if its end has not come.
    """
    error = now.main.error if now.main.done else None
    is_over = now.main.done and error is None
    found = cast("FlowAnswer", now.main.value) if is_over else now.answer or stated(now, unfinished, state)
    gaps = [gap_of(state, state.steps[error.result.key])] if isinstance(error, StepFailed) else []
    early = [each.key for each in now.early.values()]
    others = [key for key in now.unclaimed if now.main.done or key not in state.orders]
    left_out = [each for key in (*others, *early) for each in steps_asked(state, key)]
    return found._replace(gaps=[*found.gaps, *gaps], waived=waived(now, state), left_out=left_out)


def waived(now: Pass, state: RunState) -> list[str]:
    """Return the steps whose failure is not a gap: those that may fail, and what a flow that is over never awaited."""
    return [
        key
        for key, each in now.steps.items()
        if key in state.steps and (each.optional or (now.main.done and not (each.done or each.awaited)))
    ]


def steps_asked(state: RunState, key: str) -> Sequence[str]:
    """Return the steps of what a flow asks for: itself, or the subtasks of an order."""
    if (order := state.orders.get(key)) is not None:
        return order.order.subtask_keys
    return (key,) if key in state.steps else ()


def stated(now: Pass, made: object, state: RunState | None = None) -> FlowAnswer:
    """Return the answer of a flow that returns ``made`` (None: nothing), with the ids of what it uses. Unless it says
    what it rests on, that is every result that it has received, but for those that judge."""
    answer = FlowAnswer() if made is None else answer_of(made)
    written: Any = answer.text  # a flow may have returned anything else
    if answer.uses is not None:
        used = [each if isinstance(each, str) else each.key for each in answer.uses]
    else:
        received = (each for pending in now.steps.values() for each in pending.results())
        used = [each.key for each in received if each.ok and _may_be_evidence(each.state.step)]
        if made is None:
            steps = (state or now.state).steps
            used += [key for key, each in steps.items() if each.step.subtask is not None and each.ok]
    return answer._replace(text=unfenced(written) if isinstance(written, str) else written, uses=[*dict.fromkeys(used)])


def _may_be_evidence(step: Step) -> bool:
    return (step.counts or step.final) and not step.judges


def answer_of(made: object) -> FlowAnswer:
    """Return what a flow returned as an answer: text, a result, a pydantic instance, or JSON.

    Raises Unfit for what JSON cannot represent, TypeError for a step.
    """
    match made:
        case FlowAnswer():
            return made._replace(value=plain_json(made.value))
        case Result():
            value = made.state.value
            return FlowAnswer(made.text if value is None else compact_json(value), value=value)
        case str():
            return FlowAnswer(made)
        case Pending() | Join():
            raise TypeError("a step that it has not awaited")
        case _:
            value = plain_json(made.model_dump(mode="json") if isinstance(made, BaseModel) else made)
            return FlowAnswer(compact_json(value), value=value)
