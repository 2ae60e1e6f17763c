"""Decide which events follow from a state and a command, as pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal, NamedTuple

from leadhand.core import events as ev
from leadhand.core.approval import Approval, Question
from leadhand.core.errors import Failure, FailureClass, Refused
from leadhand.core.evolve import foreseen
from leadhand.core.ids import asking_call, step_of, step_of_call
from leadhand.core.outcome import FlowAnswer, concluded
from leadhand.core.relations import is_work, open_plan, open_question
from leadhand.core.run import RUN, RunStatus
from leadhand.core.state import RunState
from leadhand.core.words.failures import ASK_AGAIN, ASK_OTHERWISE, FIX_FLOW, needs_failed

from .asks import Answer, due_calls, waits
from .attempts import (
    Conclude,
    IssueOrder,
    IssueStep,
    Judge,
    Lose,
    Settle,
    Start,
    failure_of,
    settled,
    time_is_up,
    under_way,
)
from .requests import DecideRequest


class Note(NamedTuple):
    """Write a line into the log, once for each ``key``."""

    message: str
    key: str

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        noted = self.key in state.settled
        return [] if noted else [ev.NoteEmitted(attempt="", message=self.message, key=self.key)]


class Ask(NamedTuple):
    """Ask a person about a call or a plan, or ask a question, which expires after ``timeout_s`` seconds."""

    asked: Approval | Question
    timeout_s: float | None = None

    def decide(self, state: RunState, now: datetime) -> list[ev.AnyEvent]:
        asked = self.asked
        if self.timeout_s is not None:
            asked = asked.evolve(expires_at=now + timedelta(seconds=self.timeout_s))
        if not isinstance(asked, Approval):
            if asked.id in state.questions:
                raise Refused(f"{asked.id} was already asked")
            if call := asking_call(asked.id):
                _check_open(state, step_of_call(call), asked.id)
            return [ev.QuestionAsked(question=asked)]
        before = state.approvals.get(asked.approval_id)
        if before is not None and before.attempt == asked.attempt:
            raise Refused(f"{asked.approval_id} was already requested")
        if asked.kind != "plan":
            _check_open(state, step_of(asked.attempt), asked.approval_id)
        return [ev.ApprovalRequested(approval=asked.evolve(asked_at=now))]


def _check_open(state: RunState, key: str, call_id: str) -> None:
    """Raise Refused if a step does not wait for a call any more, as after a person has skipped it."""
    step = state.steps.get(key)
    if step is None or step.open_call(call_id) is None:
        raise Refused(f"{call_id} is not open")


class Expire(NamedTuple):
    """Deny a call because nobody answered in time, or answer a question with its default."""

    approval_id: str

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        if self.approval_id in state.unanswered:
            asked = state.questions[self.approval_id]
            return [ev.QuestionAnswered(question_id=asked.id, text=asked.default, expired=True)]
        if self.approval_id not in state.asking:
            raise Refused(f"{self.approval_id} is not open")
        return [ev.ApprovalAnswered(approval_id=self.approval_id, approve=False, expired=True)]


class SetStatus(NamedTuple):
    """Pause the run, let it wait for people, or continue it. ``slept_s``: the process was not running for so long."""

    status: Literal[RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING] = RunStatus.RUNNING
    reason: str = ""
    slept_s: float = 0.0

    def decide(self, state: RunState, _now: datetime) -> list[ev.AnyEvent]:
        if self.slept_s:
            return [ev.RunStatusSet(status=RunStatus.RUNNING, slept_s=self.slept_s)]
        allowed = self.status in RUN[state.status]
        return [ev.RunStatusSet(status=self.status, reason=self.reason)] if allowed else []


class End(NamedTuple):
    """End the run with the ``answer`` that its flow states, or for the reason in ``answer.failure``; status, sources
    and gaps follow from the evidence."""

    answer: FlowAnswer = FlowAnswer()

    def decide(self, state: RunState, now: datetime) -> list[ev.AnyEvent]:
        ended = ended_attempts(state, self.answer.failure, now)
        after = foreseen(state, ended, now) if ended else state
        finished = concluded(after, self.answer)
        if finished.status not in RUN[state.status]:
            raise Refused(f"a run that is {state.status} cannot end as {finished.status}")
        return [*ended, finished]


Command = (
    IssueOrder | IssueStep | Conclude | Note | Start | Settle | Lose | Answer | Judge | Ask | Expire | DecideRequest
    | SetStatus | End
)  # fmt: skip
"""What the flow of a run, its owner and people want to happen next. Its ``decide`` returns the events that follow."""


def decide(state: RunState, command: Command, now: datetime) -> list[ev.AnyEvent]:
    """Return the events that follow from ``command``; ``state`` does not include them yet.

    Raises :class:`~leadhand.core.errors.Refused` if the state does not allow the command.
    """
    if state.finished is not None and not isinstance(command, DecideRequest):
        raise Refused("the run has ended")
    return command.decide(state, now)


def due(state: RunState) -> list[Command]:
    """The commands that follow from the state alone, without the flow: for example, requests, retries and starts."""
    if state.pending_requests:  # by itself: it can settle what else would be due
        return [DecideRequest()]
    if state.finished is not None:
        return []
    stop = stopping(state)
    if isinstance(stop, End):
        return [stop]
    wanted: list[Command] = [Settle(key) for key in state.unsettled]
    if state.status is RunStatus.PAUSED:
        return wanted + ([SetStatus(RunStatus.RUNNING)] if state.resume_wanted else [])
    if stop is not None:
        return [*wanted, stop]
    asked = open_question(state)
    if state.status is RunStatus.WAITING and asked is not None and asked.holds:
        return []
    wanted += [Answer(call_id) for call_id in islice(due_calls(state), 1)]  # each beside those before it
    wanted += [Conclude(key, needs_failed(cause)) for key, cause in state.blocked.items()]
    answered: list[Command] = [Start(key) for key in state.due if under_way(state, key).answered]
    if state.status is RunStatus.WAITING and (
        answered or not (state.parked or open_plan(state) or asked) or _settled_since(state)
    ):
        wanted.append(SetStatus(RunStatus.RUNNING))
    return [*wanted, *answered, *_starts(state)]


def _settled_since(state: RunState) -> bool:
    """Whether something was settled since the run waits, which its function has not seen."""
    return next(reversed(state.settled.values()), 0) > state.status_seq


def stopping(state: RunState) -> End | SetStatus | None:
    """Return the command that cancels or pauses a run, as a person asked; None if nobody did."""
    if state.cancel_by is not None:
        return ending(f"cancelled by {state.cancel_by}", "cancelled", FailureClass.REJECTED, ASK_AGAIN)
    return None if state.pause_reason is None else SetStatus(RunStatus.PAUSED, state.pause_reason)


def _starts(state: RunState) -> Iterator[Command]:
    """Return every step that may start; with a batch size, the next group once the previous one is settled."""
    size = state.definition.limits.batch_size
    if state.status is RunStatus.RUNNING and (size is None or not state.busy):
        yield from (Start(key) for key in islice(state.ready, size))


def run_out(state: RunState) -> list[Command]:
    """What ends when only the time for reviews and the answer is left. What waits for people or children does not."""
    idle = (key for key in state.parked if not waits(state, under_way(state, key)))
    keys = dict.fromkeys((*state.live, *state.ready, *idle))
    found = (state.steps[key] for key in keys)
    return [Conclude(each.key, time_is_up(state, each)) for each in found if is_work(state, each)]


def when_idle(state: RunState, refused: str = "", held: int = 0) -> list[Command]:
    """Return what to do if the flow has no valid command and nothing is running: wait for people, or end the run.

    ``refused`` is the reason why the flow's commands are not allowed, if it returned any; ``held`` is the number of
    steps that do not begin, since the flow has not asked for them again.
    """
    if state.status is not RunStatus.RUNNING or len(state.live) + len(state.unsettled) > held:
        return []
    if state.parked or open_plan(state) or open_question(state):
        return [SetStatus(RunStatus.WAITING, f"{len(state.parked) or 1} waiting for an answer")]
    if state.unanswered:  # a timer, or a signal
        return []
    message = f"the flow {state.definition.flow} returned no commands, but the run has not ended"
    if refused:
        message = f"the flow {state.definition.flow} asked for what cannot be done: {refused}"
        return [ending(message, "flow_error", FailureClass.UNAVAILABLE, FIX_FLOW)]
    return [ending(message, "no_progress", FailureClass.EXHAUSTED, ASK_OTHERWISE)]


def ending(message: str, type_: str, class_: FailureClass, next_action: str) -> End:
    """Return the command that ends a run early, for this reason."""
    return End(FlowAnswer(failure=Failure.of(message, type_, class_, next_action)))


def ended_attempts(state: RunState, failure: Failure | None, now: datetime) -> list[ev.AnyEvent]:
    """Return the ends of the attempts that run or wait when their run ends; those that have returned are judged but not
    retried."""
    cause = failure or Failure.of("the run ended first", "run_ended", FailureClass.REJECTED, ASK_AGAIN)
    ended: list[ev.AnyEvent] = []
    for key in state.unsettled:
        step, attempt = state.steps[key], under_way(state, key)
        if attempt.returned is not None:
            ended.append(settled(step, attempt.attempt, failure_of(state, step, attempt.returned)))
    inner = (key for key, each in state.steps.items() if each.is_inner)
    for key in (*inner, *state.live, *state.parked):
        ended += Conclude(key, cause).decide(state, now)
    return ended
