"""Text that models are currently writing: shown but never logged, with secrets redacted.

A secret may be split between two pieces, so only whole words that cannot become a part of one are shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from leadhand.domain.events import Entry
from leadhand.domain.state import RunState
from leadhand.domain.view import AttemptStep, steps
from leadhand.engine.redaction import Redactor

EVERY_S = 0.05
"""Pieces are collected, so that clients are notified at most once in this time."""
LONGEST = 200_000
"""Maximum characters of one draft; further text is not shown."""


class Piece(NamedTuple):
    """A part of a draft: its ``text`` at ``offset``, in UTF-16 code units; "" at 0 restarts the draft."""

    attempt: str
    offset: int
    text: str


class Draft:
    """What one attempt has written. ``shown`` has no secrets; ``version`` changes when the text restarts."""

    __slots__ = ("_pieces", "_raw", "_restarted", "shown", "version")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._raw = ""
        self._restarted = False
        self.shown: str = ""
        self.version = 0

    def write(self, piece: str) -> None:
        """Add the next piece; an empty one restarts the text."""
        if not piece:
            self._pieces.clear()
            self._raw = self.shown = ""
            self._restarted = True
            self.version += 1
        elif len(self._raw) < LONGEST:
            self._pieces.append(piece)

    def show(self, redactor: Redactor) -> bool:
        """Update ``shown``, and return whether it has changed."""
        restarted, self._restarted = self._restarted, False
        if not self._pieces:
            return restarted
        self._raw += "".join(self._pieces)
        self._pieces.clear()
        text = redactor.unfinished(self._raw)
        if text == self.shown:
            return restarted
        if not text.startswith(self.shown):
            self.version += 1
        self.shown = text
        return True


class Drafts:
    """The drafts of all runs that this process drives. ``changed`` is called with the id of a run with more text."""

    def __init__(self, redactor: Redactor, changed: Callable[[str], None]) -> None:
        self._redactor = redactor
        self._changed = changed
        self._of_run: dict[str, dict[str, Draft]] = {}
        self._dirty: set[str] = set()
        self._later: asyncio.TimerHandle | None = None

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        """Add a piece of an attempt's text: an :data:`leadhand.engine.attempt.OnText`."""
        self._of_run.setdefault(run_id, {}).setdefault(attempt, Draft()).write(piece)
        self._dirty.add(run_id)
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(EVERY_S, self._show)

    def of(self, run_id: str) -> Mapping[str, Draft]:
        """The drafts of a run by attempt."""
        return self._of_run.get(run_id, {})

    def watch(self, state: RunState, entries: Sequence[Entry]) -> None:
        """Delete the drafts of attempts that have ended: their finished text is in the log."""
        drafts = self._of_run.get(state.run_id)
        if drafts is None:
            return
        for entry in entries:
            for step in steps(entry.event):
                if isinstance(step, AttemptStep) and step.outcome != "running":
                    drafts.pop(step.attempt, None)
        if not drafts or state.finished is not None:
            self.release(state)

    def release(self, state: RunState) -> None:
        """Delete all drafts of a run that is no longer driven here."""
        self._of_run.pop(state.run_id, None)

    def close(self) -> None:
        """Stop showing text."""
        if self._later is not None:
            self._later.cancel()

    def _show(self) -> None:
        self._later = None
        dirty, self._dirty = self._dirty, set()
        for run_id in dirty:
            drafts = self._of_run.get(run_id, {})
            changed = [draft.show(self._redactor) for draft in drafts.values()]  # not any(…): every draft is updated
            if any(changed):
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
