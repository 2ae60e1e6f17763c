"""The view: what is shown of a run, as one document, which each entry of the log changes by a merge patch (RFC 7396).

After each entry, the parts that it touched are rendered from the state again; what differs from what is shown is the
patch. Entries touch a bounded number of steps, but for those that end, reopen or pause a run, or settle several steps.
The state keeps neither past attempts nor the times and the usage of calls: what is shown keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from . import events as ev
from .errors import INTERRUPTED, Failure
from .evolve import apply_entry, draft, start
from .ids import split_attempt, step_of
from .relations import parent_of
from .run import ENDED, AttemptStatus, RunStatus
from .state import AttemptState, RunState, StepState
from .text import cut, label, line, shortened
from .value import iso
from .words import RUN_ENDED, UNTIL_RESUMED, Words, waits_for, words

LONGEST_REQUEST = 2_000
_OF_CALLS = (ev.ModelCallBegan, ev.ModelCallReturned, ev.ToolCallBegan, ev.ToolCallReturned)
_STOPS = (ev.AttemptReturned, ev.AttemptParked, ev.StepSettled)
"""Events of an attempt that ends, and no longer waits for anything."""
_UNDER_WAY = ("scheduled", "running")

Part = dict[str, Any]
"""A part of a view, or of a patch on one."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change that one entry makes to a view: its words, and a merge patch on the view."""

    seq: int
    at: str
    type: str
    words: Words
    patch: Part


class _Recorded(dict[str, Any]):
    """A map that records which keys were set."""

    def __init__(self) -> None:
        self.touched: dict[str, None] = {}

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.touched[key] = None


class Projection:
    """The state and the view of a run, from one fold of its log. Callers must not change either of them."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state: RunState | None = None
        self._steps = _Recorded()
        self.document = _empty(run_id)
        """What is shown of the run, as ``ViewDocument`` has it. Each entry changes it."""

    @property
    def seq(self) -> int:
        """The sequence number of the last entry that was applied."""
        return self.document["last_seq"]

    def take_all(self, entries: Iterable[ev.Entry]) -> list[Change]:
        """Apply more entries, in order."""
        return [change for entry in entries if (change := self.take(entry)) is not None]

    def take(self, entry: ev.Entry) -> Change | None:
        """Apply one more entry and return its change, None if it was already applied."""
        if entry.seq <= self.seq:
            return None
        if self.state is None:
            self.state = draft(start(self.run_id, entry))
            self.state.steps = self._steps
        else:
            apply_entry(self.state, entry)
        at = iso(entry.at)
        patch = _show(self.document, self._values(self.state, entry, at))
        self.document["last_seq"], self.document["last_at"] = entry.seq, at
        return Change(entry.seq, at, entry.event.type, words(entry), patch)

    def _values(self, state: RunState, entry: ev.Entry, at: str) -> Part:
        """Return what is to be shown, after an entry, of the parts that it touched."""
        event, shown, lanes = entry.event, self.document, self.document["steps"]
        touched, self._steps.touched = self._steps.touched, {}
        if (key := step_of(event.subject)) in lanes:
            touched[key] = None  # the entry can be about an attempt that the state no longer has
        if isinstance(event, ev.RunStatusSet) and event.status is RunStatus.PAUSED:
            touched |= state.live
        if isinstance(event, ev.RunFinished) or (isinstance(event, ev.RunStatusSet) and event.by):
            touched |= {key: None for key, step in state.steps.items() if not step.closed}
        steps = {key: _step(state, key, lanes.get(key, {}), entry, at) for key in touched}
        values: Part = {"steps": steps, "spend": _spend(state)}
        if isinstance(event, _OF_CALLS):
            return values  # most events of a run, which change nothing else
        values["run"] = _run(state, shown["run"], entry, at)
        match event:
            case ev.OrderIssued():
                order = event.order
                issued = {"goal": cut(order.goal), "seq": entry.seq, "total": len(order.subtasks)}
                values["orders"] = {order.work_order_id: {**issued, "repairs": order.repairs}}
            case ev.ResultsJudged():
                missing = [cut(part.name) for part in event.review.missing]
                review = {"seq": entry.seq, "complete": event.review.complete, "missing": missing}
                values["orders"] = {event.work_order_id: {"review": review}}
            case ev.RequestDecided() | ev.StepSettled():
                values["orders"] = {key: {"review": None} for key, order in state.orders.items() if not order.review}
            case ev.ArtifactWritten():
                file = {"version": len(state.artifacts[event.path]), "bytes": event.size}
                values["artifacts"] = {event.path: {**file, "by": step_of(event.attempt), "at": at, "seq": entry.seq}}
            case ev.TodosSet():
                values["todos"] = [shortened(todo.model_dump()) for todo in event.todos]
            case _:
                pass
        return values


def _show(shown: Part, values: Part) -> Part:
    """Put values in place of those that are shown (None removes one), and return what differs, as a merge patch."""
    patch: Part = {}
    for key, value in values.items():
        if (was := shown.get(key)) == value:
            continue
        if value.__class__ is dict:
            inner: Part = was if was is not None else {}
            changed = _show(inner, value)
            if changed or was is None:
                shown[key], patch[key] = inner, changed
        else:
            patch[key] = value
            if value is None:
                del shown[key]
            else:
                shown[key] = value
    return patch


def _empty(run_id: str) -> Part:
    """Return the view of a run before its first event."""
    run = dict.fromkeys(("request", "flow", "model", "reason", "created_at"), "")
    return {
        "run_id": run_id,
        "last_seq": 0,
        "last_at": "",
        "run": {**run, "status": RunStatus.QUEUED, "waits": {}},
        "spend": {**dict.fromkeys(("requests", "tokens", "nanousd"), 0), "unpriced": False},
        "orders": {},
        "steps": {},
        "todos": [],
        "artifacts": {},
    }


# --- the run ---------------------------------------------------------------------------------------------------------


def _run(state: RunState, shown: Part, entry: ev.Entry, at: str) -> Part:
    event, given = entry.event, state.definition
    ended = state.finished_at and iso(state.finished_at)
    values: Part = {"status": state.status, "owner": state.owner, "finished_at": ended}
    match event:
        case ev.RunStarted():
            values |= {"request": cut(given.request, LONGEST_REQUEST), "flow": given.flow}
            values |= {"model": given.models.default, "created_at": at}
        case ev.RunStatusSet() if not event.slept_s:
            values["reason"] = cut(event.reason)
        case ev.RunFinished():
            values["reason"] = line(event.failure.message) if event.failure is not None else ""
            values["answer"] = {"seq": entry.seq, "at": at}
        case ev.NoteEmitted() if event.waits_for:
            until = entry.at + timedelta(seconds=event.waits_s or 0.0)
            wait = {"text": line(event.message), "attempt": event.attempt, "since": at, "until": iso(until)}
            return {**values, "waits": {event.waits_for: wait if event.waits_s is not None else None}}
        case _:
            pass
    rests = state.status is not RunStatus.RUNNING or isinstance(event, ev.RunClaimed)
    over = event.subject if isinstance(event, _STOPS) else None
    past = [name for name, wait in shown["waits"].items() if rests or wait["attempt"] == over]
    return {**values, "waits": dict.fromkeys(past)}


def _spend(state: RunState) -> Part:
    spent = state.spent
    values: Part = {"requests": spent.requests, "tokens": spent.tokens, "nanousd": spent.nanousd}
    values |= {"cached_tokens": state.cached_tokens or None, "cache_write_tokens": state.cache_write_tokens or None}
    return {**values, "unpriced": state.unpriced, "budget_nanousd": state.definition.limits.ceiling.nanousd}


# --- its steps, with their attempts and calls ------------------------------------------------------------------------


def _step(state: RunState, key: str, shown: Part, entry: ev.Entry, at: str) -> Part:
    """Return what is to be shown of a step after an entry that touched it; ``shown`` is empty for a new step."""
    step, event = state.steps[key], entry.event
    of, number = split_attempt(event.subject)
    known: Part = shown.get("attempts", {})
    if isinstance(event, _OF_CALLS):  # nothing else changes
        return _call(known[number], shown, number, entry, at) if number in known else {}
    attempts, outcome = _attempts(state, step, known, entry, at, number if of == key else "")
    failure, verdict, judged = _failed(step.failure), step.verdict, step.step.judges
    status, note = _status(state, step, outcome, again=bool(failure))
    values: Part = {
        "order": step.order or (judged if judged in state.orders else None),
        "position": step.position,
        "attempts": attempts,
        "status": status,
        "note": note,
        "failure": None,
        "verdict": {"verdict": verdict.verdict.value, "reason": line(verdict.reason)} if verdict else None,
        "superseded_by": step.superseded_by,
        "by": step.by or None,
        "settled_seq": step.settlements[-1].seq if step.settlements else None,
        **failure,
    }
    asked = state.approvals.get(event.approval_id) if isinstance(event, ev.ApprovalAnswered) else None
    if asked is not None and asked.tool == shown.get("tool"):  # a person may have changed the arguments
        values["label"] = _label(shown["name"], asked.args)
    if not shown or isinstance(event, ev.RequestDecided):
        values |= _given(state, step, shown.get("args", {}))
    return values if shown else {"seq": entry.seq, **values}


def _given(state: RunState, step: StepState, args_shown: Part) -> Part:
    """Return what is fixed when a step is issued. The input of the lead's own steps is left out."""
    given, subtask, parent = step.step, step.step.subtask, parent_of(step.step)
    name = given.name if subtask is None else subtask.name
    args = subtask.args if subtask is not None else given.input if given.counts or parent is not None else {}
    is_plain = given.title == given.key.rpartition("/")[2]  # a flow that names its steps distinguishes them so
    named = _label(name, args) if subtask is not None or parent is not None or is_plain else name
    tool = subtask.tool if subtask is not None else None
    return {
        "name": cut(name),
        "label": named if parent is None else f"{named} (for {state.steps[parent].step.name})",
        "worker": given.worker,
        "counts": given.counts,
        "tool": tool,
        "args": {**dict.fromkeys(args_shown), **shortened(args)},
        "needs": list(given.needs),
        "parent": parent,
        "repairs": subtask.repairs_subtask if subtask is not None else None,
    }


def _label(name: str, args: Mapping[str, Any]) -> str:
    return label(name, {argument: value for argument, value in args.items() if value != name})  # it may be repeated


def _status(state: RunState, step: StepState, outcome: str, *, again: bool) -> tuple[str, str]:
    """Return the status of a step, and why it waits or was dropped; ``outcome`` is that of its latest attempt."""
    if step.closed or state.status in ENDED:
        return (step.status.value, "") if step.closed else ("dropped", RUN_ENDED)
    match step.attempt:
        case AttemptState(status=AttemptStatus.PARKED) as parked:
            return "waiting", waits_for(parked.open_calls)
        case AttemptState(status=AttemptStatus.RUNNING | AttemptStatus.RETURNED):
            return ("pending", UNTIL_RESUMED) if outcome == "stopped" else ("running", "")
        case _:
            return "retrying" if again else "pending", ""


def _attempts(state: RunState, step: StepState, known: Part, entry: ev.Entry, at: str, number: str) -> tuple[Part, str]:
    """Return what changes in the attempts at a step, and the outcome of the last one; ``number`` is the attempt that
    the entry is about, if any."""
    last, now = next(reversed(known), ""), step.attempt
    values: Part = {number: _attempt(known[number], entry, is_last=number == last)} if number in known else {}
    outcome: str = values.get(last, {}).get("outcome") or known.get(last, {}).get("outcome", "")
    begins = now is not None and str(now.number) not in known
    over = step.closed or state.status in ENDED or begins
    pauses = isinstance(entry.event, ev.RunStatusSet) and state.status is RunStatus.PAUSED
    if outcome in _UNDER_WAY and (over or (pauses and outcome == "running")):
        outcome = values.setdefault(last, {})["outcome"] = "stopped"  # the log says so only later, if at all
    for name, each in values.items():
        if each.get("outcome", "running") not in _UNDER_WAY and "ended_at" not in known[name]:
            each["ended_at"] = at
    if now is None or not begins:
        return values, outcome
    values[str(now.number)] = {
        "scheduled_at": at,
        "not_before": now.not_before and iso(now.not_before),
        "outcome": "scheduled",
        "continues": now.continues,
        "feedback": cut(now.feedback) or None,
        "calls": {},
    }
    return values, "scheduled"


def _attempt(shown: Part, entry: ev.Entry, *, is_last: bool) -> Part:
    """Return what changes in an attempt. Only the last one can be judged or park; a late return is ignored."""
    event, was, ended = entry.event, shown["outcome"], "ended_at" in shown
    match event:
        case ev.AttemptStarted() if not ended:
            return {"outcome": "running", "started_at": iso(entry.at), "host": event.host}
        case ev.AttemptReturned() if not ended or was == "stopped":  # what a pause stopped can still return
            failed = _failed(event.failure)
            if event.lost:
                return {"outcome": "lost" if failed else "stopped", **failed}
            return {"outcome": "ok" if event.failure is None else "failed", "result_seq": entry.seq, **failed}
        case ev.AttemptParked() if is_last:
            return {"outcome": "parked"}
        case ev.StepSettled() if is_last:
            failed = _failed(event.failure)
            kept = was == "lost" or (was == "stopped" and not failed)
            return {"outcome": "ok" if event.ok else was if kept else "failed", **failed}
        case _:
            return {}


def _call(attempt: Part, shown: Part, number: str, entry: ev.Entry, at: str) -> Part:
    """Return what changes in a step with a call that begins, under the number of the entry, or that returns."""
    event, seq, values = entry.event, str(entry.seq), Part()
    call: Part = {}
    match event:
        case ev.ModelCallBegan():
            call = {"id": event.call_id, "kind": "model", "name": event.model, "began_at": at}
        case ev.ToolCallBegan():
            args = shortened(event.args)
            call = {"id": event.call_id, "kind": "tool", "name": event.tool, "began_at": at}
            call |= {"effect": event.effect.value, "args": None if args == shown["args"] else args}
            if shown.get("tool") == event.tool:
                values["label"] = _label(shown["name"], event.args)  # its order has the planned arguments
        case ev.ModelCallReturned() | ev.ToolCallReturned():
            calls: Part = attempt["calls"]
            began = (each for each in reversed(calls) if "ended_at" not in calls[each])
            seq = next((each for each in began if calls[each]["id"] == event.call_id), "")
            call = {"ended_at": at, "ok": event.failure is None, "returned_seq": entry.seq, **_used(event)}
            call |= _failed(event.failure)
        case _:
            pass
    return {**values, "attempts": {number: {"calls": {seq: call}}}} if seq else values


def _used(event: ev.ModelCallReturned | ev.ToolCallReturned) -> Part:
    if isinstance(event, ev.ToolCallReturned):
        return {"summary": cut(event.summary or "") or None, "cached": event.cached is not None or None}
    if (usage := event.usage) is None:
        return {}
    tokens = {"tokens": usage.input_tokens + usage.output_tokens, "output_tokens": usage.output_tokens}
    return {**tokens, "cached_tokens": usage.cached_tokens or None, "nanousd": usage.nanousd}


def _failed(failure: Failure | None) -> Part:
    """Return a failure; nothing without one, or if a pause caused it."""
    if failure is None or failure.type == INTERRUPTED:
        return {}
    part: Part = {"message": line(failure.message), "type": failure.type, "class": failure.class_.value}
    return {"failure": {**part, "next_action": line(failure.next_action) or None}}
