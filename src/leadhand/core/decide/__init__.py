"""Decide which events follow from a state and a command, as pure functions."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import assert_never

from leadhand.core import commands as do
from leadhand.core import events as ev
from leadhand.core.approval import ApprovalStatus
from leadhand.core.commands import Policy
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.evolve import fold
from leadhand.core.lifecycle import RUN
from leadhand.core.outcome import concluded
from leadhand.core.plan_approval import open_plan
from leadhand.core.questions import open_question
from leadhand.core.rights import is_work
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState

from . import asks, attempts, beginning, orders
from .attempts import failure_of, under_way
from .operator_requests import decide_request


def decide(state: RunState, command: do.Command, now: datetime, policy: Policy) -> list[ev.AnyEvent]:
    """Return the events that follow from ``command``; ``state`` does not include them yet.

    ``policy`` is the flow, which decides whether results count and what the outcome is. Raises
    :class:`~leadhand.core.commands.Refused` if the state does not allow the command.
    """
    if state.finished is not None and not isinstance(command, do.DecideRequest):
        raise do.Refused("the run has ended")
    match command:
        case do.IssueOrder():
            return orders.issue_order(state, command.order, command.by)
        case do.Begin():
            return beginning.begin(state, command, now)
        case do.Reuse():
            return beginning.reuse(state, command.subtask)
        case do.DecideRequest():
            return decide_request(state)
        case do.DeclineRetry():
            return [ev.RequestDeclined(request="retry_granted", reason=command.reason)]
        case do.NoteGaps():
            return [ev.GapsNoted(parts=command.parts)]
        case do.Assign():
            return attempts.assign(state, command)
        case do.Start():
            return attempts.start(state, command.step)
        case do.Block():
            if state.blocked.get(command.step) != command.cause:
                raise do.Refused(f"{command.step} is not blocked by {command.cause}")
            return [ev.SubtaskBlocked(subtask=command.step, cause=command.cause)]
        case do.Settle():
            return attempts.settle(state, command.step, now, policy)
        case do.TryAgain():
            return attempts.try_again(state, command.step, now)
        case do.Continue():
            return attempts.continue_parked(state, command.step)
        case do.DecideAsks():
            return asks.decide_asks(state, command.step, command.call_id)
        case do.AnswerCall():
            return [asks.answer_of(state, command.call_id)]
        case do.GiveUpAttempt():
            attempts.current(state, command.attempt)
            return [ev.AttemptLost(attempt=command.attempt, failure=command.failure)]
        case do.RunOut():
            return attempts.run_out(state, command.step)
        case do.NoteSleep():
            return [ev.ProcessSlept(seconds=command.seconds)]
        case do.Judge():
            return orders.judge(state, command.work_order_id, command.review)
        case do.AskApproval():
            asked = state.approvals.get(command.approval.approval_id)
            if asked is not None and asked.attempt == command.approval.attempt:
                raise do.Refused(f"{command.approval.approval_id} was already requested")
            return [ev.ApprovalRequested(approval=asks.with_deadline(state, command.approval, now))]
        case do.AskQuestion():
            if command.question.id in state.questions:
                raise do.Refused(f"{command.question.id} was already asked")
            return [ev.QuestionAsked(question=command.question)]
        case do.ExpireApproval():
            asked = state.approvals.get(command.approval_id)
            if asked is None or asked.status is not ApprovalStatus.PENDING:
                raise do.Refused(f"{command.approval_id} is not open")
            return [ev.ApprovalExpired(approval_id=command.approval_id)]
        case do.Pause():
            return [ev.RunPaused(reason=command.reason)] if may_become(state, RunStatus.PAUSED) else []
        case do.Wait():
            return [ev.RunWaiting(reason=command.reason)] if may_become(state, RunStatus.WAITING) else []
        case do.Resume():
            return [ev.RunResumed()] if may_become(state, RunStatus.RUNNING) else []
        case do.Finish():
            return finish(state, command, now, policy)
        case _:
            assert_never(command)


def due(state: RunState) -> list[do.Command]:
    """The commands that follow from the state alone, without the flow: for example, requests, retries and starts."""
    requested: list[do.Command] = [do.DecideRequest()] if state.pending_requests else []
    if state.finished is not None:
        return requested
    if state.cancel_by is not None:
        cancelled = Failure.of(f"cancelled by {state.cancel_by}", "cancelled", FailureClass.REJECTED)
        return [*requested, do.Finish(failure=cancelled, cancelled=True)]
    wanted: list[do.Command] = [*requested]
    wanted += [do.Settle(step=key) for key in state.unsettled]
    wanted += [do.TryAgain(step=key) for key in state.retrying]
    if state.status is RunStatus.PAUSED:
        return wanted + ([do.Resume()] if state.resume_wanted else [])
    if state.pause_reason is not None:
        return [*wanted, do.Pause(reason=state.pause_reason)]
    wanted += asks.due_asks(state)
    wanted += [do.Reuse(subtask=key) for key in state.reusable]
    wanted += [do.Block(step=key, cause=cause) for key, cause in state.blocked.items()]
    answered = [do.Continue(step=key) for key in state.parked if attempts.under_way(state, key).answered]
    if state.status is RunStatus.WAITING and (
        answered or not (state.parked or open_plan(state) or open_question(state))
    ):
        wanted.append(do.Resume())
    return [*wanted, *answered, *_starts(state)]


def _starts(state: RunState) -> list[do.Command]:
    """Return every step that may start; with a batch size, the next group once the previous one is settled."""
    size = state.definition.limits.batch_size
    if state.status is not RunStatus.RUNNING or (size is not None and state.busy):
        return []
    return [do.Start(step=key) for key in islice(state.ready, size)]


def run_out(state: RunState) -> list[do.RunOut]:
    """What ends when only the time for reviews and the answer is left. What waits for people or children does not."""
    idle = (key for key in state.parked if not asks.waits(state, under_way(state, key)))
    keys = dict.fromkeys((*state.live, *state.retrying, *state.ready, *idle))
    return [do.RunOut(step=key) for key in keys if is_work(state, state.steps[key])]


def when_idle(state: RunState, refused: str = "") -> list[do.Command]:
    """Return what to do if the flow has no valid command and nothing is running: wait for people, or end the run.

    ``refused`` is the reason why the flow's commands are not allowed, if it returned any.
    """
    if state.status is not RunStatus.RUNNING or state.live or state.unsettled or state.retrying:
        return []
    if state.parked:
        return [do.Wait(reason=f"{len(state.parked)} waiting for an answer")]
    if open_plan(state) is not None:
        return [do.Wait(reason="the plan waits for approval")]
    if open_question(state) is not None:
        return [do.Wait(reason="a question waits for an answer")]
    message = f"the flow {state.definition.flow} returned no commands, but the run has not ended"
    if refused:
        message = f"the flow {state.definition.flow} returned an invalid command: {refused}"
    return [do.Finish(failure=Failure.of(message, "no_progress", FailureClass.EXHAUSTED))]


def may_become(state: RunState, status: RunStatus) -> bool:
    """Raise Refused unless a run may change from its status to this one."""
    return status in RUN[state.status]


def finish(state: RunState, command: do.Finish, now: datetime, policy: Policy) -> list[ev.AnyEvent]:
    """End a run. Its flow states the outcome; status, sources and gaps follow from the evidence."""
    ended = _end_attempts(state, command.failure, policy)
    entries = [
        ev.Entry(seq=state.seq + n, at=now, epoch=state.epoch, event=event) for n, event in enumerate(ended, start=1)
    ]
    after = fold(state, entries) if entries else state
    finished = concluded(after, policy.outcome(after), command.failure, cancelled=command.cancelled)
    if not may_become(state, finished.status):
        raise do.Refused(f"a run that is {state.status} cannot end as {finished.status}")
    return [*ended, finished]


def _end_attempts(state: RunState, failure: Failure | None, policy: Policy) -> list[ev.AnyEvent]:
    """End the attempts that run or wait when their run ends; attempts that have returned are judged but not retried."""
    cause = failure or Failure.of("the run ended first", "run_ended", FailureClass.REJECTED)
    ended: list[ev.AnyEvent] = []
    for key in state.unsettled:
        step, attempt = state.steps[key], under_way(state, key)
        if attempt.result is not None:
            ended.append(attempts.settled(step, attempt, failure_of(state, step, attempt.result, policy)))
    for key in (*state.live, *state.parked, *state.retrying):
        ended += attempts.end_attempt(state, key, cause)
    return ended
