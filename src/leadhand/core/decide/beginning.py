"""Begin subtasks while their plan is being written, and let the order take over their results."""

from __future__ import annotations

from datetime import datetime

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.approval import policy_of
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.evolve.begun import begun, takers
from leadhand.core.evolve.orders import subtask_step
from leadhand.core.ids import order_id, subtask_key
from leadhand.core.plan_approval import is_gated
from leadhand.core.rights import tools_of_worker
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import ApprovalPolicy, Effect
from leadhand.core.work_order import Subtask, WorkOrder, references

from .attempts import end_attempt


def why_not_begun(state: RunState, subtask: Subtask) -> str:
    """Return why a subtask has to wait for its order; "" if it can begin before.

    Its call must be one that can be repeated, that needs no approval and no result, and that nobody else carries out.
    """
    batch = state.definition.limits.batch_size
    if state.orders or state.status is not RunStatus.RUNNING:
        return "no plan is being written"
    if is_gated(state):
        return "a person has to see the plan before work begins"
    reason = why_tool_waits(state, subtask.tool or "")
    if reason:
        return reason
    if subtask.worker is not None:
        return f"{subtask.name} names a worker"
    if subtask.needs or subtask.repairs_subtask or references(subtask.args):
        return f"{subtask.name} needs another subtask"
    if not state.tools[subtask.tool or ""].required <= subtask.args.keys():
        return f"{subtask.name} lacks arguments"
    return f"{batch} subtasks are running" if batch is not None and len(state.busy) >= batch else ""


def why_tool_waits(state: RunState, name: str) -> str:
    """Return why no call of a tool can begin before the order; "" if one can."""
    role, tool = state.worker(state.definition.subtask_worker), state.tools.get(name)
    if tool is None or role is None or name not in tools_of_worker(state, role):
        return f"workers may use no tool {name!r}"
    if tool.effect is Effect.ONCE or tool.delegate:
        return f"{name} has an effect that cannot be undone, or is carried out by others"
    if policy_of(tool, state.definition.approve, state.definition.approve_rules) is not ApprovalPolicy.AUTO:
        return f"{name} needs approval"
    return ""


def begin(state: RunState, command: do.Begin, now: datetime) -> list[ev.AnyEvent]:
    """Begin a subtask under the key that it will have in the first order."""
    key = subtask_key(order_id(1), command.position)
    if key in state.steps:
        raise do.Refused(f"{key} has begun already")
    if state.work_deadline is not None and now >= state.work_deadline:
        raise do.Refused("the time for subtasks is used up")
    reason = why_not_begun(state, command.subtask)
    if reason:
        raise do.Refused(f"{key} cannot begin before its order: {reason}")
    return [ev.StepIssued(step=subtask_step(state, key, command.subtask))]


def reuse(state: RunState, key: str) -> list[ev.AnyEvent]:
    """Settle a subtask with the result of the one that it reuses."""
    if key not in state.reusable:
        raise do.Refused(f"{key} has no result to reuse")
    return [ev.SubtaskReused(subtask=key, begun=state.steps[key].reuses)]


def end_unused(state: RunState, order: WorkOrder) -> list[ev.AnyEvent]:
    """End the attempts of subtasks that have begun, and that an order neither contains nor reuses."""
    failure = Failure.of("the plan does not contain it", LEFT_OUT, FailureClass.REJECTED)
    taken_over = takers(state, order)
    ended: list[ev.AnyEvent] = []
    for each in begun(state):
        if each.attempt is not None and each.key not in taken_over:
            ended += end_attempt(state, each.key, failure)
    return ended


LEFT_OUT = "left_out"
"""The type of the failure of a subtask that the plan, once it was complete, did not contain."""
