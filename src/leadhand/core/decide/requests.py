"""Decide the requests of people: to retry or skip steps, or to supply a result."""

from __future__ import annotations

from collections.abc import Collection

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.commands import Policy
from leadhand.core.errors import CODE_FAILED, MAX_TURNS, RAN_OUT
from leadhand.core.ids import step_of
from leadhand.core.relations import descendants, is_work, open_approvals
from leadhand.core.run import UNSUCCESSFUL, AttemptStatus, RunStatus
from leadhand.core.state import ModelTurn, RunState, StepState
from leadhand.core.words.failures import skipped
from leadhand.core.work_order import references
from leadhand.core.work_result import ResultData

from .attempts import define


def decide_request(state: RunState, policy: Policy) -> list[ev.AnyEvent]:
    """Decide the oldest pending request of a person. Raises Refused when no request is pending.

    Steps of a function are retried with their workers as the function defines them today.
    """
    if not state.pending_requests:
        raise do.Refused("no request is pending")
    request = state.pending_requests[0]
    what, by = request.what, request.by or "somebody"
    reason = why_refused(state, request)
    if reason:
        return [ev.RequestDecided(what=what, by=by, declined=reason)]
    events: list[ev.AnyEvent] = []
    if state.finished is not None:
        events.append(ev.RunStatusSet(status=RunStatus.RUNNING, by=by))
    if what == "retry":
        keys = request.steps or (*retriable(state, confirmed=request.confirmed), *_done_again(state))
        found = {key: policy.changed_worker(state, key) for key in keys}
        changed = {key: worker for key, worker in found.items() if worker is not None}
        workers = {key: worker.name for key, worker in changed.items()}
        fresh = define(state, [*{each.name: each for each in changed.values()}.values()])
        decided = ev.RequestDecided(what=what, by=by, steps=keys, args=request.args, workers=workers)
        return [*events, *fresh, decided]
    step = state.steps[request.steps[0]]
    if what == "skip":
        doubted = step.indeterminate_calls
        failure = skipped(by, request.reason, doubted[0].tool if doubted else "")
        return [*events, ev.StepSettled(step=step.key, ok=False, failure=failure, by=by)]
    given = step.step.subtask
    value = request.raw if given is not None and given.output_schema else None
    data = ResultData(summary=request.summary, raw=request.raw, value=value)
    return [*events, ev.StepSettled(step=step.key, ok=True, data=data, by=by)]


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
    ended = _beside_subtasks(state)
    return [each for each in ended if each.stopped is not None or _failed(each, RAN_OUT)]


def broken(state: RunState) -> list[StepState]:
    """Return what the code of the project failed to do in a run that is over, beside its subtasks: once it is fixed, a
    retry does it again."""
    return [each for each in _beside_subtasks(state) if _failed(each, CODE_FAILED)]


def fixable(state: RunState) -> bool:
    """Whether the flow itself ended a run: once its code is fixed, a retry continues the run."""
    failure = state.finished.failure if state.finished is not None else None
    return failure is not None and failure.type in FIXED


def _beside_subtasks(state: RunState) -> list[StepState]:
    every = state.steps.values() if state.finished is not None else ()
    return [each for each in every if not each.counts and each.step.parent is None]


def _failed(step: StepState, types: Collection[str]) -> bool:
    return step.failure is not None and step.failure.type in types


def _done_again(state: RunState) -> list[str]:
    """What ran out, under its own id: what is continued, else what is done again, as is what the code failed to do."""
    found = ran_out(state)
    stopped = [each for each in found if each.stopped is not None]  # what judges its earlier answer is not needed
    return [each.key for each in (*(stopped or found), *broken(state))]


def used_up(state: RunState, ended: StepState) -> str:
    """Return which limit would end at once again what ran out, in a clause; "" if none would, as far as is known."""
    failure, worker = ended.failure, state.worker(ended.step.worker)
    if failure is None or worker is None:
        return ""
    limits, work = state.definition.limits, is_work(state, ended)
    if failure.type == MAX_TURNS:
        most, made = worker.max_turns or limits.max_turns, turns_of(ended)
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


def why_refused(state: RunState, request: ev.StepRequested, *, resting: bool = False) -> str:
    """Return why a request cannot be granted, in one sentence, or "" if it can.

    ``resting``: no process drives the run, so nothing is really running.
    """
    if request.what != "retry" and len(request.steps) != 1:
        return "it concerns one step: name it"
    if request.args is not None and len(request.steps) != 1:
        return "new arguments apply to one subtask: name it"
    if not request.steps and not retriable(state, confirmed=request.confirmed):
        return _nothing_left(state)
    reasons = (_missing(state, key) or _step_refused(state, request, key, resting) for key in request.steps)
    return next((each for each in reasons if each), "")


def _nothing_left(state: RunState) -> str:
    """Return why a retry of all failed steps repeats nothing; "" if something that ran out continues."""
    if broken(state):
        return ""
    acted, out = retriable(state, confirmed=True), ran_out(state)
    if fixable(state):
        return ""
    reasons = [used_up(state, each) for each in out]
    if out:
        return reasons[0] if all(reasons) else ""
    if acted:
        return f"{acted[0]} {ACTED}"
    succeeded = state.finished is not None and state.finished.status is RunStatus.SUCCEEDED
    return "the run has succeeded, and nothing is left to do" if succeeded else "no subtask has failed"


def _missing(state: RunState, key: str) -> str:
    """Return why this key does not name a current subtask, "" if it does."""
    step = state.steps.get(key)
    if step is None or not step.counts:
        return f"no subtask {key!r}; the run has {sum(each.counts for each in state.steps.values())}"
    return "" if step.superseded_by is None else f"{key} was replaced by {step.superseded_by}: use that key"


def _step_refused(state: RunState, request: ev.StepRequested, key: str, resting: bool) -> str:
    step, what = state.steps[key], request.what
    if what == "retry" and request.args is not None and step.is_early:
        return "the plan is not complete: give it other arguments once it belongs to an order"
    unknown = [each for each in references(request.args or {}) if each not in step.step.needs]
    if unknown:
        return f"{key} does not need {unknown[0]}, so no argument can refer to it"
    if what == "retry" and step.accepted:
        return f"{key} was accepted: to change it, fork the run"
    if what == "retry" and (not step.closed or (step.ok and not step.order and not step.step.digest)):
        return f"{key} is {step.status}, so it cannot be retried"
    if what == "retry":
        return f"{key} {ACTED}" if step.acted and not request.confirmed else ""
    attempts = (state.steps[name].attempt for name in (key, *descendants(state, key)))
    running = any(attempt is not None and attempt.status is AttemptStatus.RUNNING for attempt in attempts)
    if running and not resting:
        return f"{key} is running: pause the run first, or wait"
    if what == "skip":
        return f"{key} is {step.status} and cannot be skipped" if step.by or step.ok else ""
    if not request.may_approve and asks_people(state, key):
        return f"{key} {ASKING}"
    return f"{key} is already {step.status}" if step.ok else ""


def asks_people(state: RunState, key: str) -> bool:
    """Whether an approval request of a step, or of one below it, is open."""
    below = {key, *descendants(state, key)}
    return any(step_of(asked.attempt) in below for asked in open_approvals(state))


FIXED = frozenset({"flow_error", "diverged"})
"""Types of the failure of a run whose flow can be fixed: a retry then continues it."""
ASKING = "waits for approval: only someone who may approve can settle it"
ACTED = "made, or may have made, an irreversible call: confirm that you want to repeat it"
