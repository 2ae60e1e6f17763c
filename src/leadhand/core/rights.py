"""Rights of steps: their tools, and the depth of delegation."""

from __future__ import annotations

from leadhand.core.worker import ALL_TOOLS, OWN_TOOLS, Worker

from .approval import policy_of
from .relations import ancestors, call_of, parent_of
from .state import RunState, StepState
from .tool import ApprovalPolicy, Effect, ToolSpec
from .work_order import Step

MAX_DEPTH = 4
"""The maximum number of levels of delegation."""


def tools_of_worker(state: RunState, role: Worker) -> frozenset[str]:
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


def tools_of(state: RunState, step: Step) -> frozenset[str]:
    """Return the tools of a step: those of its role, restricted by the step itself and by its ancestors,
    unless the role of its parent delegates to its role.

    A ``once`` tool that the run's policy calls without approval is included only if the subtask names it. To prevent
    recursion, a tool whose call created the step, or one above it, is excluded, unless it called another worker.
    """
    role = state.worker(step.worker)
    allowed = tools_of_worker(state, role) if role is not None else frozenset[str]()
    if step.tools is not None:
        allowed &= frozenset(step.tools)
    if (subtask := step.subtask) is not None:
        allowed -= {tool.name for tool in state.definition.tools if _is_unasked(state, tool)} - {subtask.tool}
    parent = parent_of(step)
    if parent is not None and not may_delegate(state, parent, step.worker):
        above = state.steps[parent]
        allowed &= tools_of(state, above.step)
        call_id = call_of(step.step_id)
        call = above.returned(call_id) or above.open_call(call_id)
        if call is not None and not is_another_worker(state, above, step.worker):
            allowed -= {call.tool}
    return allowed


def is_another_worker(state: RunState, parent: StepState, role: str) -> bool:
    """Whether a role is a worker other than the parent: it may use the tool that called it, never to call itself."""
    return state.is_worker(role) and role != parent.step.worker


def may_delegate(state: RunState, parent: str, role: str) -> bool:
    """Whether the role of a step lets it delegate to another role of the flow, with the tools of that role."""
    own = state.worker(state.steps[parent].step.worker)
    return own is not None and role in own.delegates and role not in state.workers


def _is_unasked(state: RunState, tool: ToolSpec) -> bool:
    """Whether calls of a tool have an irreversible effect and would need approval, had the run no looser policy."""
    run = state.definition
    asks = tool.effect is Effect.ONCE and tool.approval is not ApprovalPolicy.AUTO
    return asks and policy_of(tool, run.approve, run.approve_rules) is ApprovalPolicy.AUTO


def is_work(state: RunState, step: StepState) -> bool:
    """Whether it, or one above it, counts or leads others: it ends when only the time for the answer is left."""
    line = (step, *ancestors(state, step.step))
    roles = (state.worker(each.step.worker) for each in line)
    return any(each.counts for each in line) or any(role is not None and role.delegates for role in roles)


def depth_of(state: RunState, step: Step) -> int:
    """Return the number of ancestors of a step."""
    return len(ancestors(state, step))
