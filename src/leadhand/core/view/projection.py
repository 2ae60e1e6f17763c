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
from leadhand.core.approval import ApprovalStatus
from leadhand.core.evolve import apply_entry, draft, start
from leadhand.core.ids import step_of
from leadhand.core.run import ENDED, RunStatus
from leadhand.core.state import RunState
from leadhand.core.text import cut, line, shortened
from leadhand.core.words import Tone, Words, phase_text, words
from leadhand.core.work_result import VerdictKind

from .patches import Part, instead, moment, show
from .steps import FINAL, OF_CALLS, counts_of, step_values

LONGEST_REQUEST = 2_000
IDLE_S = 2.0
"""Seconds without a running attempt after which a time axis may skip the gap."""
_OF_ATTEMPTS = OF_CALLS | {"attempt_started", "attempt_returned", "attempt_parked", "step_settled"}
"""Events that are shown in their attempt, even if the state no longer has it."""
_OF_SPENDING = frozenset({
    "run_started", "run_changed", "model_call_began", "model_call_returned", "attempt_returned", "attempt_parked",
})  # fmt: skip


class Change(NamedTuple):
    """The change that one entry makes to a view: its words, and a merge patch on the view."""

    seq: int
    at: datetime
    type: str
    words: Words
    patch: Part

    def document(self) -> dict[str, Any]:
        """Return the change as JSON data."""
        return {**self._asdict(), "at": moment(self.at), "words": self.words._asdict()}


class _Recorded(dict[str, Any]):
    """A map of a draft that records which keys were set."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self._set: dict[str, None] = {}

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self._set[key] = None

    def touched(self) -> dict[str, None]:
        """Return the keys that were set since the last time."""
        touched, self._set = self._set, {}
        return touched


class Projection:
    """The state and the view of a run, from one fold of its log. Callers must not change either of them."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state: RunState | None = None
        self._shown = _empty(run_id)

    @property
    def document(self) -> Part:
        """The view: what is shown of the run, as ``ViewDocument`` has it. Each entry changes it."""
        return self._shown

    @property
    def seq(self) -> int:
        """The sequence number of the last entry that was applied."""
        return self._shown["last_seq"]

    def take_all(self, entries: Iterable[ev.Entry]) -> list[Change]:
        """Apply more entries, in order."""
        return [change for entry in entries if (change := self.take(entry)) is not None]

    def take(self, entry: ev.Entry) -> Change | None:
        """Apply one more entry and return its change, None if it was already applied."""
        if entry.seq <= self.seq:
            return None
        if self.state is None:
            self.state = draft(start(self.run_id, entry))
            for name in ("orders", "steps", "approvals", "artifacts"):
                setattr(self.state, name, _Recorded(getattr(self.state, name)))
        else:
            apply_entry(self.state, entry)
        said, at = words(entry), moment(entry.at)
        patch = self._render(self.state, entry, at, said)
        self._shown["last_seq"], self._shown["last_at"] = entry.seq, at
        return Change(entry.seq, entry.at, entry.event.type, said, patch)

    def _render(self, state: RunState, entry: ev.Entry, at: str, said: Words) -> Part:
        """Render what an entry touched, and return the patch."""
        shown, event = self._shown, entry.event
        touched, approvals = _touched(state.steps), _touched(state.approvals)
        if event.type in _OF_ATTEMPTS and (key := step_of(event.subject)) in state.steps:
            touched[key] = None
        if event.type == "run_status_set" and event.status is RunStatus.PAUSED:
            touched.update((key, None) for key in (*state.live, *state.unsettled))
        if event.type == "run_finished" or (event.type == "run_status_set" and event.by):
            touched.update((key, None) for key, step in state.steps.items() if not step.closed)
            approvals.update(state.asking)
        patch: Part = {}
        numbers: dict[tuple[str, ...], int] = {}
        phase = shown["run"].get("phase")
        for key in touched:
            part = shown["steps"].setdefault(key, {})
            was, counted = part.get("status"), counts_of(part, event)
            changed = show(part, step_values(state, key, part, entry, at))
            if not changed:
                continue
            patch.setdefault("steps", {})[key] = changed
            now = counts_of(part, event)
            for by, each in ((-1, counted), (1, now)) if now != counted else ():
                for path, number in each:
                    numbers[path] = numbers.get(path, 0) + by * number
            if was != part["status"] and "running" in (was, part["status"]):
                phase = _phase_after(state, phase, key, part, at)
        if event.type in ("tool_call_began", "tool_call_returned") and not approvals and said.tone is not Tone.PROBLEM:
            return patch  # most events of a run, which change nothing else
        run = _run(state, shown["run"], entry, at)
        counts = {"approvals": 0 if state.status in ENDED else len(state.asking)}
        values: Part = {"run": run, "counts": counts}
        if orders := _touched(state.orders):
            values["orders"] = {key: _order(state, key, shown, entry, at) for key in orders}
        if approvals:
            values["approvals"] = {key: _approval(state, key, shown, entry) for key in approvals}
        if paths := _touched(state.artifacts):
            values["artifacts"] = {path: _artifact(state, path, entry) for path in paths}
        if event.type == "todos_set":
            values["todos"] = instead(shown["todos"], _todos(state))
        if event.type in _OF_SPENDING:
            values["spend"] = _spend(state, event)
        for path, number in numbers.items():
            if number:
                _add(shown, values, path, number)
        run |= _idle(shown, counts.get("attempts_running"), entry, at)
        run["phase"] = _phase_shown(state, phase, shown["run"].get("phase"), entry)
        if said.tone is Tone.PROBLEM and "first_problem" not in shown["run"]:
            run["first_problem"] = entry.seq
        return {**patch, **show(shown, values)}


def _empty(run_id: str) -> Part:
    """Return the view of a run before its first event."""
    run = dict.fromkeys(("request", "flow", "model", "reason", "created_at"), "")
    spend = dict.fromkeys(("requests", "tokens", "input_tokens", "output_tokens", "nanousd", "reserved_nanousd"), 0)
    current = {"total": 0, **dict.fromkeys(FINAL, 0), "retriable": 0}
    counts = dict.fromkeys(("pending", "running", "waiting", "retrying", *FINAL, "approvals", "attempts_running"), 0)
    return {
        "run_id": run_id,
        "last_seq": 0,
        "last_at": "",
        "run": {**run, "status": RunStatus.QUEUED, "waits": {}, "answers": {}, "unsupported": [], "idle": {}},
        "spend": {**spend, "unpriced": False},
        "counts": {**counts, "current": current},
        **{name: {} for name in ("orders", "steps", "approvals", "todos", "artifacts")},
    }


def _touched(recorded: Any) -> dict[str, None]:
    return recorded.touched()


def _add(shown: Part, values: Part, path: tuple[str, ...], number: int) -> None:
    """Set what a number of the view is once another is added to it."""
    *parts, name = path
    for part in parts:
        shown, values = shown.get(part, {}), values.setdefault(part, {})
    values[name] = shown.get(name, 0) + number


# --- the run ---------------------------------------------------------------------------------------------------------


def _run(state: RunState, shown: Part, entry: ev.Entry, at: str) -> Part:
    event = entry.event
    values: Part = {"status": state.status, "owner": state.owner, "cancelled_by": state.cancel_by}
    values["finished_at"] = moment(state.finished_at)
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
        case "gaps_noted":
            values["unsupported"] = [shortened(part.model_dump()) for part in state.unsupported]
        case _:
            pass
    over = event.subject if event.type in _STOPS else None
    if event.type == "note_emitted" and event.waits_for:
        until = entry.at + timedelta(seconds=event.waits_s or 0.0)
        wait = {"text": line(event.message), "attempt": event.attempt, "since": at, "until": moment(until)}
        values["waits"] = {event.waits_for: wait if event.waits_s is not None else None}
    elif shown["waits"]:
        rests = state.status is not RunStatus.RUNNING or event.type == "run_claimed"
        values["waits"] = {name: None for name, wait in shown["waits"].items() if rests or wait["attempt"] == over}
    return values


_STOPS = frozenset({"attempt_returned", "attempt_parked", "step_settled"})
"""Events of an attempt that ends, and no longer waits for anything."""


def _idle(shown: Part, running: int | None, entry: ev.Entry, at: str) -> Part:
    """Return the periods without a running attempt; ``running`` is how many run now, if that has changed."""
    before, since = shown["counts"]["attempts_running"], shown["run"].get("idle_since")
    if running is None or bool(running) == bool(before):
        return {}
    if not running or since is None:
        return {"idle_since": None if running else at}
    is_long = (entry.at - datetime.fromisoformat(since)).total_seconds() >= IDLE_S
    return {"idle_since": None, "idle": {str(entry.seq): [since, at]} if is_long else {}}


def _phase_after(state: RunState, phase: Part | None, key: str, part: Part, at: str) -> Part | None:
    """Return what the lead is doing, by the worker of its running steps, once one of them starts or ends."""
    worker, started = part["worker"], part["status"] == "running"
    if part["counts"] or "parent" in part:
        return phase
    if phase is not None and phase["worker"] == worker:
        running = phase["running"] + (1 if started else -1)
        return {**phase, "running": running} if running else None
    if not started:
        return phase
    begun = len(state.early) if _writes_elements(state, worker) else 0
    return {"step": key, "worker": worker, "since": at, "running": 1, "begun": begun or None}


def _phase_shown(state: RunState, phase: Part | None, shown: Part | None, entry: ev.Entry) -> Part | None:
    """Return how far the lead has come with what it is doing, also in words."""
    event = entry.event
    if phase is None:
        return None
    step = state.steps[phase["step"]].step
    match event.type:
        case "element_written" if step_of(event.attempt) == step.step_id:
            phase = {**phase, "written": step.input.get("first", 0) + event.index + 1}
        case "step_issued" if event.step.subtask is not None and _writes_elements(state, step.worker):
            phase = {**phase, "begun": (phase.get("begun") or 0) + 1}
        case "note_emitted" if event.refused and step_of(event.attempt) == step.step_id:
            phase = {**phase, "again": line(event.message)}
        case _ if phase is shown:
            return phase
        case _:
            pass
    worker, name = state.worker(step.worker), step.worker
    doing = step.doing or (worker.doing if worker is not None else "") or name[:1].upper() + name[1:]
    return instead(shown, {**phase, "text": phase_text(doing, phase)})


def _writes_elements(state: RunState, name: str) -> bool:
    worker = state.worker(name)
    return worker is not None and bool(worker.elements)


# --- its other parts -------------------------------------------------------------------------------------------------


def _spend(state: RunState, event: ev.AnyEvent) -> Part:
    spent = state.spent
    values: Part = {"requests": spent.requests, "tokens": spent.tokens, "nanousd": spent.nanousd}
    values |= {"input_tokens": state.input_tokens, "cached_tokens": state.cached_tokens or None}
    values |= {"cache_write_tokens": state.cache_write_tokens or None, "output_tokens": state.output_tokens}
    limits = event.type in ("run_started", "run_changed")
    values |= state.definition.limits.model_dump(include=_LIMITS) if limits else {}
    return {**values, "unpriced": state.unpriced}


_LIMITS = {"budget_nanousd", "max_tokens", "max_requests"}


def _order(state: RunState, key: str, shown: Part, entry: ev.Entry, at: str) -> Part:
    found, event = state.orders[key], entry.event
    values: Part = {"review": None} if found.review is None else {}
    if event.type == "results_judged" and event.work_order_id == key:
        given = [verdict.verdict for verdict in event.review.verdicts]
        values["review"] = {
            "seq": entry.seq,
            "at": at,
            "complete": event.review.complete,
            "accepted": given.count(VerdictKind.ACCEPT),
            "retry": given.count(VerdictKind.RETRY) + given.count(VerdictKind.REPLAN),
            "dropped": given.count(VerdictKind.DROP),
            "missing": [shortened({"name": part.name, "tool": part.tool}) for part in event.review.missing],
        }
    if key not in shown["orders"]:
        order = found.order
        values |= {
            "goal": cut(order.goal),
            "seq": entry.seq,
            "at": at,
            "repairs": order.repairs,
            "by": found.by or None,
        }
        values |= {"total": len(order.subtasks), **dict.fromkeys(FINAL, 0)}
    return values


def _approval(state: RunState, key: str, shown: Part, entry: ev.Entry) -> Part:
    """Return an approval; a finished run has no open ones."""
    asked, before = state.approvals[key], shown["approvals"].get(key, {})
    status = "approved" if asked.status is ApprovalStatus.CONSUMED else asked.status.value
    return {
        **asked.model_dump(include={"kind", "attempt", "tool", "asked_for"}),
        "step": step_of(asked.attempt),
        "args": instead(before.get("args"), shortened(asked.args)),
        "effect": asked.effect.value,
        "asked_at": moment(asked.asked_at),
        "expires_at": moment(asked.expires_at),
        "seq": entry.seq if entry.event.type == "approval_requested" else before["seq"],
        "status": "withdrawn" if status == "pending" and state.status in ENDED else status,
        "by": asked.by or None,
        "reason": cut(asked.reason) or None,
    }


def _artifact(state: RunState, path: str, entry: ev.Entry) -> Part:
    latest = state.artifacts[path][-1]
    values: Part = {"version": len(state.artifacts[path]), "bytes": latest.size, "digest": latest.digest}
    return {**values, "media_type": latest.media_type, "by": latest.by, "at": moment(latest.at), "seq": entry.seq}


def _todos(state: RunState) -> Part:
    todos = [todo.model_dump(include={"content", "status", "priority"}) for todo in state.todos]
    return {
        todo.id: {**values, "content": cut(todo.content), "position": position}
        for position, (todo, values) in enumerate(zip(state.todos, todos, strict=True))
    }
