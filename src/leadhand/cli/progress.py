"""What people are shown of a run while it runs: counts, and what is under way. Kept up to date event by event.

One event costs a bounded number of steps, however many subtasks there are; only what people say looks at every open
question. ``take`` also says in a line what changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leadhand.app.formatting import child_label, count, duration, label
from leadhand.cli.steps import PHASES, REQUESTS, WAITING_NOTES, Lane, Step, and_more, waited_for, why_of
from leadhand.domain import events as ev
from leadhand.domain.approval import Approval, args_hash
from leadhand.domain.errors import Failure, FailureClass
from leadhand.domain.ids import assignment_of, subtask_key
from leadhand.domain.listing import is_subtask
from leadhand.domain.review import VerdictKind
from leadhand.domain.run import RunDefinition

SHOWN = 3
"""Subtasks that a line names."""
RECENT = 12
"""Finished subtasks that are remembered for showing."""


@dataclass(slots=True)
class Progress:
    """A run as it is shown: ``order`` is its latest work order, which ``total``, ``done`` and ``failed`` count.

    ``phase`` is what the lead is doing, "" for nothing.
    """

    definition: RunDefinition | None = None
    created_at: datetime | None = None
    order: str = ""
    phase: str = ""
    phase_since: datetime | None = None
    total: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    nanousd: int = 0
    resting: bool = False
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])
    waiting: int = 0
    retrying: int = 0
    recent: deque[Lane] = field(default_factory=lambda: deque[Lane](maxlen=RECENT))
    labels: dict[str, str] = field(default_factory=dict[str, str])
    tries: dict[str, int] = field(default_factory=dict[str, int])
    failures: dict[str, Failure] = field(default_factory=dict[str, Failure])
    attempts: dict[str, str] = field(default_factory=dict[str, str])
    asked: dict[str, Approval] = field(default_factory=dict[str, Approval])
    parked: set[str] = field(default_factory=set[str])

    def take(self, entry: ev.Entry) -> Step | None:
        """Take note of what happened; the change in a line, None when it is not worth one."""
        event = entry.event
        match event:
            case ev.RunStarted():
                return self._started(entry, event)
            case ev.RunClaimed():
                return self._claimed(entry, event)
            case ev.RunPaused():
                return self._paused(entry, event)
            case ev.RunWaiting():
                return self._waits(entry, event)
            case ev.RunResumed():
                return self._resumed(entry, event)
            case ev.RunReopened():
                return self._reopened(entry, event)
            case ev.RunFinished():
                return self._finished(entry, event)
            case ev.RetryGranted():
                return self._again(entry, event)
            case ev.RequestDeclined():
                return self._refused(entry, event)
            case ev.CancelRequested():
                return self._cancel(entry, event)
            case ev.WorkOrderIssued():
                return self._ordered(entry, event)
            case ev.GapsNoted():
                return self._out_of_reach(entry, event)
            case ev.ResultsJudged():
                return self._reviewed(entry, event)
            case ev.AssignmentIssued():
                return self._assigned(event)
            case ev.AttemptStarted():
                return self._attempt_started(entry, event)
            case ev.AttemptScheduled():
                return self._attempt_again(entry, event)
            case ev.AttemptSettled():
                return self._settled(entry, event)
            case ev.AttemptLost():
                return self._lost(entry, event)
            case ev.AttemptParked():
                return self._parked(entry, event)
            case ev.EffectQuestioned():
                return self._held(entry, event)
            case ev.ApprovalRequested():
                return self._asked(entry, event)
            case ev.ApprovalAnswered() | ev.EffectAnswered():
                return self._answered(event)
            case ev.ApprovalExpired():
                return self._expired(entry, event)
            case ev.SubtaskResolved():
                return self._resolved(entry, event)
            case ev.SubtaskBlocked():
                return self._blocked(entry, event)
            case ev.ModelCallReturned():
                return self._model_returned(entry, event)
            case _:
                return None

    @property
    def running(self) -> int:
        """Subtasks that are being carried out now."""
        return len(self.lanes) - self.waiting - self.retrying

    # --- the run -----------------------------------------------------------------------------------------------------

    def _started(self, entry: ev.Entry, event: ev.RunStarted) -> None:
        self.definition = event.definition
        self.created_at = entry.at

    def _claimed(self, _entry: ev.Entry, _event: ev.RunClaimed) -> Step | None:
        left = not self.resting and bool(self.order or self.phase)
        self._clear()
        return Step("resumed", "the process that drove it is gone; another one goes on", phase=True) if left else None

    def _paused(self, _entry: ev.Entry, event: ev.RunPaused) -> Step:
        self._clear()
        self.resting = True
        return Step("parked", event.reason or "on request", phase=True)

    def _waits(self, _entry: ev.Entry, event: ev.RunWaiting) -> Step:
        self.resting = True
        text = f"{len(self.asked):,} waiting for an answer" if self.asked else event.reason or "for people"
        return Step("waits", text, phase=True)

    def _resumed(self, _entry: ev.Entry, _event: ev.RunResumed) -> Step:
        self.resting = False
        return Step("resumed", "goes on where it was", phase=True)

    def _reopened(self, _entry: ev.Entry, event: ev.RunReopened) -> Step:
        self.resting = False
        return Step("reopen", f"{event.by} wants more of it: another answer will come", phase=True)

    def _again(self, _entry: ev.Entry, event: ev.RetryGranted) -> Step:
        what = f"{', '.join(event.subtasks[:SHOWN])}{and_more(len(event.subtasks) - SHOWN)}"
        if event.data is not None:
            return Step("again", f"{event.by} gave the result of {what}: {event.data.summary}", phase=True)
        args = f" with {label('other arguments', event.args)}" if event.args is not None else ""
        return Step("again", f"{event.by} has {what} done again{args}", phase=True)

    def _refused(self, _entry: ev.Entry, event: ev.RequestDeclined) -> Step:
        return Step("refused", f"{REQUESTS.get(event.request, 'what was asked for')}: {event.reason}", phase=True)

    def _finished(self, _entry: ev.Entry, _event: ev.RunFinished) -> None:
        self._clear()
        self.asked.clear()
        self.parked.clear()
        self.resting = True

    def _clear(self) -> None:
        self.lanes.clear()
        self.waiting = self.retrying = 0
        self.phase = ""

    def _cancel(self, _entry: ev.Entry, event: ev.CancelRequested) -> Step:
        return Step("cancel", f"asked for by {event.by or 'somebody'}", phase=True)

    # --- orders ------------------------------------------------------------------------------------------------------

    def _ordered(self, entry: ev.Entry, event: ev.WorkOrderIssued) -> Step:
        order = event.order
        self.order = order.work_order_id
        self.phase = ""
        self.total, self.done, self.failed = len(order.subtasks), 0, 0
        self.recent.clear()
        retries = {tool.name: tool.retries for tool in self.definition.tools} if self.definition is not None else {}
        for index, subtask in enumerate(order.subtasks):
            key = subtask_key(order.work_order_id, index)
            self.labels[key] = label(subtask.name, subtask.args)
            if subtask.tool in retries:
                self.tries[key] = 1 + retries[subtask.tool]
        what = count(len(order.subtasks), "subtask")
        if order.repairs:
            by = f", asked for by {event.by}" if event.by else ""
            return Step("repair", f"{order.work_order_id}: {what}, repairs {order.repairs}{by}", phase=True)
        return Step("plan", f"{order.work_order_id}: {what}{self._phase_took(entry)}", phase=True)

    def _out_of_reach(self, _entry: ev.Entry, event: ev.GapsNoted) -> Step:
        return Step("cannot", "; ".join(f"{part.what}: {part.reason}" for part in event.parts), phase=True)

    def _reviewed(self, entry: ev.Entry, event: ev.ResultsJudged) -> Step:
        self.phase = ""
        verdicts = [verdict.verdict for verdict in event.review.verdicts]
        accepted = verdicts.count(VerdictKind.ACCEPT)
        again = verdicts.count(VerdictKind.RETRY) + verdicts.count(VerdictKind.REPLAN)
        found = [
            f"{accepted:,} accepted",
            f"{again:,} to do again" if again else "",
            f"{verdicts.count(VerdictKind.DROP):,} given up" if VerdictKind.DROP in verdicts else "",
            f"{len(event.review.missing):,} missing" if event.review.missing else "",
        ]
        text = ", ".join(part for part in found if part)
        return Step("review", f"{event.work_order_id}: {text}{self._phase_took(entry)}", phase=True)

    def _phase_took(self, entry: ev.Entry) -> str:
        since, self.phase_since = self.phase_since, None
        return f" in {duration((entry.at - since).total_seconds())}" if since is not None else ""

    # --- attempts ----------------------------------------------------------------------------------------------------

    def _assigned(self, event: ev.AssignmentIssued) -> None:
        """A child goes by what it was asked for, and whose it is: its key is that of a call."""
        assignment = event.assignment
        if assignment.parent is not None:
            whose = self._name(assignment_of(assignment.parent))
            self.labels[assignment.assignment_id] = child_label(assignment.name, whose)

    def _attempt_started(self, entry: ev.Entry, event: ev.AttemptStarted) -> Step | None:
        key = assignment_of(event.attempt)
        number = int(event.attempt.rpartition("/a")[2])
        if key in self.labels and not is_subtask(key):
            return None  # a child
        if not is_subtask(key):
            phase = PHASES.get(key.partition("-")[0], key)
            if phase != self.phase:
                self.phase, self.phase_since = phase, entry.at
            return None
        self._drop(key)
        self.lanes[key] = Lane(
            key=key,
            label=self.labels.get(key, key),
            status="running",
            since=entry.at,
            attempt=number,
            note=self.attempts.pop(key, ""),
        )
        return Step("start", f"{key} {self.lanes[key].label}") if number == 1 else None

    def _attempt_again(self, entry: ev.Entry, event: ev.AttemptScheduled) -> Step | None:
        key = assignment_of(event.attempt)
        number = int(event.attempt.rpartition("/a")[2])
        failure = self.failures.pop(key, None)
        if key in self.parked:
            self.parked.discard(key)
            if event.continues is not None and failure is None:
                return None  # it goes on after a wait, which is no retry
        why = f" ({failure.type})" if failure is not None else ""
        wait = max(0.0, (event.not_before - entry.at).total_seconds()) if event.not_before is not None else 0.0
        when = f" in {duration(wait)}" if wait >= 0.05 else ""
        self.attempts[key] = self._of_attempts(key, number, failure)
        attempt = f"{self.attempts[key]}{when}{why}"
        if not is_subtask(key):
            return Step("retry", f"{self._name(key)}: {attempt}", phase=True)
        if failure is None:
            return None  # it goes on after a wait, which is no retry
        self._drop(key)
        self.retrying += 1
        self.lanes[key] = Lane(
            key=key, label=self._name(key), status="retrying", since=entry.at, attempt=number, note=attempt
        )
        return Step("retry", f"{key} {self._name(key)}: {attempt}")

    def _settled(self, entry: ev.Entry, event: ev.AttemptSettled) -> Step | None:
        key = assignment_of(event.attempt)
        if event.failure is not None and not event.final:
            self.failures[key] = event.failure
        lane = self._drop(key) if is_subtask(key) else None
        if not event.final:
            return None
        if not is_subtask(key):
            if event.ok or event.failure is None:
                return None
            return Step("failed", f"{self._name(key)}: {why_of(event.failure)}", phase=True)
        took = (entry.at - lane.since).total_seconds() if lane is not None else 0.0
        name = self._name(key)
        self.recent.append(
            Lane(key=key, label=name, status="done" if event.ok else "failed", since=entry.at, took_s=took)
        )
        if event.ok:
            self.done += 1
            return Step("done", f"{key} {name}  {duration(took)}")
        self.failed += 1
        why = why_of(event.failure) if event.failure is not None else "no reason was given"
        return Step("failed", f"{key} {name}: {why}", phase=True)

    def _lost(self, _entry: ev.Entry, event: ev.AttemptLost) -> None:
        self._drop(assignment_of(event.attempt))

    def _parked(self, entry: ev.Entry, event: ev.AttemptParked) -> Step:
        key = assignment_of(event.attempt)
        self._drop(key)
        self.parked.add(key)
        if is_subtask(key):
            self.waiting += 1
            note = " and ".join(dict.fromkeys(WAITING_NOTES[call.kind] for call in event.open_calls))
            self.lanes[key] = Lane(key=key, label=self._name(key), status="waiting", since=entry.at, note=note)
        return Step("waits", f"{key} {self._name(key)}: {waited_for(event.open_calls)}", phase=True)

    def _held(self, entry: ev.Entry, event: ev.EffectQuestioned) -> Step:
        key = assignment_of(event.attempt)
        self._drop(key)
        self.parked.add(key)
        calls = ", ".join(label(call.tool, call.args) for call in event.open_calls if call.tool)
        if is_subtask(key):
            self.waiting += 1
            note = "for a person's word"
            self.lanes[key] = Lane(key=key, label=self._name(key), status="waiting", since=entry.at, note=note)
        why = f"for a person to say whether {calls} happened: it had begun, and nobody saw its end"
        return Step("waits", f"{key} {self._name(key)}: {why}", phase=True)

    def _asked(self, _entry: ev.Entry, event: ev.ApprovalRequested) -> None:
        self.asked[event.approval.approval_id] = event.approval

    def _answered(self, event: ev.ApprovalAnswered | ev.EffectAnswered) -> None:
        asked = self.asked.get(event.approval_id)
        if asked is None or (isinstance(event, ev.ApprovalAnswered) and event.args_hash != args_hash(asked.args)):
            return
        del self.asked[event.approval_id]
        if isinstance(event, ev.ApprovalAnswered) and event.always and event.approve:
            self._forget(lambda other: other.kind == "call" and other.tool == asked.tool)

    def _forget(self, closed: Callable[[Approval], bool]) -> None:
        self.asked = {name: asked for name, asked in self.asked.items() if not closed(asked)}

    def _expired(self, _entry: ev.Entry, event: ev.ApprovalExpired) -> Step:
        asked = self.asked.pop(event.approval_id, None)
        call = label(asked.tool, asked.args) if asked is not None else event.approval_id
        return Step("expired", f"nobody answered in time, which is a no: {call}", phase=True)

    def _resolved(self, entry: ev.Entry, event: ev.SubtaskResolved) -> Step:
        key, done = event.subtask, event.data is not None
        self._drop(key)
        self._forget(lambda asked: assignment_of(asked.attempt).partition("/")[0] == key)
        name = self._name(key)
        if key.startswith(f"{self.order}."):  # the counts are those of the latest order
            self.done += done - (event.counted == "completed")
            self.failed += (not done) - (event.counted == "failed")
            self.recent.append(Lane(key=key, label=name, status="done" if done else "failed", since=entry.at))
        if event.data is not None:
            return Step("done", f"{key} {name}: {event.by} gave its result, {event.data.summary}", phase=True)
        why = f": {event.reason}" if event.reason else ""
        return Step("left", f"{key} {name}: {event.by} left it undone{why}", phase=True)

    def _blocked(self, _entry: ev.Entry, event: ev.SubtaskBlocked) -> Step:
        self.failed += 1
        return Step("blocked", f"{event.subtask} {self._name(event.subtask)}: it needs {event.cause}", phase=True)

    def _model_returned(self, _entry: ev.Entry, event: ev.ModelCallReturned) -> None:
        if event.usage is not None:
            self.tokens += event.usage.input_tokens + event.usage.output_tokens
            self.nanousd += event.usage.nanousd or 0

    def _drop(self, key: str) -> Lane | None:
        lane = self.lanes.pop(key, None)
        if lane is not None:
            self.waiting -= lane.status == "waiting"
            self.retrying -= lane.status == "retrying"
        return lane

    def _name(self, key: str) -> str:
        return self.labels.get(key) or PHASES.get(key.partition("-")[0], key)

    def _of_attempts(self, key: str, number: int, failure: Failure | None = None) -> str:
        """``attempt 2 of 3``; without the end when it is not counted: 429s and lost processes have none."""
        most = self.tries.get(key, 1 + (self.definition.limits.max_retries if self.definition is not None else 0))
        counted = failure is None or failure.class_ is FailureClass.TRANSIENT
        return f"attempt {number} of {most}" if counted and number <= most else f"attempt {number}"
