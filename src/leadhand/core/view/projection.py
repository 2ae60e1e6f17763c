"""The projection: the state of a run from its log, and the view, which is rendered from it.

After each entry, the parts that it touched are rendered again; what differs from what is shown is the patch. One entry
touches a bounded number of steps, however many steps a run has. Exceptions are events that end, reopen or pause a run,
or that settle several steps at once: these visit every step that they change.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from leadhand.core import events as ev
from leadhand.core.evolve import apply_entry, draft, start
from leadhand.core.ids import step_of
from leadhand.core.lifecycle import StepStatus
from leadhand.core.moment import iso
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState
from leadhand.core.text import cut, line, shortened
from leadhand.core.words import Words, words

from .patches import Part, show
from .steps import OF_CALLS, step_values

LONGEST_REQUEST = 2_000
_STOPS = frozenset({"attempt_returned", "attempt_parked", "step_settled"})
"""Events of an attempt that ends, and no longer waits for anything."""


class Change(NamedTuple):
    """The change that one entry makes to a view: its words, and a merge patch on the view."""

    seq: int
    at: datetime
    type: str
    words: Words
    patch: Part

    def document(self) -> dict[str, Any]:
        """Return the change as JSON data."""
        return {**self._asdict(), "at": iso(self.at), "words": self.words._asdict()}


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
        event, shown, at = entry.event, self.document, iso(entry.at)
        if self.state is None:
            self.state = draft(start(self.run_id, entry))
            self.state.steps = self._steps
        else:
            apply_entry(self.state, entry)
        values = self._values(self.state, entry, at)
        patch = show(shown, values)
        shown["last_seq"], shown["last_at"] = entry.seq, at
        return Change(entry.seq, entry.at, event.type, words(entry), patch)

    def _values(self, state: RunState, entry: ev.Entry, at: str) -> Part:
        """Return what is to be shown, after an entry, of the parts that it touched."""
        event, shown, lanes = entry.event, self.document, self.document["steps"]
        touched, self._steps.touched = self._steps.touched, {}
        if (key := step_of(event.subject)) in lanes:
            touched[key] = None  # the entry can be about an attempt that the state no longer has
        if event.type == "run_status_set" and event.status is RunStatus.PAUSED:
            touched |= state.live
        if event.type == "run_finished" or (event.type == "run_status_set" and event.by):
            touched |= {key: None for key, step in state.steps.items() if not step.closed}
        steps = {key: step_values(state, key, lanes.get(key, {}), entry, at) for key in touched}
        values: Part = {"steps": steps, "spend": _spend(state)}
        if event.type in OF_CALLS:
            return values  # most events of a run, which change nothing else
        values |= {"run": _run(state, shown["run"], entry, at), "counts": _counts(state)}
        values["run"]["phase"] = _phase(state, shown, steps, event)
        match event.type:
            case "order_issued":
                values["orders"] = {event.order.work_order_id: _order(event, entry.seq)}
            case "results_judged" if event.work_order_id:
                missing = [cut(part.name) for part in event.review.missing]
                review = {"seq": entry.seq, "complete": event.review.complete, "missing": missing}
                values["orders"] = {event.work_order_id: {"review": review}}
            case "request_decided" | "step_settled":
                values["orders"] = {key: {"review": None} for key, order in state.orders.items() if not order.review}
            case "artifact_written":
                file = {"version": len(state.artifacts[event.path]), "bytes": event.size}
                values["artifacts"] = {event.path: {**file, "by": step_of(event.attempt), "at": at, "seq": entry.seq}}
            case "todos_set":
                fields = {"id", "content", "status", "priority"}
                values["todos"] = [shortened(todo.model_dump(include=fields)) for todo in event.todos]
            case _:
                pass
        return values


def _empty(run_id: str) -> Part:
    """Return the view of a run before its first event."""
    run = dict.fromkeys(("request", "flow", "model", "reason", "created_at"), "")
    spend = dict.fromkeys(("requests", "tokens", "nanousd"), 0)
    return {
        "run_id": run_id,
        "last_seq": 0,
        "last_at": "",
        "run": {**run, "status": RunStatus.QUEUED, "waits": {}, "answers": {}},
        "spend": {**spend, "unpriced": False},
        "counts": dict.fromkeys(("total", "completed", "failed", "dropped", "approvals"), 0),
        "orders": {},
        "steps": {},
        "todos": [],
        "artifacts": {},
    }


# --- the run ---------------------------------------------------------------------------------------------------------


def _run(state: RunState, shown: Part, entry: ev.Entry, at: str) -> Part:
    event, values = entry.event, Part()
    match event.type:
        case "run_started":
            given = state.definition
            values |= {"request": cut(given.request, LONGEST_REQUEST), "flow": given.flow}
            values |= {"model": given.models.default, "created_at": at}
        case "run_status_set" if not event.slept_s:
            values["reason"] = cut(event.reason)
        case "run_finished":
            values["reason"] = line(event.failure.message) if event.failure is not None else ""
            values["answers"] = {str(event.number): {"status": event.status, "seq": entry.seq, "at": at}}
        case _:
            pass
    if event.type in ("run_started", "run_claimed", "run_status_set", "run_finished"):
        values |= {"status": state.status, "owner": state.owner, "finished_at": iso(state.finished_at)}
    if event.type == "note_emitted" and event.waits_for:
        until = entry.at + timedelta(seconds=event.waits_s or 0.0)
        wait = {"text": line(event.message), "attempt": event.attempt, "since": at, "until": iso(until)}
        values["waits"] = {event.waits_for: wait if event.waits_s is not None else None}
    elif shown["waits"]:
        rests = state.status is not RunStatus.RUNNING or event.type == "run_claimed"
        over = event.subject if event.type in _STOPS else None
        values["waits"] = {name: None for name, wait in shown["waits"].items() if rests or wait["attempt"] == over}
    return values


def _phase(state: RunState, shown: Part, steps: Part, event: ev.AnyEvent) -> Part | None:
    """Return what the lead is doing and how far it has come: its step that has been running for longest."""
    phase: Part | None = shown["run"].get("phase")
    for key, values in steps.items():
        if phase is not None and phase["step"] == key and values["status"] != "running":
            phase = None
        elif phase is None and values["status"] == "running":
            given = state.steps[key].step
            own = not given.counts and given.parent is None
            phase = {"step": key, "worker": given.worker, "written": None} if own else None
    if phase is None:
        return None
    if event.type == "element_written" and step_of(event.attempt) == phase["step"]:
        phase = {**phase, "written": event.index + 1}
    step, name = state.steps[phase["step"]].step, phase["worker"]
    worker, written = state.worker(name), phase.get("written")
    doing = step.doing or (worker.doing if worker is not None else "") or name[:1].upper() + name[1:]
    more = f" · {written:,} {'subtask' if written == 1 else 'subtasks'} written" if written else ""
    return {**phase, "text": f"{doing}{more}"}


# --- its other parts -------------------------------------------------------------------------------------------------


def _spend(state: RunState) -> Part:
    spent = state.spent
    values: Part = {"requests": spent.requests, "tokens": spent.tokens, "nanousd": spent.nanousd}
    values |= {"cached_tokens": state.cached_tokens or None, "cache_write_tokens": state.cache_write_tokens or None}
    return {**values, "unpriced": state.unpriced, "budget_nanousd": state.definition.limits.budget_nanousd}


def _counts(state: RunState) -> Part:
    """Count the steps that count towards the answer and were not replaced, and the open approvals."""
    counted, over = state.counted, state.status in ENDED
    completed, failed = counted.get(StepStatus.COMPLETED, 0), counted.get(StepStatus.FAILED, 0)
    total = sum(counted.values())
    dropped = total - completed - failed if over else counted.get(StepStatus.DROPPED, 0)
    values = {"total": total, "completed": completed, "failed": failed, "dropped": dropped}
    return {**values, "approvals": 0 if over else len(state.asking)}


def _order(event: ev.OrderIssued, seq: int) -> Part:
    order = event.order
    values: Part = {"goal": cut(order.goal), "seq": seq, "total": len(order.subtasks)}
    return {**values, "repairs": order.repairs}
