"""Child assignments: what a worker has another worker do, while it holds nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import commands as do
from . import events as ev
from .assignment import Assignment, OpenCall, Role
from .ids import assignment_of
from .state import AssignmentState, RunState
from .work_order import Subtask

DEEPEST = 4
"""How deep children may have children."""


def wanted_children(state: RunState) -> Iterator[do.Command]:
    """Children that parked attempts wait for and nobody has handed out, and answers of those that are closed."""
    for key in state.parked:
        attempt = state.assignments[key].attempt
        for call in attempt.open_calls if attempt is not None else ():
            if attempt is None or call.kind != "child" or call.call_id in attempt.answers:
                continue
            child = state.assignments.get(call.call_id)
            if child is None and _depth(state, key) < DEEPEST:
                yield do.Assign(assignment=_child(attempt.attempt, call))
            elif child is None or child.closed:
                yield do.AnswerChild(call_id=call.call_id)


def answer_of(state: RunState, call_id: str) -> ev.ChildAnswered:
    """What a call is told of its child. Raises Refused while the child is not closed."""
    child = state.assignments.get(call_id)
    if child is None:
        return ev.ChildAnswered(call_id=call_id, ok=False, content=f"children go {DEEPEST} deep and no deeper")
    if not child.closed:
        raise do.Refused(f"{call_id} is not closed")
    if child.ok and child.result is not None and child.result.data is not None:
        return ev.ChildAnswered(call_id=call_id, ok=True, content=child.result.data.summary)
    message = child.failure.message if child.failure is not None else "it came to nothing"
    return ev.ChildAnswered(call_id=call_id, ok=False, content=message)


def descendants(state: RunState, key: str) -> list[str]:
    """The assignments that were asked for by attempts at ``key``, and by attempts at those, and so on."""
    found: list[str] = []
    for name, assignment in state.assignments.items():  # in order: parents come before their children
        parent = assignment.assignment.parent
        if parent is not None and assignment_of(parent) in (key, *found):
            found.append(name)
    return found


def above(state: RunState, assignment: Assignment) -> set[str]:
    """The tools by which this child and those above it were asked for: it may not ask for itself again."""
    names: set[str] = set()
    while assignment.parent is not None:
        names.add(assignment.options["child"]["name"])
        assignment = state.assignments[assignment_of(assignment.parent)].assignment
    return names


def subtask_of(assignment: Assignment) -> Subtask | None:
    """What a child assignment is to do, in the shape of a subtask; None for any other assignment."""
    told: Any = assignment.options.get("child")
    return Subtask.model_validate(told) if told is not None else None


def child_of(state: RunState, call_id: str) -> AssignmentState | None:
    """The closed child that was asked for by a call, if it came to a result."""
    child = state.assignments.get(call_id)
    return child if child is not None and child.closed and child.ok else None


def _child(parent: str, call: OpenCall) -> Assignment:
    told = Subtask(name=call.tool, args=call.args)
    return Assignment(
        assignment_id=call.call_id, role=Role.WORK, parent=parent, options={"child": told.model_dump(mode="json")}
    )


def _depth(state: RunState, key: str) -> int:
    depth = 0
    while (parent := state.assignments[key].assignment.parent) is not None:
        key = assignment_of(parent)
        depth += 1
    return depth
