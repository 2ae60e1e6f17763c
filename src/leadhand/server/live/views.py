"""Views of runs: each run's log is folded once for all clients.

A few views without clients are kept, so that the next request only folds what has happened since.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from pydantic_core import to_json

from leadhand.core.events import Entry
from leadhand.core.view import Change, Projection
from leadhand.ports import ContextStore

KEPT_CHANGES = 1_000
"""The number of newest changes that are kept for a run; a client that is further behind gets a snapshot."""
KEPT_VIEWS = 8
"""The number of views that are kept without a client."""
PAGE = 200
"""The number of entries that are read and folded at once."""


class ViewLine:
    """A message of a view's stream: a snapshot, or what one entry changed."""

    __slots__ = ("_change", "_written", "seq")

    def __init__(self, seq: int, change: Change | None, written: bytes | None = None) -> None:
        self.seq = seq
        self._change = change
        self._written = written

    def of(self, _brief: bool) -> bytes:
        """The message in the form of Server-Sent Events; a view is always brief."""
        if self._written is None:
            assert self._change is not None
            self._written = _message(self.seq, to_json(self._change))
            self._change = None
        return self._written


def _message(seq: int, data: bytes, event: bytes = b"") -> bytes:
    return b"id: %d\n%sdata: %s\n\n" % (seq, event, data)


class _Numbered(Protocol):
    seq: int


_LineT = TypeVar("_LineT", bound=_Numbered)


def lines_after(lines: deque[_LineT], seq: int) -> list[_LineT]:
    """Return the lines above ``seq``; none if the first of them is no longer kept."""
    if not lines or lines[0].seq > seq + 1:
        return []
    first = lines[0].seq
    return [lines[index] for index in range(seq + 1 - first, len(lines))]


class LiveView:
    """The view of one run, updated as its log grows."""

    def __init__(self, run_id: str, store: ContextStore) -> None:
        self._run_id = run_id
        self._store = store
        self._reading = asyncio.Lock()
        self._begin()

    def _begin(self) -> None:
        self._projection = Projection(self._run_id)
        self._lines: deque[ViewLine] = deque(maxlen=KEPT_CHANGES)
        self._snapshot: tuple[int, bytes] = (0, b"")
        self._whole: ViewLine | None = None

    @property
    def seq(self) -> int:
        """The sequence of the last entry that is in the view."""
        return self._projection.seq

    def take(self, entries: Sequence[Entry]) -> None:
        """Fold entries that were read elsewhere, unless some before them are missing."""
        if not entries or entries[0].seq > self.seq + 1:
            return
        try:
            self._lines.extend(ViewLine(change.seq, change) for change in self._projection.take_all(entries))
        except Exception:  # an entry may be folded only in part, so the view must not be used anymore
            self._begin()
            raise

    async def reach(self, head: int) -> None:
        """Read and fold the missing entries up to ``head``."""
        if self.seq >= head:
            return
        async with self._reading:
            while self.seq < head:
                before = self.seq
                self.take(await self._store.read(self._run_id, after=before, limit=PAGE))
                if self.seq == before:
                    return

    def snapshot(self) -> bytes:
        """Return the whole view as JSON."""
        if self._snapshot[0] != self.seq:
            self._snapshot = (self.seq, to_json(self._projection.document))
        return self._snapshot[1]

    def after(self, seq: int) -> list[ViewLine]:
        """Return what to send to a client at ``seq``: changes, or a snapshot if those are no longer kept."""
        if seq >= self.seq:
            return []
        if seq and (kept := lines_after(self._lines, seq)):
            return kept
        if self._whole is None or self._whole.seq != self.seq:
            self._whole = ViewLine(self.seq, None, _message(self.seq, self.snapshot(), b"event: snapshot\n"))
        return [self._whole]


class LiveViews:
    """The views of all runs that are watched, and of those that were requested last."""

    def __init__(self, store: ContextStore) -> None:
        self._store = store
        self._views: WeakValueDictionary[str, LiveView] = WeakValueDictionary()
        self._kept: OrderedDict[str, LiveView] = OrderedDict()

    def of(self, run_id: str) -> LiveView:
        """The view of a run, as far as it was folded."""
        view = self._views.get(run_id)
        if view is None:
            view = self._views[run_id] = LiveView(run_id, self._store)
        self._kept[run_id] = view
        self._kept.move_to_end(run_id)
        while len(self._kept) > KEPT_VIEWS:
            self._kept.popitem(last=False)
        return view

    def forget(self, run_id: str) -> None:
        """Drop the view of a run that was deleted."""
        self._views.pop(run_id, None)
        self._kept.pop(run_id, None)
