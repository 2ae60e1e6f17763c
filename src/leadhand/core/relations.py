"""How the steps of a run are related: parents and children, needs, and what began before its order."""

from __future__ import annotations

from collections.abc import Iterator

from . import events as ev
from .approval import Approval, Question
from .ids import order_id, step_of
from .state import RunState, StepState
from .work_order import Step


def parent_of(step: Step) -> str | None:
    """Return the step that asked for this one; None if the flow did."""
    return step_of(step.parent) if step.parent is not None else None


def ancestors(state: RunState, step: Step) -> list[StepState]:
    """Return the ancestors of a step, nearest first."""
    found: list[StepState] = []
    while (parent := parent_of(step)) is not None:
        found.append(state.steps[parent])
        step = found[-1].step
    return found


def child_id(call_id: str, number: int) -> str:
    """Return the id of the ``number``-th step that a call asked for, counted from 0."""
    return call_id if number == 0 else f"{call_id}.{number}"


def call_of(step_id: str) -> str:
    """Return the id of the call that asked for a child step. Ids of further children of a call have a suffix."""
    head, dot, number = step_id.rpartition(".")
    return head if dot and number.isdigit() and "/c" in head.rpartition("/t")[2] else step_id


def children_of(state: RunState, call_id: str) -> list[StepState]:
    """Return the steps that one call asked for, in order."""
    found: list[StepState] = []
    while (child := state.steps.get(child_id(call_id, len(found)))) is not None:
        found.append(child)
    return found


def descendants(state: RunState, key: str) -> list[str]:
    """Return the descendants of a step: its children, their children, and so on. Their ids begin with its own."""
    if key not in state.children:
        return []
    return [name for name, each in state.steps.items() if name.startswith(f"{key}/") and each.step.parent is not None]


def blocked_by(state: RunState, causes: set[str]) -> list[str]:
    """Return the steps that were dropped because they need one of ``causes``, directly or through others."""
    found: list[str] = []
    for key, step in state.steps.items():
        if step.given_up and step.superseded_by is None and causes.intersection(step.step.needs):
            found.append(key)
            causes = {*causes, key}
    return found


def ended_by(state: RunState, event: ev.AnyEvent) -> Iterator[str]:
    """Return the attempts of a state that end, as lost or because a person settled their step, with an event."""
    if isinstance(event, ev.AttemptReturned) and event.lost:
        yield event.attempt
    elif isinstance(event, ev.StepSettled) and event.by:
        for key in (event.step, *descendants(state, event.step)):
            step = state.steps.get(key)
            if step is not None and step.attempt is not None:
                yield step.attempt.attempt


def artifacts_of(state: RunState, key: str) -> list[str]:
    """Return the paths of the artifacts that a step and its descendants wrote."""
    below = f"{key}/"
    return [
        path
        for path, versions in state.artifacts.items()
        if any(f"{version.by}/".startswith(below) for version in versions)
    ]


def early(state: RunState) -> list[StepState]:
    """Return the subtasks that began while their plan was being written, and that no order contains yet."""
    return [state.steps[key] for key in state.early]


def open_approvals(state: RunState) -> list[Approval]:
    """Return the approvals that nobody has answered and that have not expired, oldest first."""
    return [state.approvals[each] for each in state.asking]


def open_question(state: RunState) -> Question | None:
    """Return the oldest question that nobody has answered; None without one, and once the run has ended."""
    unanswered = (state.questions[key] for key in state.unanswered)
    asked = next((each for each in unanswered if each.kind == "person"), None)
    return asked if state.finished is None else None


def dozes(state: RunState) -> bool:
    """Whether a run waits for timers and signals, and for nothing else."""
    return bool(state.unanswered) and not (state.live or state.unsettled or state.parked) and not open_question(state)


def next_order_id(state: RunState) -> str:
    """Return the id of the next order."""
    return order_id(len(state.orders) + 1)
