"""Issue work orders, begin subtasks while a plan is being written, and record reviews."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.approval import policy_of
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.evolve.steps import WORKER, subtask_step
from leadhand.core.ids import order_id, subtask_key
from leadhand.core.lifecycle import StepStatus
from leadhand.core.plan_approval import is_gated, unapproved
from leadhand.core.relations import left_out, next_order_id
from leadhand.core.rights import tools_of_worker
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import ApprovalPolicy, Effect
from leadhand.core.work_order import Subtask, WorkOrder, order_problems, references
from leadhand.core.work_result import Review, Verdict, VerdictKind

from .attempts import end_attempt


def issue_order(state: RunState, order: WorkOrder, by: str) -> list[ev.AnyEvent]:
    """Issue an order that can be carried out; ``by`` is the person who requested it, if any."""
    if order.work_order_id in state.orders:
        raise do.Refused(f"{order.work_order_id} was already issued, and an order cannot change")
    expected = next_order_id(state, order.subtasks)
    if order.work_order_id != expected:
        raise do.Refused(f"the next order is {expected}, not {order.work_order_id}")
    if not by and state.orders_of_lead >= state.definition.limits.max_steps:
        raise do.Refused(f"the run is limited to {state.definition.limits.max_steps} orders")
    latest = state.order
    if latest is not None and (latest.open or latest.review is None):
        raise do.Refused(f"{latest.order.work_order_id} is not finished and reviewed")
    ordered = {key for key, step in state.steps.items() if step.order}
    found = order_problems(order, state.tools, ordered, state.definition.declared)
    repaired = [subtask.repairs_subtask for subtask in order.subtasks if subtask.repairs_subtask is not None]
    found += [f"{key!r} does not need repair" for key in repaired if not _repairable(state, key)]
    if len(repaired) != len(set(repaired)):
        found.append("two subtasks repair the same one")
    if not by and (new := unapproved(state, order)):
        raise do.Refused(f"nobody has approved the subtask {new[0].name}")
    if found and by:
        return [ev.RequestDecided(what="retry", steps=tuple(state.retries_wanted), declined="; ".join(found))]
    if found:
        raise do.Refused("; ".join(found))
    supplied: list[ev.AnyEvent] = [
        ev.StepSettled(step=key, ok=True, data=wanted.data, by=wanted.by)
        for key, subtask in zip(order.subtask_keys(), order.subtasks, strict=True)
        if (wanted := state.retries_wanted.get(subtask.repairs_subtask or "")) is not None and wanted.data is not None
    ]
    issued = ev.OrderIssued(order=order, by=by)
    return [*_replaced(state, order), issued, *_done_early(state, order), *(supplied if by else [])]


def _done_early(state: RunState, order: WorkOrder) -> Iterator[ev.StepSettled]:
    """Settle the subtasks that make the same call as one that was completed while the plan was being written."""
    found = {each.key: each.subtask for each in left_out(state, order) if each.ok}
    for key, subtask in zip(order.subtask_keys(), order.subtasks, strict=True):
        same = next((name for name, other in found.items() if _call(other) == _call(subtask)), None)
        if same is not None:
            del found[same]
            yield ev.StepSettled(step=key, ok=True, same_as=same)


def _call(subtask: Subtask) -> tuple[object, ...]:
    return subtask.tool, subtask.worker, subtask.args, subtask.needs, subtask.expected_output


def _replaced(state: RunState, order: WorkOrder) -> list[ev.AnyEvent]:
    """End the attempts at subtasks that began while the plan was being written, and that the order does not contain."""
    failure = Failure.of("the plan does not contain it", LEFT_OUT, FailureClass.REJECTED)
    return [event for each in left_out(state, order) if each.attempt for event in end_attempt(state, each.key, failure)]


LEFT_OUT = "left_out"
"""The type of the failure of a subtask that the plan, once it was complete, did not contain."""


def _repairable(state: RunState, key: str) -> bool:
    subtask = state.steps.get(key)
    return subtask is not None and bool(subtask.order) and subtask.superseded_by is None and not subtask.accepted


# --- while the plan is being written ---------------------------------------------------------------------------------


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
    role, tool = state.worker(WORKER), state.tools.get(name)
    if tool is None or role is None or name not in tools_of_worker(state, role):
        return f"workers may use no tool {name!r}"
    if tool.effect is Effect.ONCE or tool.delegate:
        return f"{name} has an effect that cannot be undone, or is carried out by others"
    if policy_of(tool, state.definition.approve, state.definition.approve_rules) is not ApprovalPolicy.AUTO:
        return f"{name} needs approval"
    return ""


# --- reviews ---------------------------------------------------------------------------------------------------------


def judge(state: RunState, work_order_id: str, review: Review) -> list[ev.AnyEvent]:
    """Record a review. A result without a verdict is not accepted."""
    given = {verdict.subtask: verdict for verdict in review.verdicts}
    if not work_order_id:
        return [_judge_results(state, given, review)]
    order = state.orders.get(work_order_id)
    if order is None or order.open or order.review is not None:
        raise do.Refused(f"{work_order_id} is not waiting for a review")
    verdicts = [_recorded(state, given[key]) for key in order.order.subtask_keys() if key in given]
    sound = review.complete and not review.missing and all(v.verdict is VerdictKind.ACCEPT for v in verdicts)
    covered = len(verdicts) == len(order.order.subtasks)
    answer = review.answer if sound and covered else None
    recorded = review.evolve(verdicts=tuple(verdicts), complete=sound, answer=answer)
    return [ev.ResultsJudged(work_order_id=work_order_id, review=recorded)]


def _judge_results(state: RunState, given: dict[str, Verdict], review: Review) -> ev.ResultsJudged:
    unknown = [key for key in given if key not in state.steps or not state.steps[key].closed]
    if unknown or not given:
        raise do.Refused(f"{unknown[0] if unknown else 'nothing'} can be judged")
    verdicts = tuple(_recorded(state, verdict) for verdict in given.values())
    if all(state.steps[verdict.subtask].verdict == verdict for verdict in verdicts):
        raise do.Refused("these verdicts are already recorded")
    return ev.ResultsJudged(review=review.evolve(verdicts=verdicts, answer=None))


def _recorded(state: RunState, verdict: Verdict) -> Verdict:
    """The verdict to record: a person's decision takes precedence, and only a completed result can be accepted."""
    step = state.steps[verdict.subtask]
    if step.by and step.verdict is not None:
        return step.verdict
    if verdict.verdict is VerdictKind.ACCEPT and step.status is not StepStatus.COMPLETED:
        return verdict.evolve(verdict=VerdictKind.DROP, reason=f"it is {step.status} and cannot be accepted")
    return verdict
