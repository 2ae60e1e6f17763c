"""Create orders and steps, and judge, retry, continue and end attempts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from leadhand.core import events as ev
from leadhand.core.approval import EFFECT, policy_of
from leadhand.core.errors import AWAY, MAX_TURNS, Failure, FailureClass, Refused
from leadhand.core.evolve.steps import can_continue
from leadhand.core.ids import attempt_id, order_id, step_of
from leadhand.core.limits import LONGEST_WAIT_S, Limits
from leadhand.core.relations import is_gated, is_work, tools_of_worker
from leadhand.core.run import AttemptStatus, RunStatus, StepStatus
from leadhand.core.state import AttemptState, RunState, StepState
from leadhand.core.tool import ApprovalPolicy, Effect, ToolSpec
from leadhand.core.words.failures import indeterminate, out_of_time, to_raise
from leadhand.core.work_order import WORKER, OpenCall, Step, Subtask, WorkOrder, references
from leadhand.core.work_result import ResultData, Review, SubtaskVerdict, VerdictKind
from leadhand.core.worker import WILDCARDS, Worker, with_more

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
MAX_LOSSES = 5
"""The number of lost attempts after which a subtask fails, since the subtask itself may crash the process."""


def retry_after_s(failure: Failure, count: int, key: str, limits: Limits, tool: ToolSpec | None) -> float | None:
    """Return the seconds to wait for the retry after a failure, of which class there were ``count`` before; None if
    the failure is final. The jitter of the back-off is hashed from ``key``, so that decisions are reproducible."""
    delay = 0.0
    match failure.class_:
        case FailureClass.TRANSIENT:
            if failure.type == AWAY or count >= (limits.max_retries if tool is None else tool.retries):
                return None
            delay = backoff_s(count, key)
        case FailureClass.RATE_LIMITED:
            # Not counted as a failed attempt: retries end at the run's deadline, and the back-off slows them down.
            delay = backoff_s(min(count, 6), key)
        case FailureClass.INVALID if count < limits.max_repairs and failure.type in REPAIRABLE:
            pass
        case FailureClass.LOST if count < MAX_LOSSES:
            pass
        case _:
            return None
    return min(max(delay, failure.retry_after_s or 0.0), LONGEST_WAIT_S)


CUT = "cut_answer"
"""The type of the ``invalid`` failure of an answer that was cut off at its token limit."""
TOO_LONG = "it is too long"
"""The feedback about such an answer."""
REPAIRABLE = frozenset({"unproven", "bad_thought", CUT})
"""Types of ``invalid`` failures that a retry with feedback can fix; most are found by the gate."""


def backoff_s(count: int, key: str) -> float:
    """Seconds to wait before the retry after ``count`` earlier failures: exponential, with jitter from ``key``.

    "Full jitter" between half and the whole of the exponential delay, after Brooker, "Exponential Backoff And Jitter"
    (AWS Architecture Blog, 2015).
    """
    whole = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**count)
    fraction = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return whole * (0.5 + 0.5 * fraction)


class IssueStep(NamedTuple):
    """Give work to a worker, within its rights: the step starts when everything that it ``needs`` is completed.

    ``definition`` is that of the worker, if the run does not know it. A step that carries out a subtask begins before
    the first order, which adopts it under its key.
    """

    step: Step
    definition: Worker | None = None

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        step, key = self.step, self.step.step_id
        if key in state.steps:
            raise Refused(f"the step {key} already exists")
        if step.subtask is not None:
            if not may_begin(state, step.subtask):
                raise Refused(f"{key} cannot begin before its order")
        elif not key or ("/" in key and step.parent is None) or key.startswith("wo-"):
            raise Refused(f"{key!r} is not a valid step id: it must not contain / or begin with wo-")
        worker = state.worker(step.worker) or self.definition
        if worker is None:
            raise Refused(f"the step {key} names the worker {step.worker!r}, which the flow does not define")
        unknown = [needed for needed in step.needs if needed not in state.steps]
        if unknown:
            raise Refused(f"the step {key} needs {unknown[0]!r}, which does not exist")
        wider = sorted(set(step.tools or ()) - tools_of_worker(state, worker))
        if wider:
            raise Refused(f"the step {key} may not use {', '.join(wider)}: the worker {worker.name} does not allow it")
        missing = sorted(set(worker.tools) - WILDCARDS - {tool.name for tool in state.definition.tools})
        if missing:
            who = "it calls" if step.kind == "call" else f"the worker {worker.name} names"
            raise Refused(
                f"{who} the tool {missing[0]}, which this run was started without: start it again with the tool"
            )
        if state.status is not RunStatus.RUNNING:
            raise Refused(f"the run is {state.status}")
        step = step.model_copy(update={"needs": tuple(dict.fromkeys(step.needs))})
        return [*define(state, (worker,)), ev.StepIssued(step=step)]


def may_begin(state: RunState, subtask: Subtask) -> bool:
    """Whether a subtask can begin before its order: it is complete, needs no person and no other subtask, and its call
    can be repeated."""
    run, worker, tool = state.definition, state.worker(WORKER), state.tools.get(subtask.tool or "")
    if state.orders or is_gated(state) or subtask.worker is not None or subtask.needs or references(subtask.args):
        return False
    if tool is None or worker is None or tool.name not in tools_of_worker(state, worker):
        return False
    tool = tool.called_with(subtask.args)
    if tool.effect is Effect.ONCE or tool.delegate or not tool.required <= subtask.args.keys():
        return False
    return policy_of(tool, run.approve, run.approve_rules) is ApprovalPolicy.AUTO


def define(state: RunState, workers: Sequence[Worker]) -> list[ev.AnyEvent]:
    """Define the workers of a flow that the run does not know, with the instructions that the run gives them."""
    fresh = [each for each in workers if state.worker(each.name) is None]
    more = state.definition.instructions
    found: list[ev.AnyEvent] = []
    for each in fresh:
        text = each.instructions if each.loop == "code" else with_more(each.instructions, each.name, more)
        found.append(ev.WorkerDefined(attempt="", worker=each.evolve(instructions=text)))
    return found


class Start(NamedTuple):
    """Schedule the next attempt at a step: its first one, a retry, or the continuation of a parked one."""

    step: str

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        key, step = self.step, state.steps.get(self.step)
        if step is not None and step.attempt is not None and key in state.parked and step.attempt.answered:
            # A parked attempt is not a failure, so the next one counts as an attempt but not as a retry.
            return [
                ev.AttemptScheduled(attempt=attempt_id(key, step.attempt.number + 1), continues=step.attempt.attempt)
            ]
        if step is None or key not in state.ready:
            raise Refused(f"{key} cannot start")
        if state.status is not RunStatus.RUNNING:
            raise Refused(f"the run is {state.status}")
        stopped = step.stopped.attempt if step.stopped is not None else None
        return [ev.AttemptScheduled(attempt=attempt_id(key, step.attempts + 1), continues=stopped)]


class Settle(NamedTuple):
    """Judge what the current attempt at a step returned: accept it, retry, give up, or ask a person."""

    step: str

    def decide(self, state: RunState, now: datetime) -> list[ev.AnyEvent]:
        key, step = self.step, state.steps.get(self.step)
        attempt = step.attempt if step is not None else None
        if step is None or attempt is None or attempt.status is not AttemptStatus.RETURNED or attempt.returned is None:
            raise Refused(f"{key} has no result to judge")
        unseen = step.indeterminate_calls
        if unseen and state.cancel_by is None and state.definition.approve is not ApprovalPolicy.NEVER:
            # Only a person can find out whether the call happened, so it is neither repeated nor dropped silently.
            questions = tuple(
                OpenCall(call_id=f"{call.call_id}{EFFECT}", kind="effect", tool=call.tool, args=call.args)
                for call in unseen
            )
            return [ev.AttemptParked(attempt=attempt.attempt, open_calls=questions)]
        failure = failure_of(state, step, attempt.returned)
        again = None if failure is None or state.cancel_by is not None else _retry(state, step, attempt, failure, now)
        if failure is None or again is None:
            return [settled(step, attempt.attempt, failure)]
        deadline = state.work_deadline if is_work(state, step) else state.deadline
        if deadline is not None and again.not_before is not None and again.not_before >= deadline:
            limit = f"the run's time limit ({state.definition.limits.timeout:g} s)"
            message = f"{failure.message}; {limit} ends before the next attempt"
            return [settled(step, attempt.attempt, out_of_time(message, failure.retry_after_s))]
        return [settled(step, attempt.attempt, failure, final=False), again]


def _retry(
    state: RunState, step: StepState, attempt: AttemptState, failure: Failure, now: datetime
) -> ev.AttemptScheduled | None:
    """Return the retry of a step after a failure, with the reason if it is to be repaired; None if that is final.

    The repair starts a new conversation, unless the answer was only too long, or the old one had effects.
    """
    subtask, following = step.step.subtask, attempt_id(step.key, attempt.number + 1)
    tool = state.tools.get(subtask.tool or "") if subtask is not None else None
    count, key = step.failures.count(failure.class_), f"{state.run_id}/{following}"
    wait_s = retry_after_s(failure, count, key, state.definition.limits, tool)
    if wait_s is None:
        return None
    repairs, cut = failure.class_ is FailureClass.INVALID, failure.type == CUT
    acted = any(call.effect is not Effect.PURE for call in (*step.evidence, *step.running))
    return ev.AttemptScheduled(
        attempt=following,
        continues=None if repairs and not (cut or acted or state.children.get(step.key)) else attempt.attempt,
        not_before=now + timedelta(seconds=wait_s) if wait_s else None,
        feedback=TOO_LONG if cut else failure.message if repairs else "",  # a model does not know its limit
    )


def settled(step: StepState, attempt: str, failure: Failure | None, *, final: bool = True) -> ev.StepSettled:
    return ev.StepSettled(step=step.key, attempt=attempt, ok=failure is None, final=final, failure=failure)


class Lose(NamedTuple):
    """End an attempt that did not return because its process died or its deadline passed."""

    attempt: str
    failure: Failure

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        attempt, key = self.attempt, step_of(self.attempt)
        if key not in state.live or under_way(state, key).attempt != attempt:
            raise Refused(f"{attempt} is not running")
        return [ev.AttemptReturned(attempt=attempt, failure=self.failure, lost=True)]


def time_is_up(state: RunState, step: StepState) -> Failure:
    """Return why a step ends: the time that is left is for reviews and the answer."""
    timeout, kept = state.definition.limits.timeout or 0.0, state.definition.held_back_s
    what = "subtasks" if step.counts else "the work"
    message = f"the time for {what} ({timeout - kept:g} of {timeout:g} s) is used up"
    return out_of_time(message)


class Conclude(NamedTuple):
    """End a step for the reason in ``failure``; that of a flow inside of another one with what that flow came to."""

    step: str
    failure: Failure | None = None
    data: ResultData | None = None

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        key, failure, step = self.step, self.failure, state.steps.get(self.step)
        if step is not None and step.is_inner:
            return [ev.StepSettled(step=key, ok=failure is None, data=self.data, failure=failure)]
        if step is None or failure is None:
            raise Refused(f"{key} is not a flow that runs")
        if key in state.blocked or key in state.ready:
            return [settled(step, "", failure)]
        attempt, why = under_way(state, key), unseen_effect(step) or failure
        lost = [ev.AttemptReturned(attempt=attempt.attempt, failure=why, lost=True)] if key in state.live else []
        return [*lost, settled(step, attempt.attempt, why)]


def failure_of(state: RunState, step: StepState, returned: ev.AttemptReturned) -> Failure | None:
    """Return why a returned attempt does not count, None if it counts: its host has checked the result."""
    failure = unseen_effect(step) or returned.failure
    if failure is not None and failure.type == MAX_TURNS and can_continue(state, step, failure):
        return failure.evolve(next_action=to_raise(MAX_TURNS))
    return failure


def unseen_effect(step: StepState) -> Failure | None:
    """The failure of a ``once`` call whose end was not recorded: it is more specific than that of its attempt."""
    unseen = step.indeterminate_calls
    return (unseen[0].failure or indeterminate(unseen[0].tool)) if unseen else None


def under_way(state: RunState, key: str) -> AttemptState:
    """Return the unsettled attempt of a step. Raises Refused if every attempt is settled."""
    step = state.steps.get(key)
    if step is None or step.attempt is None:
        raise Refused(f"{key} has no running attempt")
    return step.attempt


# --- orders ----------------------------------------------------------------------------------------------------------


class IssueOrder(NamedTuple):
    """Issue an order, which is immutable from then on. ``workers`` carry it out, and are defined if the run does not
    know them."""

    order: WorkOrder
    workers: Sequence[Worker] = ()

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        order, expected = self.order, order_id(len(state.orders) + 1)
        if order.work_order_id != expected:
            raise Refused(f"the next order is {expected}, not {order.work_order_id}")
        repaired = [each.repairs_subtask for each in order.subtasks if each.repairs_subtask is not None]
        if len({*repaired}) < len(repaired) or not all(_repairable(state, key) for key in repaired):
            raise Refused("a subtask does not need repair, or is repaired twice")
        for key, subtask in zip(order.subtask_keys, order.subtasks, strict=True):
            if key in state.steps and (not state.steps[key].is_early or state.steps[key].subtask != subtask):
                raise Refused(f"{key} is another subtask")
        return [*define(state, self.workers), ev.OrderIssued(order=order)]


def _repairable(state: RunState, key: str) -> bool:
    subtask = state.steps.get(key)
    return subtask is not None and bool(subtask.order) and not subtask.accepted


class Judge(NamedTuple):
    """Record a review of an order whose subtasks are settled. A result without a verdict is not accepted."""

    work_order_id: str
    review: Review

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        given = {verdict.subtask: verdict for verdict in self.review.verdicts}
        order = state.orders.get(self.work_order_id)
        if order is None or order.open or order.review is not None:
            raise Refused(f"{self.work_order_id} is not waiting for a review")
        verdicts = tuple(_recorded(state, given[key]) for key in order.order.subtask_keys if key in given)
        review = self.review.evolve(verdicts=verdicts, answer=None)
        return [ev.ResultsJudged(work_order_id=self.work_order_id, review=review)]


def _recorded(state: RunState, verdict: SubtaskVerdict) -> SubtaskVerdict:
    """The verdict to record: a person's decision takes precedence, and only a completed result can be accepted."""
    step = state.steps[verdict.subtask]
    if step.by and step.verdict is not None:
        return step.verdict
    if verdict.verdict is VerdictKind.ACCEPT and step.status is not StepStatus.COMPLETED:
        return verdict.evolve(verdict=VerdictKind.DROP, reason=f"it is {step.status} and cannot be accepted")
    return verdict
