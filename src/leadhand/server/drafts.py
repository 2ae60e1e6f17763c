"""Text that models are writing right now: shown while it lasts, never logged, without secrets.

A secret may be cut anywhere between two pieces. So only whole words are shown, nothing of what may yet become a secret,
and what is shown is made anew from all that was written: where a secret turns out to have begun earlier, the text shown
is replaced from its beginning.
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
"""Pieces are put together, so that nobody is woken more often than this."""
LONGEST = 200_000
"""Characters of one draft; a model that writes more is shown no further."""


class Piece(NamedTuple):
    """A part of a draft: ``text`` stands at ``offset`` of it, in UTF-16 code units; "" at 0 begins it anew."""

    attempt: str
    offset: int
    text: str


class Draft:
    """What one attempt has written so far. ``shown`` never holds a secret; ``version`` changes when it begins anew."""

    __slots__ = ("_anew", "_pieces", "_raw", "shown", "version")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._raw = ""
        self._anew = False
        self.shown: str = ""
        self.version = 0

    def write(self, piece: str) -> None:
        """Take the next piece; an empty one begins the text anew."""
        if not piece:
            self._pieces.clear()
            self._raw = self.shown = ""
            self._anew = True
            self.version += 1
        elif len(self._raw) < LONGEST:
            self._pieces.append(piece)

    def show(self, redactor: Redactor) -> bool:
        """Show what can be shown by now; whether anything has changed."""
        anew, self._anew = self._anew, False
        if not self._pieces:
            return anew
        self._raw += "".join(self._pieces)
        self._pieces.clear()
        text = redactor.unfinished(self._raw)
        if text == self.shown:
            return anew
        if not text.startswith(self.shown):
            self.version += 1
        self.shown = text
        return True


class Drafts:
    """The drafts of all runs that this process drives. ``changed`` is told which run has more to show."""

    def __init__(self, redactor: Redactor, changed: Callable[[str], None]) -> None:
        self._redactor = redactor
        self._changed = changed
        self._of_run: dict[str, dict[str, Draft]] = {}
        self._dirty: set[str] = set()
        self._later: asyncio.TimerHandle | None = None

    def write(self, run_id: str, attempt: str, piece: str) -> None:
        """Take a piece of an attempt's text, as :data:`leadhand.engine.host.OnText` hands it out."""
        self._of_run.setdefault(run_id, {}).setdefault(attempt, Draft()).write(piece)
        self._dirty.add(run_id)
        if self._later is None:
            self._later = asyncio.get_running_loop().call_later(EVERY_S, self._show)

    def of(self, run_id: str) -> Mapping[str, Draft]:
        """The drafts of a run by attempt."""
        return self._of_run.get(run_id, {})

    def watch(self, state: RunState, entries: Sequence[Entry]) -> None:
        """Forget the drafts of attempts that have come to an end: what they wrote is in the log, or gone."""
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
        """Forget all drafts of a run that is no longer driven here."""
        self._of_run.pop(state.run_id, None)

    def close(self) -> None:
        """Show nothing more."""
        if self._later is not None:
            self._later.cancel()

    def _show(self) -> None:
        self._later = None
        dirty, self._dirty = self._dirty, set()
        for run_id in dirty:
            drafts = self._of_run.get(run_id, {})
            changed = [draft.show(self._redactor) for draft in drafts.values()]  # each of them, not up to the first
            if any(changed):
                self._changed(run_id)


class Reading:
    """How much of a run's drafts one client has been shown."""

    __slots__ = ("_read",)

    def __init__(self) -> None:
        self._read: dict[str, tuple[int, int, int]] = {}  # version, characters, code units

    def news(self, drafts: Mapping[str, Draft]) -> list[Piece]:
        """What the client has not been shown yet; it counts as shown."""
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
