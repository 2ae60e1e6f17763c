"""Text that models are currently writing: shown but never logged. It comes without secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from leadhand.core.events import AttemptParked, AttemptReturned, Entry, StepSettled
from leadhand.core.state import RunState
from leadhand.engine.session.drafts import Draft

EVERY_S = 0.05
"""Pieces are collected, so that clients are notified at most once in this time."""


class Piece(NamedTuple):
    """A part of a draft: its ``text`` at ``offset``, in UTF-16 code units; "" at 0 restarts the draft."""

    attempt: str
    offset: int
    text: str


class Drafts:
    """The drafts of the runs that this process drives or shows. ``changed`` gets the id of a run with more text."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._of_run: dict[str, dict[str, Draft]] = {}
        self._ended: dict[str, set[str]] = {}
        """Attempts that have ended: text from another process may arrive after the end."""
        self._dirty: set[str] = set()
        self._later: asyncio.TimerHandle | None = None

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        """Add a piece of an attempt's text: an :data:`leadhand.engine.session.host.OnText`."""
        if attempt in self._ended.get(run_id, ()):
            return
        self._of_run.setdefault(run_id, {}).setdefault(attempt, Draft()).write(piece)
        self._dirty.add(run_id)
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(EVERY_S, self._show)

    def of(self, run_id: str) -> Mapping[str, Draft]:
        """The drafts of a run by attempt."""
        return self._of_run.get(run_id, {})

    def note(self, run_id: str, entries: Sequence[Entry]) -> None:
        """Delete the drafts of attempts that have ended: their finished text is in the log."""
        drafts, ended = self._of_run.get(run_id, {}), self._ended.setdefault(run_id, set())
        for entry in entries:
            if isinstance(entry.event, AttemptReturned | AttemptParked | StepSettled):
                ended.add(entry.event.attempt)
                drafts.pop(entry.event.attempt, None)

    def watch(self, state: RunState, entries: Sequence[Entry]) -> None:
        """Delete drafts, as above, of a run that this process drives."""
        self.note(state.run_id, entries)

    def release(self, state: RunState) -> None:
        """Delete all drafts of a run that is no longer driven here."""
        self._of_run.pop(state.run_id, None)
        self._ended.pop(state.run_id, None)

    def forget(self, run_id: str, attempts: Iterable[str]) -> None:
        """Delete the drafts of attempts in other processes, of a run that is no longer shown here."""
        self._ended.pop(run_id, None)
        for attempt in attempts:
            self._of_run.get(run_id, {}).pop(attempt, None)

    def close(self) -> None:
        """Stop showing text."""
        if self._later is not None:
            self._later.cancel()

    def _show(self) -> None:
        self._later = None
        dirty, self._dirty = self._dirty, set()
        for run_id in dirty:
            self._changed(run_id)


class Reading:
    """What one client has received of a run's drafts."""

    __slots__ = ("_read",)

    def __init__(self) -> None:
        self._read: dict[str, tuple[int, int, int]] = {}  # version, characters, code units

    def news(self, drafts: Mapping[str, Draft]) -> list[Piece]:
        """Return what the client has not received yet, and count it as sent."""
        for gone in self._read.keys() - drafts.keys():
            del self._read[gone]
        pieces: list[Piece] = []
        for attempt, draft in drafts.items():
            version, read, units = self._read.get(attempt, (draft.version, 0, 0))
            if version != draft.version:
                pieces.append(Piece(attempt, 0, ""))
                read = units = 0
            elif read == len(draft.shown):
                continue
            text = draft.shown[read:]
            if text:
                pieces.append(Piece(attempt, units, text))
            self._read[attempt] = (draft.version, len(draft.shown), units + len(text.encode("utf-16-le")) // 2)
        return pieces
