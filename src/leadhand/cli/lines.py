"""Progress as plain lines on stderr, one for each change: where there is no terminal, or none that can be redrawn."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from leadhand.cli.console import cut, say
from leadhand.cli.progress import Progress
from leadhand.domain.events import Entry


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

    @contextmanager
    def shown(self) -> Generator[None]:
        yield

    def take(self, entry: Entry, *, new: bool) -> None:
        step = self._progress.take(entry)
        if new and step is not None:
            say(cut(str(step)))

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
