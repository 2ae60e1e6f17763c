"""Which assignments may start: those whose needs are completed; those that need something that failed are blocked."""

from __future__ import annotations

from leadhand.domain.assignment import Assignment
from leadhand.domain.lifecycle import AssignmentStatus
from leadhand.domain.state import AssignmentState, RunState

FAILED = (AssignmentStatus.FAILED, AssignmentStatus.DROPPED)


def await_needs(state: RunState, key: str, needs: tuple[str, ...]) -> None:
    """Note what a new assignment waits for; without anything to wait for it may start."""
    awaited = 0
    for needed in needs:
        match state.assignments[needed].status:
            case AssignmentStatus.COMPLETED:
                pass
            case AssignmentStatus.FAILED | AssignmentStatus.DROPPED:
                state.blocked[key] = needed
            case _:
                awaited += 1
                state.dependents[needed] = (*state.dependents.get(needed, ()), key)
    if awaited:
        state.awaited[key] = awaited
    elif key not in state.blocked:
        state.ready[key] = None


def needs_settled(state: RunState, key: str, *, ok: bool) -> None:
    """Count a settled assignment off its order, and free or block those that need it."""
    assignment = state.assignments[key]
    if assignment.order:
        order = state.orders[assignment.order]
        state.orders[assignment.order] = order._replace(open=order.open - 1)
    for dependent in state.dependents.pop(key, ()):
        if not ok:
            if state.assignments[dependent].status is AssignmentStatus.PENDING:
                state.blocked.setdefault(dependent, key)
            continue
        if dependent not in state.awaited:  # blocked meanwhile by another of its needs
            continue
        state.awaited[dependent] -= 1
        if not state.awaited[dependent]:
            del state.awaited[dependent]
            if dependent not in state.blocked:
                state.ready[dependent] = None


def await_again(state: RunState, key: str) -> None:
    """Find out what an assignment waits for that is no longer blocked."""
    needs = state.assignments[key].assignment.needs
    statuses = {needed: state.assignments[needed].status for needed in needs}
    lost = next((needed for needed, status in statuses.items() if status in FAILED), None)
    awaited = sum(1 for status in statuses.values() if status is not AssignmentStatus.COMPLETED)
    for place in (state.awaited, state.ready, state.blocked):
        place.pop(key, None)
    if lost is not None:
        state.blocked[key] = lost
    elif awaited:
        state.awaited[key] = awaited
        for needed, status in statuses.items():
            dependents = state.dependents.get(needed, ())
            if status is not AssignmentStatus.COMPLETED and key not in dependents:
                state.dependents[needed] = (*dependents, key)
    else:
        state.ready[key] = None


def blocked_by(state: RunState, causes: set[str]) -> list[str]:
    """The assignments that were given up because they need one of ``causes``, directly or through others."""
    found: list[str] = []
    for key, assignment in state.assignments.items():
        given_up = assignment.failure is not None and assignment.failure.type == "needs_failed"
        if given_up and assignment.superseded_by is None and causes.intersection(assignment.assignment.needs):
            found.append(key)
            causes = {*causes, key}
    return found


def descendants(state: RunState, key: str) -> list[str]:
    """The assignments that attempts at ``key`` asked for, and attempts at those, and so on."""
    found: list[str] = []
    for name, assignment in state.assignments.items():  # in order: parents come before their children
        parent = parent_of(assignment.assignment)
        if parent is not None and parent in (key, *found):
            found.append(name)
    return found


def children_of(state: RunState, call_id: str) -> list[AssignmentState]:
    """The assignments that one call asked for, in order."""
    found: list[AssignmentState] = []
    while (child := state.assignments.get(child_id(call_id, len(found)))) is not None:
        found.append(child)
    return found


def child_id(call_id: str, number: int) -> str:
    """The id of the assignment that a call asked for as its ``number``-th, counted from 0."""
    return call_id if number == 0 else f"{call_id}.{number}"


def parent_of(assignment: Assignment) -> str | None:
    """The assignment that asked for this one; None: the flow did."""
    return assignment.parent.rpartition("/a")[0] if assignment.parent is not None else None


def ancestors(state: RunState, assignment: Assignment) -> list[AssignmentState]:
    """The assignments above this one, the nearest first."""
    found: list[AssignmentState] = []
    while (parent := parent_of(assignment)) is not None:
        found.append(state.assignments[parent])
        assignment = found[-1].assignment
    return found
