"""Progress as plain lines on stderr, one for each change: where there is no terminal, or none that can be redrawn."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Protocol

from leadhand.app.formatting import cut
from leadhand.cli.console import say
from leadhand.cli.progress import Progress
from leadhand.cli.steps import Step
from leadhand.domain.events import AttemptStarted, Entry
from leadhand.domain.ids import assignment_of


class View(Protocol):
    """Shows a run while it runs."""

    @contextmanager
    def shown(self) -> Generator[None]:
        """Show it for as long as this lasts."""
        ...

    def take(self, entry: Entry, *, new: bool) -> None:
        """Something happened; ``new`` is false for what happened before anybody looked."""
        ...

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        """A piece of an answer that is being written."""
        ...

    def tell(self, line: str) -> None:
        """Say something that stays."""
        ...

    def hide(self) -> None:
        """Give the terminal back at once: the process is about to end without ceremony."""
        ...


class Lines:
    """One line a change."""

    def __init__(self) -> None:
        self._progress = Progress()
        self._held: dict[str, Step] = {}

    @contextmanager
    def shown(self) -> Generator[None]:
        yield

    def take(self, entry: Entry, *, new: bool) -> None:
        step = self._progress.take(entry)
        if new:
            for each in self._in_order(entry, step):
                say(cut(str(each)))

    def _in_order(self, entry: Entry, step: Step | None) -> Iterator[Step]:
        """A start comes after the end that made room for it: the log may have settled that end only later."""
        attempt = getattr(entry.event, "attempt", "")
        key = assignment_of(attempt) if attempt else ""
        definition = self._progress.definition
        crowded = definition is not None and self._progress.running > definition.limits.max_workers
        if crowded and step is not None and isinstance(entry.event, AttemptStarted):
            self._held[key] = step
            return
        if step is not None and key in self._held:
            yield self._held.pop(key)
        if step is not None:
            yield step
        if not crowded:
            yield from self._held.values()
            self._held.clear()

    def write_draft(self, run_id: str, attempt: str, piece: str) -> None:
        pass

    def tell(self, line: str) -> None:
        say(line)

    def hide(self) -> None:
        pass


def view() -> View:
    """The view for this terminal, or for none."""
    from leadhand.cli.console import animated

    if not animated():
        return Lines()
    from leadhand.cli.lanes import Lanes

    return Lanes()
