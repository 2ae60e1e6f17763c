"""Rights of steps: their tools, the depth of delegation, and their ceilings."""

from __future__ import annotations

from leadhand.core.worker import ALL_TOOLS, OWN_TOOLS, Worker

from .approval import policy_of
from .evolve.attempts import ancestors, parent_of
from .limits import Ceiling
from .run import RunDefinition
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


def own_tools(state: RunState, step: Step) -> frozenset[str]:
    """The tools that the worker of a step may call: of a subtask that names one, that tool alone."""
    allowed = tools_of(state, step)
    named = step.subtask.tool if step.subtask is not None else None
    return allowed if named is None else allowed & {named}


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


def approved_tools(state: RunState, step: Step) -> frozenset[str]:
    """The tools that a person approved for the whole run, as far as that holds for this step."""
    return frozenset() if state.allowed and is_by_hand(state, step) else frozenset(state.allowed)


def is_by_hand(state: RunState, step: Step) -> bool:
    """Whether a person chose what a step works on, so that no approval of the tool for the whole run covers it.

    That is so if its arguments, or those of a step above it, were given with a retry, or if a result that it
    needs was supplied, or rests on such.
    """
    found = [step.step_id]
    for key in found:  # it grows
        each = state.steps[key]
        if each.by_hand or (each.by and each.data is not None):
            return True
        parent = parent_of(each.step)
        before = each.step.needs if parent is None else (*each.step.needs, parent)
        found += [name for name in before if name not in found]
    return False


def call_of(step_id: str) -> str:
    """Return the id of the call that asked for a child step. Ids of further children of a call have a suffix."""
    head, dot, number = step_id.rpartition(".")
    return head if dot and number.isdigit() and "/c" in head.rpartition("/t")[2] else step_id


def stages_after(run: RunDefinition, given: Step, role: Worker) -> int:
    """Return how many closing stages of a run follow a step of a role; all of them follow other work."""
    if role.name in run.judging:
        return 0
    if role.name == run.shape:
        return int(bool(run.judging))
    if given.judges:
        return run.closing_stages - 1
    if given.answers and not role.delegates:  # a lead leaves what is held back to the answer
        return run.closing_stages - 2
    return run.closing_stages


def is_work(state: RunState, step: StepState) -> bool:
    """Whether it, or one above it, counts or leads others: it ends when only the time for the answer is left."""
    return any(each.counts or _leads(state, each) for each in (step, *ancestors(state, step.step)))


def _leads(state: RunState, step: StepState) -> bool:
    role = state.worker(step.step.worker)
    return role is not None and bool(role.delegates)


def depth_of(state: RunState, step: Step) -> int:
    """Return the number of ancestors of a step."""
    return len(ancestors(state, step))


def scopes_of(state: RunState, step: Step) -> tuple[Ceiling, ...]:
    """Return the ceilings that apply to each model call of a step: its own, and those of its ancestors."""
    found: list[Ceiling] = []
    for each in (step, *(above.step for above in ancestors(state, step))):
        role = state.worker(each.worker)
        of_role = role.ceiling if role is not None else None
        ceiling = each.ceiling.within(of_role) if each.ceiling and of_role else each.ceiling or of_role
        if ceiling:
            found.append(ceiling.evolve(scope=each.step_id))
    return tuple(found)
