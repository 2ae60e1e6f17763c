"""Apply people's decisions about steps to the state: retries, results that they supply, and what they skip."""

from __future__ import annotations

from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus
from leadhand.core.ids import step_of
from leadhand.core.references import references
from leadhand.core.relations import blocked_by, children_of, descendants, open_approvals
from leadhand.core.run import StepStatus
from leadhand.core.state import ModelTurn, RunState
from leadhand.core.value import FrozenDict
from leadhand.core.words.failures import skipped
from leadhand.core.work_order import Step
from leadhand.core.work_result import Verdict, VerdictKind

from . import steps
from .steps import ended, put


def request_decided(state: RunState, _entry: ev.Entry, event: ev.RequestDecided) -> None:
    """Repeat steps, and those that they had blocked; a declined request names none."""
    state.pending_requests = state.pending_requests[1:]
    again = list(event.steps)
    if event.args is None:
        again += [child for key in event.steps for child in _continued(state, key)]
    wanted = list(dict.fromkeys([*again, *blocked_by(state, set(again))]))
    for key in wanted:
        step = state.steps[key]
        given = step.step
        if event.args is not None and key in again:
            given = _with_args(given, event.args)
            step = step.evolve(stopped=None)  # another task begins afresh
        if key in event.workers:
            given = given.model_copy(update={"worker": event.workers[key]})
        goes_on = {each.call_id for each in step.calls} if step.stopped is not None else ()
        by_hand = event.by if key in again and (event.args is not None or step.acted) else step.by_hand
        fresh = step.evolve(
            step=given,
            status=StepStatus.PENDING,
            failures=(),
            data=None,
            value=None,
            failure=None,
            verdict=None,
            by="",
            by_hand=by_hand,
            made=tuple(each for each in step.made if each.call_id not in goes_on),
        )
        put(state, fresh)


def _with_args(step: Step, args: dict[str, Any]) -> Step:
    """Return a step with other input; of a subtask, with other arguments, and the needs to which they still refer."""
    subtask = step.subtask
    if subtask is None:
        return step.model_copy(update={"input": args})
    dropped = {*references(subtask.args)} - {*references(args)}
    subtask = subtask.evolve(args=args, needs=tuple(each for each in subtask.needs if each not in dropped))
    return step.model_copy(update={"subtask": subtask, "needs": subtask.needs})


def _continued(state: RunState, key: str) -> list[str]:
    """Return the children that continue with a step that a limit stopped, and open the calls again that asked for them.

    These are the children of its latest reply that a limit stopped, and theirs: no reply has used their failure yet.
    """
    found: list[str] = []
    step = state.steps[key]
    turn = next((each.call_id for each in reversed(step.calls) if isinstance(each, ModelTurn)), None)
    if step.stopped is None or turn is None:
        return found
    asked = dict.fromkeys(each.call_id for each in (*step.stopped.open_calls, *step.evidence))
    for call_id in (each for each in asked if each.startswith(f"{turn}/c")):
        stopped = [each for each in children_of(state, call_id) if each.stopped is not None]
        if stopped:
            _open_again(state, key, call_id)
        for child in stopped:
            found += [child.key, *_continued(state, child.key)]
    return found


def _open_again(state: RunState, key: str, call_id: str) -> None:
    """Forget the answer to a call. What its tool returned stays; a call that only delegates has no result any more."""
    step = state.steps[key]
    calls = tuple(
        each if isinstance(each, ModelTurn) or each.call_id != call_id else each._replace(failure=None)
        for each in step.calls
        if isinstance(each, ModelTurn) or each.call_id != call_id or each.asks
    )
    stopped = step.stopped
    if stopped is not None:
        answers = {name: answer for name, answer in stopped.answers.items() if name != call_id}
        stopped = stopped._replace(answers=FrozenDict(answers))
    put(state, step, calls=calls, stopped=stopped)


def settled(state: RunState, entry: ev.Entry, event: ev.StepSettled) -> None:
    """Settle a step; if a person decided so, what it asked for ends, and the steps that it had blocked are retried."""
    if not event.by:
        steps.settled(state, entry, event)
        return
    key, was_closed = event.step, state.steps[event.step].closed
    request = next(iter(state.pending_requests), None)
    if request is not None and request.what in ("skip", "supply") and request.steps == (key,):
        state.pending_requests = state.pending_requests[1:]
    verdict = Verdict(subtask=key, verdict=VerdictKind.ACCEPT, reason=f"supplied by {event.by}")
    if event.failure is not None:
        verdict = Verdict(subtask=key, verdict=VerdictKind.DROP, reason=event.failure.message)
    for name in (key, *descendants(state, key)):
        _withdraw(state, name, event.by)
        if name != key and not state.steps[name].closed:
            dropped = {"status": StepStatus.DROPPED, "failure": skipped(event.by, "")}
            put(state, state.steps[name], **ended(state.steps[name]), **dropped)
    steps.settled(state, entry, event)
    put(state, state.steps[key], verdict=verdict)
    for dependent in blocked_by(state, {key}) if was_closed and event.ok else ():
        put(state, state.steps[dependent], status=StepStatus.PENDING, failure=None, verdict=None)


def _withdraw(state: RunState, name: str, by: str) -> None:
    """Withdraw the approvals of a step that is no longer needed."""
    for asked in open_approvals(state):
        if step_of(asked.attempt) == name:
            state.approvals[asked.approval_id] = asked.evolve(status=ApprovalStatus.DENIED, by=by)
            del state.asking[asked.approval_id]
