"""How the steps of a run are related: parents and children, needs, and the rights to tools and delegation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadhand.core.worker import ALL_TOOLS, OWN_TOOLS, Worker

from . import events as ev
from .approval import Approval, ApprovalStatus, Question, policy_of
from .ids import step_of
from .state import RunState, StepState
from .tool import ApprovalPolicy, CallState, Effect, ToolSpec
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


def approval_note(state: RunState, call: CallState) -> str:
    """Return what a person decided about a call, for a model; "" if nobody was asked."""
    approval = state.approvals.get(call.call_id)
    if approval is None or not approval.by:
        return ""
    said = " with these arguments in place of the ordered ones" if approval.edited else ""
    return f"a person approved it{said}{approval.reason and f': {approval.reason}'}"


def not_allowed(state: RunState, key: str = "") -> Iterator[dict[str, Any]]:
    """Yield the calls that a person did not allow, of a step or of all, as a model is shown them."""
    for each in state.approvals.values():
        is_denied = each.kind == "call" and each.status in (ApprovalStatus.DENIED, ApprovalStatus.EXPIRED)
        if is_denied and key in ("", step_of(each.attempt)):
            error = f"not made, since a person did not allow it: {each.reason}".rstrip(": ")
            yield {"tool": each.tool, "args": each.args, "ok": False, "error": error}


def is_gated(state: RunState) -> bool:
    """Whether no work of a run may begin before a person approves its plan."""
    return state.definition.approve_plan or state.definition.plan_only


def open_plan(state: RunState) -> Approval | None:
    """Return the open question about a plan; None without one."""
    plans = (each for each in state.approvals.values() if each.kind == "plan")
    return next((each for each in plans if each.status is ApprovalStatus.PENDING), None)


# --- rights ----------------------------------------------------------------------------------------------------------

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
    if (parent := parent_of(step)) is None:
        return allowed
    above = state.steps[parent]
    leader = state.worker(above.step.worker)
    if leader is not None and step.worker in (*leader.delegates, *leader.tools) and step.worker not in state.makers:
        return allowed
    call_id = call_of(step.step_id)
    call = above.returned(call_id) or above.open_call(call_id)
    allowed &= tools_of(state, above.step)
    # Another worker may use the tool that called it, to call further ones.
    if call is None or (state.is_worker(step.worker) and step.worker != above.step.worker):
        return allowed
    return allowed - {call.tool}


def _is_unasked(state: RunState, tool: ToolSpec) -> bool:
    """Whether calls of a tool have an irreversible effect and would need approval, had the run no looser policy. Of a
    tool with operations, that depends on the call."""
    run = state.definition
    asks = tool.effect is Effect.ONCE and tool.approval is not ApprovalPolicy.AUTO and not tool.operations
    return asks and policy_of(tool, run.approve, run.approve_rules) is ApprovalPolicy.AUTO


def is_work(state: RunState, step: StepState) -> bool:
    """Whether it, or one above it, counts and is not the answer, or leads others: it ends when only the time for the
    answer is left."""
    line = (step, *ancestors(state, step.step))
    workers = (state.worker(each.step.worker) for each in line)
    return any(each.counts and not (each.step.kind and each.step.final) for each in line) or any(
        worker is not None and worker.delegates for worker in workers
    )
