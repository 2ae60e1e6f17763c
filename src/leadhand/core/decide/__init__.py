"""Decide which events follow from a state and a command, as pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import assert_never

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.approval import Approval
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.evolve import foreseen
from leadhand.core.outcome import FlowAnswer, concluded
from leadhand.core.relations import is_work, open_plan, open_question
from leadhand.core.run import RUN, RunStatus
from leadhand.core.state import RunState
from leadhand.core.words.failures import ASK_AGAIN, ASK_OTHERWISE, FIX_FLOW, needs_failed

from . import asks, attempts, orders
from .attempts import failure_of, under_way
from .requests import decide_request


def decide(state: RunState, command: do.Command, now: datetime) -> list[ev.AnyEvent]:
    """Return the events that follow from ``command``; ``state`` does not include them yet.

    Raises :class:`~leadhand.core.commands.Refused` if the state does not allow the command.
    """
    if state.finished is not None and not isinstance(command, do.DecideRequest):
        raise do.Refused("the run has ended")
    match command:
        case do.IssueOrder():
            return orders.issue_order(state, command.order, command.workers)
        case do.IssueStep():
            return attempts.issue_step(state, command.step, command.definition)
        case do.Conclude():
            return attempts.conclude(state, command.step, command.failure, command.data)
        case do.Note():
            return (
                []
                if command.key in state.settled
                else [ev.NoteEmitted(attempt="", message=command.message, key=command.key)]
            )
        case do.Start():
            return attempts.start(state, command.step)
        case do.Settle():
            return attempts.settle(state, command.step, now)
        case do.Lose():
            return attempts.lost(state, command.attempt, command.failure)
        case do.Answer():
            return asks.answer(state, command.call_id, now)
        case do.Judge():
            return orders.judge(state, command.work_order_id, command.review)
        case do.Ask():
            return _ask(state, command, now)
        case do.Expire():
            if command.approval_id in state.unanswered:
                asked = state.questions[command.approval_id]
                return [ev.QuestionAnswered(question_id=asked.id, text=asked.default, expired=True)]
            if command.approval_id not in state.asking:
                raise do.Refused(f"{command.approval_id} is not open")
            return [ev.ApprovalAnswered(approval_id=command.approval_id, approve=False, expired=True)]
        case do.DecideRequest():
            return decide_request(state, command.workers)
        case do.SetStatus():
            if command.slept_s:
                return [ev.RunStatusSet(status=RunStatus.RUNNING, slept_s=command.slept_s)]
            allowed = may_become(state, command.status)
            return [ev.RunStatusSet(status=command.status, reason=command.reason)] if allowed else []
        case do.End():
            return end(state, command, now)
        case _:
            assert_never(command)


def _ask(state: RunState, command: do.Ask, now: datetime) -> list[ev.AnyEvent]:
    asked, timeout = command.asked, command.timeout_s
    if timeout is not None:
        asked = asked.evolve(expires_at=now + timedelta(seconds=timeout))
    if not isinstance(asked, Approval):
        if asked.id in state.questions:
            raise do.Refused(f"{asked.id} was already asked")
        return [ev.QuestionAsked(question=asked)]
    before = state.approvals.get(asked.approval_id)
    if before is not None and before.attempt == asked.attempt:
        raise do.Refused(f"{asked.approval_id} was already requested")
    return [ev.ApprovalRequested(approval=asked.evolve(asked_at=now))]


def due(state: RunState) -> list[do.Command]:
    """The commands that follow from the state alone, without the flow: for example, requests, retries and starts."""
    if state.pending_requests:  # by itself: it can settle what else would be due
        return [do.DecideRequest()]
    if state.finished is not None:
        return []
    stop = stopping(state)
    if isinstance(stop, do.End):
        return [stop]
    wanted: list[do.Command] = [do.Settle(key) for key in state.unsettled]
    if state.status is RunStatus.PAUSED:
        return wanted + ([do.SetStatus(RunStatus.RUNNING)] if state.resume_wanted else [])
    if stop is not None:
        return [*wanted, stop]
    asked = open_question(state)
    if state.status is RunStatus.WAITING and asked is not None and asked.holds:
        return []
    wanted += [do.Answer(call_id) for call_id in islice(asks.due_calls(state), 1)]  # each beside those before it
    wanted += [do.Conclude(key, needs_failed(cause)) for key, cause in state.blocked.items()]
    answered: list[do.Command] = [do.Start(key) for key in state.due if under_way(state, key).answered]
    if state.status is RunStatus.WAITING and (
        answered or not (state.parked or open_plan(state) or asked) or _settled_since(state)
    ):
        wanted.append(do.SetStatus(RunStatus.RUNNING))
    return [*wanted, *answered, *_starts(state)]


def _settled_since(state: RunState) -> bool:
    """Whether something was settled since the run waits, which its function has not seen."""
    return next(reversed(state.settled.values()), 0) > state.status_seq


def stopping(state: RunState) -> do.End | do.SetStatus | None:
    """Return the command that cancels or pauses a run, as a person asked; None if nobody did."""
    if state.cancel_by is not None:
        return ending(f"cancelled by {state.cancel_by}", "cancelled", FailureClass.REJECTED, ASK_AGAIN)
    return None if state.pause_reason is None else do.SetStatus(RunStatus.PAUSED, state.pause_reason)


def _starts(state: RunState) -> Iterator[do.Command]:
    """Return every step that may start; with a batch size, the next group once the previous one is settled."""
    size = state.definition.limits.batch_size
    if state.status is RunStatus.RUNNING and (size is None or not state.busy):
        yield from (do.Start(key) for key in islice(state.ready, size))


def run_out(state: RunState) -> list[do.Command]:
    """What ends when only the time for reviews and the answer is left. What waits for people or children does not."""
    idle = (key for key in state.parked if not asks.waits(state, under_way(state, key)))
    keys = dict.fromkeys((*state.live, *state.ready, *idle))
    found = (state.steps[key] for key in keys)
    return [do.Conclude(each.key, attempts.time_is_up(state, each)) for each in found if is_work(state, each)]


def when_idle(state: RunState, refused: str = "", held: int = 0) -> list[do.Command]:
    """Return what to do if the flow has no valid command and nothing is running: wait for people, or end the run.

    ``refused`` is the reason why the flow's commands are not allowed, if it returned any; ``held`` is the number of
    steps that do not begin, since the flow has not asked for them again.
    """
    if state.status is not RunStatus.RUNNING or len(state.live) + len(state.unsettled) > held:
        return []
    if state.parked or open_plan(state) or open_question(state):
        return [do.SetStatus(RunStatus.WAITING, f"{len(state.parked) or 1} waiting for an answer")]
    if state.unanswered:  # a timer, or a signal
        return []
    message = f"the flow {state.definition.flow} returned no commands, but the run has not ended"
    if refused:
        message = f"the flow {state.definition.flow} asked for what cannot be done: {refused}"
        return [ending(message, "flow_error", FailureClass.UNAVAILABLE, FIX_FLOW)]
    return [ending(message, "no_progress", FailureClass.EXHAUSTED, ASK_OTHERWISE)]


def ending(message: str, type_: str, class_: FailureClass, next_action: str) -> do.End:
    """Return the command that ends a run early, for this reason."""
    return do.End(FlowAnswer(failure=Failure.of(message, type_, class_, next_action)))


def may_become(state: RunState, status: RunStatus) -> bool:
    """Whether a run may change from its status to this one."""
    return status in RUN[state.status]


def end(state: RunState, command: do.End, now: datetime) -> list[ev.AnyEvent]:
    """End a run. Its flow states the answer; status, sources and gaps follow from the evidence."""
    ended = ended_attempts(state, command.answer.failure)
    after = foreseen(state, ended, now) if ended else state
    finished = concluded(after, command.answer)
    if not may_become(state, finished.status):
        raise do.Refused(f"a run that is {state.status} cannot end as {finished.status}")
    return [*ended, finished]


def ended_attempts(state: RunState, failure: Failure | None) -> list[ev.AnyEvent]:
    """Return the ends of the attempts that run or wait when their run ends; those that have returned are judged but not
    retried."""
    cause = failure or Failure.of("the run ended first", "run_ended", FailureClass.REJECTED, ASK_AGAIN)
    ended: list[ev.AnyEvent] = []
    for key in state.unsettled:
        step, attempt = state.steps[key], under_way(state, key)
        if attempt.result is not None:
            ended.append(attempts.settled(step, attempt.attempt, failure_of(state, step, attempt.result)))
    inner = (key for key, each in state.steps.items() if each.is_inner)
    for key in (*inner, *state.live, *state.parked):
        ended += attempts.conclude(state, key, cause)
    return ended
