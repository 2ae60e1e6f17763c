"""What continues with an assignment that a limit stopped: the children that were stopped while it waited for them."""

from __future__ import annotations

from leadhand.core.frozen import FrozenDict
from leadhand.core.state import AssignmentState, ModelTurn, RunState

from .attempts import children_of


def continued(state: RunState, key: str) -> list[str]:
    """Return the children that continue with an assignment, and open the calls again that asked for them.

    These are the children of its latest reply that a limit stopped, and theirs: no reply has used their failure yet.
    """
    found: list[str] = []
    assignment = state.assignments[key]
    for call_id in _latest_calls(assignment):
        stopped = [each for each in children_of(state, call_id) if each.stopped is not None]
        if stopped:
            _open_again(state, key, call_id)
        for child in stopped:
            found += [child.key, *continued(state, child.key)]
    return found


def _latest_calls(assignment: AssignmentState) -> list[str]:
    """Return the calls of the latest reply of an assignment that a limit stopped, as far as they were asked for."""
    if assignment.stopped is None:
        return []
    turn = next((each.call_id for each in reversed(assignment.calls) if isinstance(each, ModelTurn)), None)
    asked = [each.call_id for each in (*assignment.stopped.open_calls, *assignment.evidence)]
    return list(dict.fromkeys(each for each in asked if turn is not None and each.startswith(f"{turn}/c")))


def _open_again(state: RunState, key: str, call_id: str) -> None:
    """Forget the answer to a call. What its tool returned stays; a call that only delegates has no result any more."""
    assignment = state.assignments[key]
    calls = [
        each if isinstance(each, ModelTurn) or each.call_id != call_id else each._replace(failure=None)
        for each in assignment.calls
        if isinstance(each, ModelTurn) or each.call_id != call_id or each.asks
    ]
    stopped = assignment.stopped
    if stopped is not None:
        answers = {name: answer for name, answer in stopped.answers.items() if name != call_id}
        stopped = stopped._replace(answers=FrozenDict(answers))
    state.assignments[key] = assignment._replace(calls=tuple(calls), stopped=stopped)
