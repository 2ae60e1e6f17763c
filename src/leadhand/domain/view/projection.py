"""The projection: from what was shown, the state after an entry and the entry itself to a patch on what is shown.

One entry costs a bounded number of steps, however many assignments a run has. The events that end, reopen or pause a
run, and those with which people settle several things at once, look at everything that they end.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple, cast

from leadhand.domain import events as ev

from . import reading
from .attempts import ATTEMPTS
from .patches import Draft, Patch, differing, merge, moment
from .runs import RUNS
from .shapes import ViewDocument, empty
from .texts import failure_part, line
from .words import Tone, Words, words


class Change(NamedTuple):
    """One entry of a log as a view takes it: its words, and a merge patch on the view's document."""

    seq: int
    at: datetime
    type: str
    words: Words
    patch: Patch

    def document(self) -> dict[str, Any]:
        """The change as JSON has it."""
        return {
            "seq": self.seq,
            "at": moment(self.at),
            "type": self.type,
            "words": self.words._asdict(),
            "patch": self.patch,
        }


class View:
    """All that is shown of a run. ``document`` changes in place."""

    __slots__ = ("document",)

    def __init__(self, document: ViewDocument) -> None:
        self.document = document

    def apply(self, change: Change) -> None:
        """Take what one entry changed."""
        merge(cast("Patch", self.document), change.patch)
        self.document["last_seq"] = change.seq
        self.document["last_at"] = moment(change.at)


class Projection:
    """A run's log, folded once: its state and its view. Belongs to one owner, who reads both and changes neither."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state: reading.RunState | None = None
        self.view = View(empty(run_id))

    @property
    def seq(self) -> int:
        """The sequence of the last entry that was taken."""
        return self.view.document["last_seq"]

    def take(self, entry: ev.Entry) -> Change | None:
        """Fold one more entry; what it changed. None for one that was taken before."""
        if entry.seq <= self.seq:
            return None
        self.state = reading.advance(self.run_id, self.state, entry)
        change = changes(self.view, self.state, entry)
        self.view.apply(change)
        return change

    def take_all(self, entries: Iterable[ev.Entry]) -> list[Change]:
        """Fold more entries, in order."""
        return [change for entry in entries if (change := self.take(entry)) is not None]


def changes(view: View, after: reading.RunState, entry: ev.Entry) -> Change:
    """What ``entry`` changes in what is shown. ``view`` is as it was before, ``after`` the state with ``entry``. Pure.

    Whatever the state says is taken from there and compared with what is shown; of the entry comes only what a state
    does not keep: the times and outcomes of past attempts, and their calls.
    """
    draft = Draft(view.document, after, entry)
    event = entry.event
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        handler(draft, event)
    if draft.touched:
        _show_lanes(draft)
    if draft.started:
        _count_running(draft)
    if isinstance(event, _ABOUT_SPEND):
        _show_spend(draft, event.attempt)
    said = words(entry)
    if said.tone is Tone.PROBLEM and "first_problem" not in view.document["run"]:
        draft.part("run")["first_problem"] = entry.seq
    return Change(entry.seq, entry.at, event.type, said, draft.patch)


_HANDLERS = {**ATTEMPTS, **RUNS}
_ABOUT_SPEND = (ev.ModelCallBegan, ev.ModelCallReturned, ev.AttemptReturned, ev.AttemptLost, ev.AttemptParked)


def _show_spend(draft: Draft, attempt: str) -> None:
    state, spend = draft.state, draft.shown["spend"]
    key, _, number = attempt.rpartition("/a")
    now = draft.attempt_now(key, number)
    held = spend["reserved_nanousd"]
    if now is not None:
        before, after = now.get("reserved_nanousd", 0), reading.reserved(state, attempt)
        if before != after:
            held += after - before
            draft.attempt(key, number)["reserved_nanousd"] = after or None
    if type(draft.entry.event) is ev.ModelCallBegan:
        draft.set("spend", {"reserved_nanousd": held})
        return
    spent = state.spent
    shown = {
        "requests": spent.requests,
        "tokens": spent.tokens,
        "input_tokens": state.input_tokens,
        "output_tokens": state.output_tokens,
        "nanousd": spent.nanousd,
        "reserved_nanousd": held,
        "unpriced": state.unpriced,
    }
    draft.set("spend", shown)


# --- assignments and counts ------------------------------------------------------------------------------------------


class _Tally:
    """How many assignments entered a status, or left it."""

    def __init__(self) -> None:
        self.statuses: dict[str, int] = {}
        self.current: dict[str, int] = {}
        self.orders: dict[str, dict[str, int]] = {}

    def add(self, lane: dict[str, Any], by: int) -> None:
        """Count an assignment (1), or no longer (-1)."""
        status = lane["status"]
        _add(self.statuses, status, by)
        if status in _FINAL and "order" in lane:
            _add(self.orders.setdefault(lane["order"], {}), status, by)
        if lane.get("superseded_by") is not None:
            return
        _add(self.current, "total", by)
        if status in _FINAL:
            _add(self.current, status, by)
            # What was blocked by another's failure is repeated with that one.
            failure = lane.get("failure")
            if status != "completed" and (failure is None or failure["type"] != reading.NEEDS_FAILED):
                _add(self.current, "retriable", by)


_FINAL = frozenset({"completed", "failed", "dropped"})


def _add(counts: dict[str, int], name: str, by: int) -> None:
    counts[name] = counts.get(name, 0) + by


def _show_lanes(draft: Draft) -> None:
    tally = _Tally()
    for key in draft.touched:
        shown: Any = draft.shown["assignments"].get(key)
        before: dict[str, Any] = shown or {}
        standing = reading.standing(draft.state, key)
        failure, verdict = standing.failure, standing.verdict
        if failure is not None and failure.type == reading.INTERRUPTED:
            failure = None
        values: dict[str, Any] = {
            "status": _status(draft, key, standing),
            "failure": failure_part(failure) if failure is not None else None,
            "verdict": {"verdict": verdict.verdict.value, "reason": line(verdict.reason)} if verdict else None,
            "superseded_by": standing.superseded_by,
            "by": standing.by or None,
        }
        different = differing(before, values)
        if not different:
            continue
        draft.lane(key).update(different)
        static = before or draft.lane(key)
        after = {**values, "order": static["order"]} if "order" in static else values
        if static["counts"]:
            if before:
                tally.add(before, -1)
            tally.add(after, 1)
        elif "parent" not in static:
            _show_phase(draft, key, static["role"], before.get("status"), values["status"])
    _show_counts(draft, tally)


def _status(draft: Draft, key: str, standing: reading.Standing) -> str:
    """What an assignment is doing: as the state says when it is settled, else as its latest attempt does."""
    if standing.status in _FINAL:
        return standing.status
    if reading.is_over(draft.state):
        return "dropped"
    number = draft.last(key)
    now = draft.attempt_now(key, number) if number is not None else None
    match now["outcome"] if now is not None else None:
        case "parked":
            return "waiting"
        case "running":
            return "running"
        case "scheduled":
            before = draft.attempt_now(key, str(int(number or 1) - 1))
            return "retrying" if before is not None and before["outcome"] in ("failed", "lost") else "pending"
        case "ok" | "failed" | "lost":
            if standing.returned:
                return "running"  # it is not judged yet
            return "retrying" if standing.failure is not None else "pending"
        case _:
            return "pending"


def _show_counts(draft: Draft, tally: _Tally) -> None:
    counts: Any = draft.shown["counts"]
    for name, by in tally.statuses.items():
        if by:
            draft.part("counts")[name] = counts[name] + by
    for name, by in tally.current.items():
        if by:
            draft.part("counts").setdefault("current", {})[name] = counts["current"][name] + by
    for order, finals in tally.orders.items():
        shown: Any = draft.shown["orders"].get(order)
        for name, by in finals.items():
            if by:
                draft.part("orders").setdefault(order, {})[name] = (shown[name] if shown is not None else 0) + by


_PHASES = {"plan": "Planning", "review": "Reviewing", "compose": "Writing the answer"}


def _show_phase(draft: Draft, key: str, role: str, before: str | None, after: str) -> None:
    """What the lead is doing: the role of its assignments that run, from the first of them to the last."""
    shown: Any = {**draft.shown["run"], **draft.patch.get("run", {})}.get("phase")
    if before != "running" and after == "running":
        if shown is not None and shown["role"] == role:
            draft.part("run")["phase"] = {**shown, "running": shown["running"] + 1}
        else:
            text = _PHASES.get(role, role[:1].upper() + role[1:])
            phase = {"assignment": key, "role": role, "text": text, "since": draft.at, "running": 1}
            draft.part("run")["phase"] = phase
    elif before == "running" and after != "running" and shown is not None and shown["role"] == role:
        left = shown["running"] - 1
        draft.part("run")["phase"] = {**shown, "running": left} if left else None


IDLE_S = 2.0
"""Seconds without a running attempt that a time axis may fold."""


def _count_running(draft: Draft) -> None:
    run, before = draft.shown["run"], draft.shown["counts"]["attempts_running"]
    after = before + draft.started
    draft.part("counts")["attempts_running"] = after
    if before and not after:
        draft.part("run")["idle_since"] = draft.at
    elif after and not before and "idle_since" in run:
        since = run["idle_since"]
        draft.part("run")["idle_since"] = None
        if (draft.entry.at - datetime.fromisoformat(since)).total_seconds() >= IDLE_S:
            draft.part("run")["idle"] = {str(draft.seq): [since, draft.at]}
