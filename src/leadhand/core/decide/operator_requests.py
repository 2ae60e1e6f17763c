"""Decide the requests of people: to retry or skip steps, or to supply a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus
from leadhand.core.errors import MAX_TURNS, RAN_OUT
from leadhand.core.evolve.attempts import blocked_by, descendants
from leadhand.core.evolve.begun import begun
from leadhand.core.ids import split_key, step_of
from leadhand.core.lifecycle import UNSUCCESSFUL, AttemptStatus
from leadhand.core.rights import is_work
from leadhand.core.run import RunStatus
from leadhand.core.state import ModelTurn, RunState, StepState
from leadhand.core.work_result import ResultData

OperatorRequest = ev.RetryRequested | ev.SkipRequested | ev.ResultSupplied


def decide_request(state: RunState) -> list[ev.AnyEvent]:
    """Decide the oldest pending request of a person. Raises Refused when no request is pending."""
    if not state.pending_requests:
        raise do.Refused("no request is pending")
    request = state.pending_requests[0]
    reason = why_refused(state, request)
    if reason:
        return [ev.RequestDeclined(request=request.type, reason=reason)]
    reopened: list[ev.AnyEvent] = [ev.RunReopened(by=_by(request))] if state.finished is not None else []
    match request:
        case ev.RetryRequested():
            keys = request.subtasks or [*retriable(state, confirmed=request.confirmed), *_done_again(state)]
            granted = ev.RetryGranted(
                subtasks=tuple(keys), args=request.args, by=_by(request), reopened=_reopened(state, keys)
            )
            return [*reopened, granted]
        case ev.SkipRequested():
            counted = _counted(state.steps[request.subtask])
            skipped = ev.SubtaskResolved(
                subtask=request.subtask, by=_by(request), reason=request.reason, counted=counted
            )
            return [*reopened, skipped]
        case ev.ResultSupplied():
            step = state.steps[request.subtask]
            given = step.step.subtask
            value = request.raw if given is not None and given.output_schema else None
            data = ResultData(summary=request.summary, raw=request.raw, value=value)
            judged = bool(step.order) and (state.orders[step.order].review is not None or state.finished is not None)
            if not judged:
                supplied = ev.SubtaskResolved(
                    subtask=request.subtask, data=data, by=_by(request), counted=_counted(step)
                )
                return [*reopened, supplied]
            # Its order is already judged and cannot change, so the result goes to a subtask that repairs this one.
            return [*reopened, ev.RetryGranted(subtasks=(request.subtask,), data=data, by=_by(request))]


def retriable(state: RunState, *, confirmed: bool = False) -> list[str]:
    """Return the steps that a retry of all repeats: those that failed or were skipped, and were not replaced.

    Steps that made, or may have made, an irreversible call are included only if ``confirmed``.
    """
    return [
        key
        for key, subtask in state.steps.items()
        if subtask.counts
        and subtask.status in UNSUCCESSFUL
        and subtask.superseded_by is None
        and not subtask.given_up  # included in the retry of what it needs
        and (confirmed or not subtask.acted)
    ]


def ran_out(state: RunState) -> list[StepState]:
    """Return what failed in a run that is over, beside its subtasks, because a limit was used up.

    Children are left out: they continue with what asked for them.
    """
    return [
        each
        for each in (state.steps.values() if state.finished is not None else ())
        if not each.counts and each.step.parent is None
        if each.stopped is not None or (each.failure is not None and each.failure.type in RAN_OUT)
    ]


def _done_again(state: RunState) -> list[str]:
    """What ran out and is continued, or done again under its own id; the answer is written again in any case."""
    found = ran_out(state)
    stopped = [each.key for each in found if each.stopped is not None]  # what judges its earlier answer is not needed
    return stopped or [each.key for each in found if not each.step.answers]


def used_up(state: RunState, ended: StepState) -> str:
    """Return which limit would end at once again what ran out, in a clause; "" if none would, as far as is known."""
    failure, role = ended.failure, state.worker(ended.step.worker)
    if failure is None or role is None:
        return ""
    limits, work = state.definition.limits, is_work(state, ended)
    if failure.type == MAX_TURNS:
        most, made = role.max_turns or limits.max_turns, turns_of(ended)
        return "" if made < most else f"{ended.step.name} has made all of its {most:,} turns"
    if failure.type == "time":
        end = state.work_deadline if work else state.deadline
        left = end is None or state.rest_since is None or state.rest_since < end
        return "" if left else f"the time limit of {limits.timeout_s:g} s is used up"
    # Whether a call fits is known only when it is reserved, and a budget of several runs may have room again.
    return "" if state.relimited or state.definition.budgets else failure.message


def turns_of(step: StepState) -> int:
    """Return how many model calls a step that runs, or that a limit stopped, has made."""
    return sum(isinstance(call, ModelTurn) for call in step.calls)


def why_refused(state: RunState, request: OperatorRequest, *, resting: bool = False) -> str:
    """Return why a request cannot be granted, in one sentence, or "" if it can.

    ``resting``: no process drives the run, so nothing is really running.
    """
    if isinstance(request, ev.RetryRequested):
        if not request.subtasks and not retriable(state, confirmed=request.confirmed):
            acted, out = retriable(state, confirmed=True), ran_out(state)
            if not out:
                return f"{acted[0]} {ACTED}" if acted else _nothing_left(state)
            reasons = [used_up(state, each) for each in out]
            return reasons[0] if all(reasons) else ""
        if request.args is not None and len(request.subtasks) != 1:
            return "new arguments apply to one subtask: name it"
        if request.args is not None and any(each.key in request.subtasks for each in begun(state)):
            return "the plan is not complete: give it other arguments once it belongs to an order"
        said = (_not_again(state, key, confirmed=request.confirmed) for key in request.subtasks)
        return next((each for each in said if each), "")
    missing = _missing(state, request.subtask)
    if missing:
        return missing
    subtask = state.steps[request.subtask]
    if not resting and _under_way(state, request.subtask):
        return f"{request.subtask} is running: pause the run first, or wait"
    if isinstance(request, ev.SkipRequested):
        settled = subtask.by or subtask.ok
        return f"{request.subtask} is {subtask.status} and cannot be skipped" if settled else ""
    if not request.may_approve and asks_people(state, request.subtask):
        return f"{request.subtask} {ASKING}"
    return f"{request.subtask} is already {subtask.status}" if subtask.ok else ""


def _nothing_left(state: RunState) -> str:
    succeeded = state.finished is not None and state.finished.status is RunStatus.SUCCEEDED
    return "the run has succeeded, and nothing is left to do" if succeeded else "no subtask has failed"


def asks_people(state: RunState, key: str) -> bool:
    """Whether an approval request of a step, or of one below it, is open."""
    below = {key, *descendants(state, key)}
    return any(
        approval.status is ApprovalStatus.PENDING and step_of(approval.attempt) in below
        for approval in state.approvals.values()
    )


ASKING = "waits for approval: only someone who may approve can settle it"


def _reopened(state: RunState, keys: Iterable[str]) -> int:
    """Return how many failed steps a retry restarts: those outside of work orders, and those blocked by them."""
    again = {key for key in keys if not state.steps[key].order}
    return sum(state.steps[key].counts for key in again.union(blocked_by(state, again)))


def _counted(subtask: StepState) -> Literal["open", "completed", "failed"]:
    """Return how lists count a subtask."""
    if subtask.ok:
        return "completed"
    return "failed" if subtask.status in UNSUCCESSFUL else "open"


ACTED = "made, or may have made, an irreversible call: confirm that you want to repeat it"


def _under_way(state: RunState, key: str) -> bool:
    """Whether an attempt at a step, or at one of its descendants, is running."""
    attempts = (state.steps[name].attempt for name in (key, *descendants(state, key)))
    return any(attempt is not None and attempt.status is AttemptStatus.RUNNING for attempt in attempts)


def _not_again(state: RunState, key: str, *, confirmed: bool) -> str:
    missing = _missing(state, key)
    if missing:
        return missing
    subtask = state.steps[key]
    if subtask.accepted:
        return f"{key} was accepted: to change it, fork the run"
    if not subtask.closed or (subtask.ok and not subtask.order):
        return f"{key} is {subtask.status}, so it cannot be retried"
    return f"{key} {ACTED}" if subtask.acted and not confirmed else ""


def _missing(state: RunState, key: str) -> str:
    """Return why this key does not name a current subtask, "" if it does."""
    subtask = state.steps.get(key)
    if subtask is not None and subtask.counts:
        return "" if subtask.superseded_by is None else f"{key} was replaced by {subtask.superseded_by}: use that key"
    counting = [name for name, step in state.steps.items() if step.counts]
    if not counting or state.orders:
        try:
            split_key(key)
        except ValueError as error:
            return str(error)
    if not counting:
        return "the run has no subtasks"
    return f"no subtask {key}; the run has {len(counting)}"


def _by(request: OperatorRequest) -> str:
    return request.by or "somebody"
