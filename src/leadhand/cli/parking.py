"""What signals do to a run that is driven here: the first parks it, the second leaves at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Generator, Iterator
from types import FrameType

from leadhand.cli.console import say_at_once
from leadhand.cli.exit_codes import Exit
from leadhand.cli.lines import View
from leadhand.runs import Run


class Parking:
    """The first signal parks the run, the second leaves at once: the run is durable either way.

    The handlers are Python's own and not the loop's, so that they run while a tool blocks the loop, too.
    """

    def __init__(self, run: Run, shown: View, resume: str) -> None:
        self._run = run
        self._view = shown
        self._resume = resume
        self._loop = asyncio.get_running_loop()
        self._signalled = False
        self._pausing: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def on_signals(self) -> Generator[None]:
        """Handle signals in this way for as long as it lasts."""
        with contextlib.ExitStack() as stack:
            for number in _signals():
                stack.callback(signal.signal, number, signal.signal(number, self._handle))
            yield

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._signalled:
            self._leave()
        self._signalled = True
        self._loop.call_soon_threadsafe(self._park)

    def _park(self) -> None:
        self._view.tell("Parking the run. Once more leaves at once.")
        self._pausing = asyncio.ensure_future(self._run.pause("interrupted"))

    def _leave(self) -> None:
        with contextlib.suppress(Exception):  # whatever it was in the middle of: the process ends
            self._view.hide()
        say_at_once(f"Left at once. Resume with: {self._resume}")
        os._exit(Exit.INTERRUPTED)


def _signals() -> Iterator[signal.Signals]:
    yield signal.SIGINT
    yield signal.SIGTERM
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup means: go on without a terminal
        yield signal.SIGHUP
