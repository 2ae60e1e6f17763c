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


def tools_of_worker(state: RunState, worker: Worker) -> frozenset[str]:
    """Return the tools of the run that a worker allows; workers among its tools only by name."""
    names = frozenset(tool.name for tool in state.definition.tools)
    if worker.loop == "reply":
        return frozenset()
    if ALL_TOOLS in worker.tools:
        of_workers = (tool.name for tool in state.definition.tools if tool.delegate and state.is_worker(tool.name))
        return names - frozenset(of_workers).difference(worker.tools)
    own = (tool.name for tool in state.definition.tools if _is_own(tool)) if OWN_TOOLS in worker.tools else ()
    return names.intersection((*worker.tools, *own))


def _is_own(tool: ToolSpec) -> bool:
    return tool.effect is Effect.PURE and not tool.delegate and not tool.import_path.startswith("leadhand.")


def tools_of(state: RunState, step: Step) -> frozenset[str]:
    """Return the tools of a step: those of its worker, restricted by the step itself and by its ancestors,
    unless the worker of its parent delegates to its worker.

    A ``once`` tool that the run's policy calls without approval is included only if the subtask names it. To prevent
    recursion, a tool whose call created the step, or one above it, is excluded, unless it called another worker.
    """
    worker = state.worker(step.worker)
    allowed = tools_of_worker(state, worker) if worker is not None else frozenset[str]()
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
        # Another worker may use the tool that called it, to call further ones.
        if call is not None and not (state.is_worker(step.worker) and step.worker != above.step.worker):
            allowed -= {call.tool}
    return allowed


def may_delegate(state: RunState, parent: str, worker: str) -> bool:
    """Whether the worker of a step lets it delegate to another worker, of the flow or among its tools, with the tools
    of that worker."""
    own = state.worker(state.steps[parent].step.worker)
    return own is not None and worker in (*own.delegates, *own.tools) and worker not in state.makers


def _is_unasked(state: RunState, tool: ToolSpec) -> bool:
    """Whether calls of a tool have an irreversible effect and would need approval, had the run no looser policy."""
    run = state.definition
    asks = tool.effect is Effect.ONCE and tool.approval is not ApprovalPolicy.AUTO
    return asks and policy_of(tool, run.approve, run.approve_rules) is ApprovalPolicy.AUTO


def is_work(state: RunState, step: StepState) -> bool:
    """Whether it, or one above it, counts and is not the answer, or leads others: it ends when only the time for the
    answer is left."""
    line = (step, *ancestors(state, step.step))
    workers = (state.worker(each.step.worker) for each in line)
    return any(each.counts and not (each.step.kind and each.step.final) for each in line) or any(
        worker is not None and worker.delegates for worker in workers
    )
