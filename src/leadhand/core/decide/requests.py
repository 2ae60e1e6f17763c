"""Decide the requests of people: to retry or skip steps, or to supply a result."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from leadhand.core import events as ev
from leadhand.core.errors import CODE_FAILED, RAN_OUT, Refused
from leadhand.core.ids import step_of
from leadhand.core.relations import descendants, open_approvals
from leadhand.core.run import UNSUCCESSFUL, AttemptStatus, RunStatus
from leadhand.core.state import RunState, StepState
from leadhand.core.words.failures import skipped
from leadhand.core.work_order import references
from leadhand.core.work_result import ResultData
from leadhand.core.worker import Worker

from .attempts import define


class DecideRequest(NamedTuple):
    """Decide the oldest pending request of a person. ``workers`` are those of steps that the flow defines otherwise
    today, by step: a retry is carried out by them."""

    workers: Mapping[str, Worker] = MappingProxyType({})

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        if not state.pending_requests:
            raise Refused("no request is pending")
        request = state.pending_requests[0]
        what, by = request.what, request.by or "somebody"
        if reason := why_refused(state, request):
            return [ev.RequestDecided(what=what, by=by, declined=reason)]
        events: list[ev.AnyEvent] = []
        if state.finished is not None:
            events.append(ev.RunStatusSet(status=RunStatus.RUNNING, by=by))
        if what == "retry":
            keys = request.steps or tuple(repeated(state, confirmed=request.confirmed))
            changed = {key: self.workers[key] for key in keys if key in self.workers}
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


def repeated(state: RunState, *, confirmed: bool = False) -> list[str]:
    """Return the steps that a retry of all repeats: those that failed or were skipped, and were not replaced.

    Beside subtasks, these are the steps of a run that is over which a limit stopped (they continue) or ended, or
    which the code of the project failed to do. Children continue with what asked for them, and blocked steps start
    with what they need. Subtasks that made, or may have made, an irreversible call are included only if ``confirmed``.
    """
    failed = (each for each in state.steps.values() if each.status in UNSUCCESSFUL and each.superseded_by is None)
    found = (each for each in failed if not each.given_up)
    return [
        each.key for each in found if ((confirmed or not each.acted) if each.counts else _begins_again(state, each))
    ]


def _begins_again(state: RunState, step: StepState) -> bool:
    over = state.finished is not None and step.step.parent is None
    return over and (ran_out(step) or (step.failure is not None and step.failure.type in CODE_FAILED))


def fixable(state: RunState) -> bool:
    """Whether the flow itself ended a run: once its code is fixed, a retry continues the run."""
    failure = state.finished.failure if state.finished is not None else None
    return failure is not None and failure.type in FIXED


def ran_out(step: StepState) -> bool:
    """Whether a step failed because a limit was used up."""
    return step.stopped is not None or (step.failure is not None and step.failure.type in RAN_OUT)


def why_refused(state: RunState, request: ev.StepRequested, *, resting: bool = False) -> str:
    """Return why a request cannot be granted, in one sentence, or "" if it can.

    ``resting``: no process drives the run, so nothing is really running.
    """
    if (request.what != "retry" or request.args is not None) and len(request.steps) != 1:
        return "it concerns one subtask: name it"
    if not request.steps and not repeated(state, confirmed=request.confirmed):
        if fixable(state):
            return ""
        acted = repeated(state, confirmed=True)
        return f"{acted[0]} {ACTED}" if acted else "nothing has failed"
    reasons = (_step_refused(state, request, key, resting) for key in request.steps)
    return next((each for each in reasons if each), "")


def _step_refused(state: RunState, request: ev.StepRequested, key: str, resting: bool) -> str:
    step, what = state.steps.get(key), request.what
    if step is None or not step.counts:
        return f"no subtask {key!r}; the run has {sum(each.counts for each in state.steps.values())}"
    if step.superseded_by is not None:
        return f"{key} was replaced by {step.superseded_by}: use that key"
    if unknown := [each for each in references(request.args or {}) if each not in step.step.needs]:
        return f"{key} does not need {unknown[0]}, so no argument can refer to it"
    if what == "retry":
        if step.accepted:
            return f"{key} was accepted: to change it, fork the run"
        if not step.closed or (step.ok and not step.order and not step.step.digest):
            return f"{key} is {step.status}, so you cannot retry it"
        return f"{key} {ACTED}" if step.acted and not request.confirmed else ""
    attempts = (state.steps[name].attempt for name in (key, *descendants(state, key)))
    if not resting and any(each is not None and each.status is AttemptStatus.RUNNING for each in attempts):
        return f"{key} is running: pause the run first, or wait"
    if step.ok or (what == "skip" and step.by):
        return f"{key} is {step.status}, so you cannot {what} it"
    return f"{key} {ASKING}" if what == "supply" and not request.may_approve and asks_people(state, key) else ""


def asks_people(state: RunState, key: str) -> bool:
    """Whether an approval request of a step, or of one below it, is open."""
    below = {key, *descendants(state, key)}
    return any(step_of(asked.attempt) in below for asked in open_approvals(state))


FIXED = frozenset({"flow_error", "diverged"})
"""Types of the failure of a run whose flow can be fixed: a retry then continues it."""
ASKING = "waits for approval: only someone who may approve can settle it"
ACTED = "made, or may have made, an irreversible call: confirm that you want to repeat it"
