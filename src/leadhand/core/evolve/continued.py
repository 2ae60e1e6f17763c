"""What continues with a step that a limit stopped: the children that were stopped while it waited for them."""

from __future__ import annotations

from leadhand.core.frozen import FrozenDict
from leadhand.core.state import ModelTurn, RunState, StepState

from .attempts import children_of


def continued(state: RunState, key: str) -> list[str]:
    """Return the children that continue with a step, and open the calls again that asked for them.

    These are the children of its latest reply that a limit stopped, and theirs: no reply has used their failure yet.
    """
    found: list[str] = []
    step = state.steps[key]
    for call_id in _latest_calls(step):
        stopped = [each for each in children_of(state, call_id) if each.stopped is not None]
        if stopped:
            _open_again(state, key, call_id)
        for child in stopped:
            found += [child.key, *continued(state, child.key)]
    return found


def _latest_calls(step: StepState) -> list[str]:
    """Return the calls of the latest reply of a step that a limit stopped, as far as they were asked for."""
    if step.stopped is None:
        return []
    turn = next((each.call_id for each in reversed(step.calls) if isinstance(each, ModelTurn)), None)
    asked = [each.call_id for each in (*step.stopped.open_calls, *step.evidence)]
    return list(dict.fromkeys(each for each in asked if turn is not None and each.startswith(f"{turn}/c")))


def _open_again(state: RunState, key: str, call_id: str) -> None:
    """Forget the answer to a call. What its tool returned stays; a call that only delegates has no result any more."""
    step = state.steps[key]
    calls = [
        each if isinstance(each, ModelTurn) or each.call_id != call_id else each._replace(failure=None)
        for each in step.calls
        if isinstance(each, ModelTurn) or each.call_id != call_id or each.asks
    ]
    stopped = step.stopped
    if stopped is not None:
        answers = {name: answer for name, answer in stopped.answers.items() if name != call_id}
        stopped = stopped._replace(answers=FrozenDict(answers))
    state.steps[key] = step._replace(calls=tuple(calls), stopped=stopped)
