"""Create steps, and judge, retry and continue their attempts."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import NamedTuple

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.advice_words import advised
from leadhand.core.approval import EFFECT
from leadhand.core.commands import FlowError, Policy
from leadhand.core.errors import AWAY, NOT_ACCEPTED, Failure, FailureClass
from leadhand.core.evidence import indeterminate, unsupported_claim
from leadhand.core.evolve.attempts import INTERRUPTED, answered_value, children_of
from leadhand.core.ids import attempt_id, step_of
from leadhand.core.lifecycle import AttemptStatus
from leadhand.core.limits import Limits
from leadhand.core.rights import is_work, tools_of_worker
from leadhand.core.run import RunStatus
from leadhand.core.state import AttemptState, RunState, StepState
from leadhand.core.tool import ApprovalPolicy, Effect, ToolSpec
from leadhand.core.waits import LONGEST_WAIT_S
from leadhand.core.work_order import OpenCall, Step
from leadhand.core.work_result import WorkResult
from leadhand.core.worker import WILDCARDS


def assign(state: RunState, command: do.Assign) -> list[ev.AnyEvent]:
    """Create a step of a flow, within the rights of its role."""
    if command.id in state.steps:
        raise do.Refused(f"the step {command.id} already exists")
    if not command.id or "/" in command.id or command.id.startswith("wo-"):
        raise do.Refused(f"{command.id!r} is not a valid step id: it must not contain / or begin with wo-")
    role = state.worker(command.worker)
    if role is None:
        raise do.Refused(f"the step {command.id} names the role {command.worker!r}, which the flow does not define")
    unknown = [needed for needed in command.needs if needed not in state.steps]
    if unknown:
        raise do.Refused(f"the step {command.id} needs {unknown[0]!r}, which does not exist")
    allowed = tools_of_worker(state, role)
    wider = sorted(set(command.tools or ()) - allowed)
    if wider:
        raise do.Refused(
            f"the step {command.id} may not use {', '.join(wider)}: the role {role.name} does not allow it"
        )
    missing = sorted(set(role.tools) - WILDCARDS - {tool.name for tool in state.definition.tools})
    if missing:
        raise do.Refused(f"the role {role.name} names the tool {missing[0]}, which the run does not have")
    if state.status is not RunStatus.RUNNING:
        raise do.Refused(f"the run is {state.status}")
    step = Step(
        step_id=command.id,
        worker=command.worker,
        title=command.title,
        input=dict(command.input),
        needs=tuple(dict.fromkeys(command.needs)),
        tools=None if command.tools is None else tuple(command.tools),
        model=command.model,
        instructions=command.instructions,
        counts=role.counts,
        answers=command.answers,
        judges=command.judges,
    )
    return [ev.StepIssued(step=step)]


def start(state: RunState, key: str) -> list[ev.AnyEvent]:
    """Schedule the next attempt of a step that may start."""
    if key not in state.ready:
        raise do.Refused(f"{key} cannot start")
    if state.status is not RunStatus.RUNNING:
        raise do.Refused(f"the run is {state.status}")
    return [_next_attempt(state.steps[key])]


def _next_attempt(step: StepState) -> ev.AttemptScheduled:
    """Schedule another attempt: it continues the one that a limit stopped, or starts afresh."""
    stopped = step.stopped.attempt if step.stopped is not None else None
    return ev.AttemptScheduled(attempt=attempt_id(step.key, step.attempts + 1), continues=stopped)


def settle(state: RunState, key: str, now: datetime, policy: Policy) -> list[ev.AnyEvent]:
    """Judge what the current attempt of a step returned: accept it, retry, give up, or ask a person."""
    step = state.steps.get(key)
    attempt = step.attempt if step is not None else None
    if step is None or attempt is None or attempt.status is not AttemptStatus.RETURNED or attempt.result is None:
        raise do.Refused(f"{key} has no result to judge")
    unseen = step.indeterminate_calls
    if unseen and state.cancel_by is None and state.definition.approve is not ApprovalPolicy.NEVER:
        # Only a person can find out whether the call happened, so it is neither repeated nor dropped silently.
        questions = tuple(
            OpenCall(call_id=f"{call.call_id}{EFFECT}", kind="effect", tool=call.tool, args=call.args)
            for call in unseen
        )
        return [ev.EffectQuestioned(attempt=attempt.attempt, open_calls=questions)]
    failure = failure_of(state, step, attempt.result, policy)
    if failure is None:
        return [settled(step, attempt, None)]
    final = state.cancel_by is not None or _retry(state, step, attempt, failure, now) is None
    if final and state.cancel_by is None:
        later = _retry(state, step, attempt, failure, now, in_time=False)
        failure = failure if later is None else _too_late(state, failure)
    return [settled(step, attempt, failure, final=final)]


def run_out(state: RunState, key: str) -> list[ev.AnyEvent]:
    """Give up a step that is ready or under way: the time that is left is for reviews and the answer."""
    step = state.steps[key]
    timeout, kept = state.definition.limits.timeout_s or 0.0, state.definition.held_back_s
    what = "subtasks" if step.counts else "the work"
    message = f"the time for {what} ({timeout - kept:g} of {timeout:g} s) is used up"
    failure = Failure.of(message, "time", FailureClass.EXHAUSTED)
    if key in state.ready:
        begun = _next_attempt(step)
        return [
            begun,
            ev.AttemptLost(attempt=begun.attempt, failure=failure),
            settled(step, AttemptState(attempt=begun.attempt, number=step.attempts + 1), failure),
        ]
    return end_attempt(state, key, failure)


def end_attempt(state: RunState, key: str, failure: Failure) -> list[ev.AnyEvent]:
    """End the attempt at a step that is running or waits, and the step with it."""
    step, attempt = state.steps[key], under_way(state, key)
    why = unseen_effect(step) or failure
    lost = [ev.AttemptLost(attempt=attempt.attempt, failure=why)] if key in state.live else []
    return [*lost, settled(step, attempt, why)]


def settled(
    step: StepState, attempt: AttemptState, failure: Failure | None, *, final: bool = True
) -> ev.AttemptSettled:
    return ev.AttemptSettled(
        attempt=attempt.attempt,
        ok=failure is None,
        final=final,
        counts=step.counts and step.superseded_by is None,
        failure=failure,
    )


def try_again(state: RunState, key: str, now: datetime) -> list[ev.AnyEvent]:
    """Schedule the retry of an attempt that was settled with a retry due."""
    step = state.steps.get(key)
    attempt = step.attempt if step is not None else None
    if key not in state.retrying or step is None or attempt is None or step.failure is None:
        raise do.Refused(f"no retry of {key} is due")
    failure = step.failure
    if failure.type != INTERRUPTED:  # its class was counted when it was settled
        step = step._replace(failures=step.failures[:-1])
    # The retry is already decided; if the time is up, the deadline ends the run by itself.
    again = _retry(state, step, attempt, failure, now) or Retry(not_before=None, afresh=False)
    return [
        ev.AttemptScheduled(
            attempt=attempt_id(key, attempt.number + 1),
            continues=None if again.afresh else attempt.attempt,
            not_before=again.not_before,
            feedback=again.feedback,
        )
    ]


def _retry(
    state: RunState,
    step: StepState,
    attempt: AttemptState,
    failure: Failure,
    now: datetime,
    *,
    in_time: bool = True,
) -> Retry | None:
    """Return how and when an attempt is retried, if it is; with ``in_time``, only before the run's deadline."""
    key = step.key
    subtask = step.step.subtask
    return retry(
        failure,
        key=f"{state.run_id}/{attempt_id(key, attempt.number + 1)}",
        before=step.failures,
        limits=state.definition.limits,
        tool=state.tools.get(subtask.tool or "") if subtask is not None else None,
        now=now,
        deadline=None if not in_time else state.work_deadline if is_work(state, step) else state.deadline,
        acted=any(call.effect is Effect.ONCE or children_of(state, call.call_id) for call in step.evidence),
    )


def _too_late(state: RunState, failure: Failure) -> Failure:
    """Return the failure of an attempt whose retry would begin after the run's deadline."""
    seconds = state.definition.limits.timeout_s
    message = f"{failure.message}; the run's time limit ({seconds:g} s) ends before the next attempt"
    return Failure.of(message, "time", FailureClass.EXHAUSTED, retry_after_s=failure.retry_after_s)


def failure_of(state: RunState, step: StepState, result: WorkResult, policy: Policy) -> Failure | None:
    """Return why a returned attempt does not count (its own error or a failed check), None if it counts."""
    failure, role = _failure_of(state, step, result, policy), state.worker(step.step.worker)
    return failure if failure is None or role is None else advised(failure, role)


def _failure_of(state: RunState, step: StepState, result: WorkResult, policy: Policy) -> Failure | None:
    unseen = unseen_effect(step)
    if unseen is not None:
        return unseen
    if result.error is not None:
        return result.error
    unsupported = unsupported_claim(state, step, result)
    if unsupported is not None:
        return unsupported
    text = result.data.summary if result.data is not None else ""
    try:
        found = policy.problems(state, step, answered_value(step, result), text, step.evidence)
    except FlowError as error:
        return error.failure
    if not found:
        return None
    role = state.worker(step.step.worker)
    advice = NOT_ACCEPTED if role is None or role.output is None else ""
    return Failure.of("; ".join(found), "bad_thought", FailureClass.INVALID, advice)


def unseen_effect(step: StepState) -> Failure | None:
    """The failure of a ``once`` call whose end was not recorded: it is more specific than that of its attempt."""
    unseen = step.indeterminate_calls
    return indeterminate(unseen[0].tool) if unseen else None


def continue_parked(state: RunState, key: str) -> list[ev.AnyEvent]:
    """Continue a parked attempt with another, now that its open calls are answered."""
    attempt = under_way(state, key)
    if attempt.status is not AttemptStatus.PARKED or not attempt.answered:
        raise do.Refused(f"{key} is still waiting")
    # A parked attempt is not a failure, so the next one counts as an attempt but not as a retry.
    return [ev.AttemptScheduled(attempt=attempt_id(key, attempt.number + 1), continues=attempt.attempt)]


def under_way(state: RunState, key: str) -> AttemptState:
    """Return the unsettled attempt of a step. Raises Refused if every attempt is settled."""
    step = state.steps.get(key)
    if step is None or step.attempt is None:
        raise do.Refused(f"{key} has no running attempt")
    return step.attempt


def current(state: RunState, attempt: str) -> AttemptState:
    """Return a scheduled or running attempt by its id. Raises Refused if it is neither."""
    key = step_of(attempt)
    if key in state.live and (found := under_way(state, key)).attempt == attempt:
        return found
    raise do.Refused(f"{attempt} is not running")


FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
MAX_LOSSES = 5
"""The number of lost attempts after which a subtask fails, since the subtask itself may crash the process."""


class Retry(NamedTuple):
    """A retry. ``afresh`` starts a new conversation; otherwise the next attempt continues the last one."""

    not_before: datetime | None
    afresh: bool
    feedback: str = ""


def retry(
    failure: Failure,
    *,
    key: str,
    before: tuple[FailureClass, ...],
    limits: Limits,
    tool: ToolSpec | None,
    now: datetime,
    deadline: datetime | None,
    acted: bool = False,
) -> Retry | None:
    """Return the retry after ``failure``, or None if it is final.

    ``acted``: a ``once`` call of the lineage was made, or another worker carried out a task for it, so the attempt can
    be continued but not started again.
    ``before`` are the classes of the earlier failures of this step. ``key`` is the next attempt's id: the jitter
    of the back-off is hashed from it, so that decisions are reproducible.
    """
    count = sum(1 for earlier in before if earlier is failure.class_)
    delay = 0.0
    afresh = False
    match failure.class_:
        case FailureClass.TRANSIENT:
            if failure.type == AWAY or count >= (limits.max_retries if tool is None else tool.retries):
                return None
            delay = backoff_s(count, key)
        case FailureClass.RATE_LIMITED:
            # Not counted as a failed attempt: retries end at the run's deadline, and the back-off slows them down.
            delay = backoff_s(min(count, 6), key)
        case FailureClass.INVALID:
            if count >= limits.max_repairs or failure.type not in REPAIRABLE:
                return None
            # An answer that was too long is written again in the same conversation.
            afresh = failure.type != CUT and not acted and (tool is None or tool.effect is not Effect.ONCE)
        case FailureClass.LOST:
            if count >= MAX_LOSSES:
                return None
        case _:
            return None
    delay = max(delay, failure.retry_after_s or 0.0)
    wait = timedelta(seconds=min(delay, LONGEST_WAIT_S))
    not_before = now + wait if wait else None
    if deadline is not None and not_before is not None and not_before >= deadline:
        return None
    feedback = failure.message if failure.class_ is FailureClass.INVALID else ""
    if failure.type == CUT:  # a model knows neither its limit nor how to raise it
        feedback = TOO_LONG
    return Retry(not_before=not_before, afresh=afresh, feedback=feedback)


CUT = "cut_answer"
"""The type of the ``invalid`` failure of an answer that was cut off at its token limit."""
TOO_LONG = "it is too long"
"""The feedback about such an answer."""
REPAIRABLE = frozenset({"unproven", "bad_thought", "unmet_check", CUT})
"""Types of ``invalid`` failures that a retry with feedback can fix; most are found by the gate."""


def backoff_s(count: int, key: str) -> float:
    """Seconds to wait before the retry after ``count`` earlier failures: exponential, with jitter from ``key``.

    "Full jitter" between half and the whole of the exponential delay, after Brooker, "Exponential Backoff And Jitter"
    (AWS Architecture Blog, 2015).
    """
    whole = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2**count)
    fraction = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return whole * (0.5 + 0.5 * fraction)
