"""Rights: which tools an assignment may use, how deep assignments may ask for others, and what they may spend."""

from __future__ import annotations

from .evolve.attempts import ancestors, parent_of
from .limits import Allowance
from .run import ALL_TOOLS, Role
from .state import RunState
from .work_order import Assignment

MAX_DEPTH = 4
"""How deep assignments may ask for other assignments."""


def tools_of_role(state: RunState, role: Role) -> frozenset[str]:
    """The tools of the run that a role allows."""
    names = frozenset(tool.name for tool in state.definition.tools)
    if role.loop == "reply":
        return frozenset()
    return names if ALL_TOOLS in role.tools else names.intersection(role.tools)


def tools_of(state: RunState, assignment: Assignment) -> frozenset[str]:
    """The tools that an assignment may use: what its role allows, narrowed by itself and by every assignment above it.

    A tool by which the assignment, or one above it, was asked for is not among them: that would be recursion.
    """
    role = state.role(assignment.role)
    allowed = tools_of_role(state, role) if role is not None else frozenset[str]()
    if assignment.tools is not None:
        allowed &= frozenset(assignment.tools)
    parent = parent_of(assignment)
    if parent is not None:
        above = state.assignments[parent]
        allowed &= tools_of(state, above.assignment)
        call_id = call_of(assignment.assignment_id)
        call = above.returned(call_id) or above.open_call(call_id)
        if call is not None:
            allowed -= {call.tool}
    return allowed


def call_of(assignment_id: str) -> str:
    """The call that asked for a child assignment, by the child's id: further children of one call have a suffix."""
    head, dot, number = assignment_id.rpartition(".")
    return head if dot and number.isdigit() and "/c" in head.rpartition("/t")[2] else assignment_id


def depth_of(state: RunState, assignment: Assignment) -> int:
    """How many assignments are above this one."""
    return len(ancestors(state, assignment))


def scopes_of(state: RunState, assignment: Assignment) -> tuple[Allowance, ...]:
    """The ceilings that each model call of an assignment has to fit: its own, and those of the assignments above it."""
    found: list[Allowance] = []
    for each in (assignment, *(above.assignment for above in ancestors(state, assignment))):
        role = state.role(each.role)
        of_role = role.ceiling if role is not None else None
        ceiling = each.ceiling.within(of_role) if each.ceiling and of_role else each.ceiling or of_role
        if ceiling:
            found.append(Allowance(scope=each.assignment_id, ceiling=ceiling))
    return tuple(found)
