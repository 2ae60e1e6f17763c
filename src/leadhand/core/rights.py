"""Rights of assignments: their tools, the depth of delegation, and their ceilings."""

from __future__ import annotations

from .approval import policy_of
from .evolve.attempts import ancestors, parent_of
from .limits import Allowance
from .run import ALL_TOOLS, OWN_TOOLS, Role, RunDefinition
from .state import AssignmentState, RunState
from .tool import ApprovalPolicy, Effect, ToolSpec
from .work_order import Assignment

MAX_DEPTH = 4
"""The maximum number of levels of delegation."""


def tools_of_role(state: RunState, role: Role) -> frozenset[str]:
    """Return the tools of the run that a role allows."""
    names = frozenset(tool.name for tool in state.definition.tools)
    if role.loop == "reply":
        return frozenset()
    if ALL_TOOLS in role.tools:
        return names
    own = (tool.name for tool in state.definition.tools if _is_own(tool)) if OWN_TOOLS in role.tools else ()
    return names.intersection((*role.tools, *own))


def _is_own(tool: ToolSpec) -> bool:
    return tool.effect is Effect.PURE and not tool.delegate and not tool.import_path.startswith("leadhand.")


def own_tools(state: RunState, assignment: Assignment) -> frozenset[str]:
    """The tools that the worker of an assignment may call: of a subtask that names one, that tool alone."""
    allowed = tools_of(state, assignment)
    named = assignment.subtask.tool if assignment.subtask is not None else None
    return allowed if named is None else allowed & {named}


def tools_of(state: RunState, assignment: Assignment) -> frozenset[str]:
    """Return the tools of an assignment: those of its role, restricted by the assignment itself and by its ancestors,
    unless the role of its parent delegates to its role.

    A ``once`` tool that the run's policy calls without approval is included only if the subtask names it. To prevent
    recursion, a tool whose call created the assignment, or one above it, is excluded, unless it called another worker.
    """
    role = state.role(assignment.role)
    allowed = tools_of_role(state, role) if role is not None else frozenset[str]()
    if assignment.tools is not None:
        allowed &= frozenset(assignment.tools)
    if (subtask := assignment.subtask) is not None:
        allowed -= {tool.name for tool in state.definition.tools if _is_unasked(state, tool)} - {subtask.tool}
    parent = parent_of(assignment)
    if parent is not None and not may_delegate(state, parent, assignment.role):
        above = state.assignments[parent]
        allowed &= tools_of(state, above.assignment)
        call_id = call_of(assignment.assignment_id)
        call = above.returned(call_id) or above.open_call(call_id)
        if call is not None and not is_another_worker(state, above, assignment.role):
            allowed -= {call.tool}
    return allowed


def is_another_worker(state: RunState, parent: AssignmentState, role: str) -> bool:
    """Whether a role is a worker other than the parent: it may use the tool that called it, never to call itself."""
    return state.is_worker(role) and role != parent.assignment.role


def may_delegate(state: RunState, parent: str, role: str) -> bool:
    """Whether the role of an assignment lets it delegate to another role of the flow, with the tools of that role."""
    own = state.role(state.assignments[parent].assignment.role)
    return own is not None and role in own.delegates and role not in state.workers


def _is_unasked(state: RunState, tool: ToolSpec) -> bool:
    """Whether calls of a tool have an irreversible effect and would need approval, had the run no looser policy."""
    run = state.definition
    asks = tool.effect is Effect.ONCE and tool.approval is not ApprovalPolicy.AUTO
    return asks and policy_of(tool, run.approve, run.approve_rules) is ApprovalPolicy.AUTO


def approved_tools(state: RunState, assignment: Assignment) -> frozenset[str]:
    """The tools that a person approved for the whole run, as far as that holds for this assignment."""
    return frozenset() if state.allowed and is_by_hand(state, assignment) else frozenset(state.allowed)


def is_by_hand(state: RunState, assignment: Assignment) -> bool:
    """Whether a person chose what an assignment works on, so that no approval of the tool for the whole run covers it.

    That is so if its arguments, or those of an assignment above it, were given with a retry, or if a result that it
    needs was supplied, or rests on such.
    """
    found = [assignment.assignment_id]
    for key in found:  # it grows
        each = state.assignments[key]
        if each.by_hand or (each.by and each.data is not None):
            return True
        parent = parent_of(each.assignment)
        before = each.assignment.needs if parent is None else (*each.assignment.needs, parent)
        found += [name for name in before if name not in found]
    return False


def call_of(assignment_id: str) -> str:
    """Return the id of the call that asked for a child assignment. Ids of further children of a call have a suffix."""
    head, dot, number = assignment_id.rpartition(".")
    return head if dot and number.isdigit() and "/c" in head.rpartition("/t")[2] else assignment_id


def stages_after(run: RunDefinition, given: Assignment, role: Role) -> int:
    """Return how many closing stages of a run follow an assignment of a role; all of them follow other work."""
    if role in run.judging:
        return 0
    if role == run.shape:
        return int(bool(run.judging))
    if given.judges:
        return run.closing_stages - 1
    if given.answers and not role.delegates:  # a lead leaves what is held back to the answer
        return run.closing_stages - 2
    return run.closing_stages


def is_work(state: RunState, assignment: AssignmentState) -> bool:
    """Whether it, or one above it, counts or leads others: it ends when only the time for the answer is left."""
    return any(each.counts or _leads(state, each) for each in (assignment, *ancestors(state, assignment.assignment)))


def _leads(state: RunState, assignment: AssignmentState) -> bool:
    role = state.role(assignment.assignment.role)
    return role is not None and bool(role.delegates)


def depth_of(state: RunState, assignment: Assignment) -> int:
    """Return the number of ancestors of an assignment."""
    return len(ancestors(state, assignment))


def scopes_of(state: RunState, assignment: Assignment) -> tuple[Allowance, ...]:
    """Return the ceilings that apply to each model call of an assignment: its own, and those of its ancestors."""
    found: list[Allowance] = []
    for each in (assignment, *(above.assignment for above in ancestors(state, assignment))):
        role = state.role(each.role)
        of_role = role.ceiling if role is not None else None
        ceiling = each.ceiling.within(of_role) if each.ceiling and of_role else each.ceiling or of_role
        if ceiling:
            found.append(Allowance(scope=each.assignment_id, ceiling=ceiling))
    return tuple(found)
