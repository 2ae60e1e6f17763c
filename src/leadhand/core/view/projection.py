"""The projection: compute a patch on the view from the view, an entry, and the state after the entry.

One entry costs a bounded number of steps, however many steps a run has. Exceptions are events that end, reopen
or pause a run, or that settle several steps at once: these visit every step that they change.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple, cast

from leadhand.core import events as ev
from leadhand.core.evolve import apply_entry, draft, start
from leadhand.core.ids import split_attempt
from leadhand.core.state import RunState

from .attempts import attempt_changed, call_changed
from .happenings import AttemptHappened, CallHappened, happenings
from .lanes import phase_of, show_lanes
from .patches import Draft, Patch, merge, moment
from .runs import event_changed
from .shapes import ViewDocument, empty
from .words import Tone, Words, words


class Change(NamedTuple):
    """The change that one entry makes to a view: its words, and a merge patch on the view's document."""

    seq: int
    at: datetime
    type: str
    words: Words
    patch: Patch

    def document(self) -> dict[str, Any]:
        """Return the change as JSON data."""
        return {
            "seq": self.seq,
            "at": moment(self.at),
            "type": self.type,
            "words": self.words._asdict(),
            "patch": self.patch,
        }


class View:
    """Everything that is shown of a run. ``document`` changes in place."""

    __slots__ = ("document",)

    def __init__(self, document: ViewDocument) -> None:
        self.document = document

    def apply(self, change: Change) -> None:
        """Apply the change of one entry."""
        merge(cast("Patch", self.document), change.patch)
        self.document["last_seq"] = change.seq
        self.document["last_at"] = moment(change.at)


class Projection:
    """The state and the view of a run, from one fold of its log. The owner of a projection must not modify them."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state: RunState | None = None
        self.view = View(empty(run_id))

    @property
    def seq(self) -> int:
        """The sequence number of the last entry that was applied."""
        return self.view.document["last_seq"]

    def take(self, entry: ev.Entry) -> Change | None:
        """Apply one more entry and return its change, None if it was already applied."""
        if entry.seq <= self.seq:
            return None
        if self.state is None:
            self.state = draft(start(self.run_id, entry))
        else:
            apply_entry(self.state, entry)
        change = changes(self.view, self.state, entry)
        self.view.apply(change)
        return change

    def take_all(self, entries: Iterable[ev.Entry]) -> list[Change]:
        """Apply more entries, in order."""
        return [change for entry in entries if (change := self.take(entry)) is not None]


def changes(view: View, after: RunState, entry: ev.Entry) -> Change:
    """Return the change that ``entry`` makes to ``view``; ``after`` is the state including ``entry``. Pure.

    Values come from the state; only what the state does not keep comes from the entry: past attempts and their calls.
    """
    draft = Draft(view.document, after, entry)
    event_changed(draft, entry.event)
    for happened in happenings(entry.event):
        match happened:
            case AttemptHappened():
                attempt_changed(draft, happened)
                if happened.outcome in ("returned", "lost", "parked"):
                    _show_spend(draft, happened.attempt)
            case CallHappened():
                call_changed(draft, happened)
                if happened.kind == "model":
                    _show_spend(draft, happened.attempt)
            case _:
                pass
    if draft.touched:
        show_lanes(draft)
    phase_of(draft, entry.event)
    if draft.started:
        _count_running(draft)
    said = words(entry)
    if said.tone is Tone.PROBLEM and "first_problem" not in view.document["run"]:
        draft.part("run")["first_problem"] = entry.seq
    return Change(entry.seq, entry.at, entry.event.type, said, draft.patch)


def _show_spend(draft: Draft, attempt: str) -> None:
    state = draft.state
    key, number = split_attempt(attempt)
    now = draft.attempt_now(key, number)
    held = draft.shown["spend"]["reserved_nanousd"]
    if now is not None:
        before = now.get("reserved_nanousd", 0)
        after = sum(amount.nanousd for amount in state.reserved.get(attempt, {}).values())
        if before != after:
            held += after - before
            draft.attempt(key, number)["reserved_nanousd"] = after or None
    counted = {
        "input_tokens": state.input_tokens,
        "cached_tokens": state.cached_tokens or None,
        "cache_write_tokens": state.cache_write_tokens or None,
        "output_tokens": state.output_tokens,
        "unpriced": state.unpriced,
    }
    draft.set("spend", {**dict(state.spent), **counted, "reserved_nanousd": held})


IDLE_S = 2.0
"""Seconds without a running attempt after which a time axis may skip the gap."""


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
