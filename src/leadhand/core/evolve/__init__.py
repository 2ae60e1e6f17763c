"""Compute the state of a run from its log.

``fold`` does not change its arguments: it copies the state's maps once, then applies each event to the copy, so a batch
of a hundred events costs one copy. One event changes a bounded number of entries, however large the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from typing import Any

from leadhand.core import events as ev
from leadhand.core.approval import Question
from leadhand.core.errors import UnreadableRun
from leadhand.core.relations import dozes
from leadhand.core.run import RunStatus, with_turns
from leadhand.core.state import RunState
from leadhand.core.value import FrozenDict, compact_json

from . import calls, steps


def start(run_id: str, entry: ev.Entry) -> RunState:
    """Return the state after a run's first entry. Raises UnreadableRun if that is not ``RunStarted``."""
    if not isinstance(entry.event, ev.RunStarted):
        raise UnreadableRun(run_id, 1, f"the log of {run_id} begins with {entry.event.type}, not with run_started")
    return RunState(
        run_id=run_id,
        definition=entry.event.definition,
        created_at=entry.at,
        seq=entry.seq,
        epoch=entry.epoch,
        last_at=entry.at,
    )


def replay(run_id: str, entries: Iterable[ev.Entry]) -> RunState:
    """Return the state of a whole log. Raises ValueError if it is empty."""
    iterator = iter(entries)
    first = next(iterator, None)
    if first is None:
        raise ValueError(f"the log of {run_id} is empty")
    return fold(start(run_id, first), iterator)


def evolve(state: RunState, entry: ev.Entry) -> RunState:
    """Return the state after one more entry."""
    return fold(state, (entry,))


def fold(state: RunState, entries: Iterable[ev.Entry]) -> RunState:
    """The state after more entries, in order. Entries up to ``state.seq`` are skipped, so they may be sent twice.

    Raises UnreadableRun for an entry that contradicts those before it, such as one that the disk has damaged.
    """
    after = draft(state)
    for entry in entries:
        if entry.seq <= after.seq:
            continue
        try:
            apply_entry(after, entry)
        except Exception as error:
            what = f"event {entry.seq} of run {state.run_id} ({entry.event.type}) contradicts the events before it"
            raise UnreadableRun(state.run_id, entry.seq, f"{what}: {type(error).__name__}: {error}") from error
    for name in _MAPS:
        getattr(after, name).__class__ = FrozenDict
    after.__class__ = RunState
    return after


def foreseen(state: RunState, events: Iterable[ev.AnyEvent], at: datetime) -> RunState:
    """Return the state after events that are not written yet, if they are the next ones of the log."""
    numbered = enumerate(events, state.seq + 1)
    return fold(state, (ev.Entry(seq=seq, at=at, epoch=state.epoch, event=event) for seq, event in numbered))


class _Draft(RunState):
    """A state while it is made."""

    __slots__ = ()
    __setattr__ = object.__setattr__


class _Map(dict[str, Any]):
    """A map of a draft."""

    __slots__ = ()


def draft(state: RunState) -> RunState:
    """Return a copy of a state to apply entries to, in place."""
    after = object.__new__(_Draft)  # for a class with slots, copy.copy takes twice the time
    for name in _VALUES:
        setattr(after, name, getattr(state, name))
    for name in _MAPS:  # a copy has its own maps; their values are frozen and shared
        setattr(after, name, _Map(getattr(state, name)))
    return after


def apply_entry(state: RunState, entry: ev.Entry) -> None:
    """Apply one more entry to a draft."""
    state.seq = entry.seq
    if state.last_at is not None and (type(entry.event) is ev.RunClaimed or _rests(state)):
        state.rested += entry.at - state.last_at  # until a take-over, no process drove the run
    _APPLY[type(entry.event)](state, entry, entry.event)
    state.last_at = entry.at


_MAPS = tuple(f.name for f in fields(RunState) if f.default_factory is not MISSING)
_VALUES = tuple(f.name for f in fields(RunState) if f.default_factory is MISSING)


def _claimed(state: RunState, entry: ev.Entry, event: ev.RunClaimed) -> None:
    state.epoch = entry.epoch
    state.owner = event.owner


def _rests(state: RunState) -> bool:
    """Whether the time that passes does not count: the run has ended, is paused, or waits for others."""
    return state.status is not RunStatus.RUNNING or (bool(state.unanswered) and dozes(state))


def _status_set(state: RunState, entry: ev.Entry, event: ev.RunStatusSet) -> None:
    if event.slept_s:
        if not _rests(state):
            state.rested += timedelta(seconds=event.slept_s)
        return
    if event.by:  # it had ended
        if state.finished is not None:
            state.answers = (*state.answers, state.finished)
        state.finished = state.finished_at = state.cancel_by = state.pause_reason = None
    state.status, state.status_seq = event.status, entry.seq
    if event.status is not RunStatus.WAITING:
        state.resume_wanted = False
    if event.status is RunStatus.PAUSED:
        state.pause_reason = None


def _finished(state: RunState, entry: ev.Entry, event: ev.RunFinished) -> None:
    state.status = event.status
    state.finished = event
    state.finished_at = entry.at


def _run_requested(state: RunState, _entry: ev.Entry, event: ev.RunRequested) -> None:
    match event.what:
        case "cancel":
            state.cancel_by = event.by or "somebody"
        case "pause":
            state.pause_reason = event.reason or "asked for"
        case "resume":
            state.resume_wanted = True
            state.pause_reason = None


def _step_requested(state: RunState, _entry: ev.Entry, event: ev.StepRequested) -> None:
    state.pending_requests = (*state.pending_requests, event)


def _run_changed(state: RunState, _entry: ev.Entry, event: ev.RunChanged) -> None:
    definition = state.definition.evolve(
        limits=event.limits,
        held_back=event.held_back,
        held_back_s=event.held_back_s,
        needs_prices=state.definition.needs_prices or event.needs_prices,
    )
    state.definition = with_turns(definition, event.turns) if event.turns else definition


def _asked(state: RunState, entry: ev.Entry, event: ev.QuestionAsked) -> None:
    asked = event.question
    state.questions[asked.id] = asked
    state.unanswered[asked.id] = asked.expires_at
    if asked.kind == "signal" and (kept := state.signals.get(asked.text)):
        state.signals[asked.text] = kept[1:]
        _reply(state, entry, asked, compact_json(kept[0]), "")


def _answered(state: RunState, entry: ev.Entry, event: ev.QuestionAnswered) -> None:
    asked = state.questions.get(event.question_id)
    if asked is not None and asked.reply is None:  # the first answer counts
        _reply(state, entry, asked, event.text, event.by)


def _signal_sent(state: RunState, entry: ev.Entry, event: ev.SignalSent) -> None:
    waiting = (state.questions[key] for key in state.unanswered)
    asked = next((each for each in waiting if each.kind == "signal" and each.text == event.name), None)
    if asked is None:
        state.signals[event.name] = (*state.signals.get(event.name, ()), event.value)
    else:
        _reply(state, entry, asked, compact_json(event.value), event.by)


def _reply(state: RunState, entry: ev.Entry, asked: Question, reply: str, by: str) -> None:
    state.questions[asked.id] = asked.evolve(reply=reply, by=by, answered_at=entry.at)
    state.unanswered.pop(asked.id, None)
    state.settled[f"?{asked.id}"] = state.seq
    calls.replied(state, asked.id, reply)


def _noted(state: RunState, _entry: ev.Entry, event: ev.NoteEmitted) -> None:
    if event.key:
        state.settled[event.key] = state.seq


def _nothing(_state: RunState, _entry: ev.Entry, _event: ev.RunStarted) -> None:
    """Ignore the event: the state already includes the start."""


_APPLY: dict[type, Callable[[RunState, ev.Entry, Any], None]] = {
    ev.RunStarted: _nothing,
    ev.RunClaimed: _claimed,
    ev.RunStatusSet: _status_set,
    ev.RunFinished: _finished,
    ev.RunRequested: _run_requested,
    ev.RunChanged: _run_changed,
    ev.OrderIssued: steps.order_issued,
    ev.ResultsJudged: steps.judged,
    ev.StepIssued: steps.issued,
    ev.StepRequested: _step_requested,
    ev.StepSettled: calls.settled,
    ev.RequestDecided: calls.request_decided,
    ev.AttemptScheduled: steps.scheduled,
    ev.AttemptStarted: steps.started,
    ev.AttemptReturned: steps.returned,
    ev.AttemptParked: steps.parked,
    ev.ModelCallBegan: calls.model_began,
    ev.ModelCallReturned: calls.model_returned,
    ev.ElementWritten: calls.element_written,
    ev.ConversationCompacted: calls.compacted,
    ev.ToolCallBegan: calls.tool_began,
    ev.ToolCallReturned: calls.tool_returned,
    ev.CallAnswered: calls.call_answered,
    ev.WorkerDefined: calls.worker_defined,
    ev.ArtifactWritten: calls.artifact_written,
    ev.TodosSet: calls.todos_set,
    ev.NoteEmitted: _noted,
    ev.ApprovalRequested: calls.approval_requested,
    ev.ApprovalAnswered: calls.approval_answered,
    ev.QuestionAsked: _asked,
    ev.QuestionAnswered: _answered,
    ev.SignalSent: _signal_sent,
}
