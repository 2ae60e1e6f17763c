"""Progress as plain lines on stderr, one per change, for pipes and terminals that cannot be redrawn."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Protocol

from leadhand.app.formatting import cut
from leadhand.cli.terminal.progress import Line, Progress
from leadhand.cli.terminal.streams import animated, say
from leadhand.domain.events import AttemptStarted, Entry
from leadhand.domain.ids import assignment_of


class View(Protocol):
    """Shows a run in progress."""

    @contextmanager
    def shown(self) -> Generator[None]:
        """Show the run inside the block."""
        ...

    def take(self, entry: Entry, *, new: bool) -> None:
        """Show an entry; ``new`` is false for entries from before this process followed the run."""
        ...

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        """Show a piece of the answer that is being written."""
        ...

    def say(self, line: str) -> None:
        """Write a line that stays."""
        ...

    def hide(self) -> None:
        """Restore the terminal at once: the process is about to exit."""
        ...


class PlainView:
    """Writes one line per change."""

    def __init__(self) -> None:
        self._progress = Progress()
        self._held: dict[str, Line] = {}

    @contextmanager
    def shown(self) -> Generator[None]:
        yield

    def take(self, entry: Entry, *, new: bool) -> None:
        line = self._progress.take(entry)
        if new:
            for each in self._in_order(entry, line):
                say(cut(str(each)))

    def _in_order(self, entry: Entry, line: Line | None) -> Iterator[Line]:
        """Show a start after the end that freed its slot: the log may settle that end only later."""
        attempt = getattr(entry.event, "attempt", "")
        key = assignment_of(attempt) if attempt else ""
        workers = self._progress.max_workers
        crowded = workers is not None and self._progress.view["counts"]["running"] > workers
        if crowded and line is not None and isinstance(entry.event, AttemptStarted):
            self._held[key] = line
            return
        if line is not None and key in self._held:
            yield self._held.pop(key)
        if line is not None:
            yield line
        if not crowded:
            yield from self._held.values()
            self._held.clear()

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        pass

    def say(self, line: str) -> None:
        say(line)

    def hide(self) -> None:
        pass


def view() -> View:
    """Return the view for this terminal, or for a pipe."""
    if not animated():
        return PlainView()
    from leadhand.cli.terminal.live_view import LiveView

    return LiveView()
