"""The time limits of one call, on a single timer, because timers are expensive."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from leadhand.domain.errors import FailureClass
from leadhand.ports import ModelError

from .errors import failed


class Times(NamedTuple):
    """The limits of a client, in seconds: for a connection, until an answer begins, between two pieces of it."""

    connect_s: float = 10.0
    first_byte_s: float = 60.0
    idle_s: float = 30.0


class Patience:
    """The time limits of one call: until the answer begins, between two pieces, and for the whole.

    Used around the call: ``async with patience.timer: …``, which raises TimeoutError when one of them has passed; then
    :meth:`failure` says which. Made inside the running event loop.
    """

    def __init__(self, times: Times, deadline_s: float, who: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._times = times
        self._deadline_s = deadline_s
        self._who = who
        self._deadline = self._loop.time() + deadline_s
        self._size: int | None = None
        self._fresh = True
        # Moving a timer costs as much as making it: the common call, whose answer comes in one piece, moves none.
        self.timer = asyncio.timeout_at(min(self._deadline, self._loop.time() + times.first_byte_s))

    def asked(self) -> None:
        """A request goes out: the answer has to begin within ``first_byte_s``."""
        self._size = None
        if self._fresh:
            self._fresh = False
            return
        self._until(self._times.first_byte_s, slack=0.0)

    def came(self, size: int) -> None:
        """So many bytes have come; the next have to follow within ``idle_s`` (give or take an eighth)."""
        begins, self._size = self._size is None, size
        # A stream has many pieces, and moving a timer for each would cost more than reading them.
        if begins or (self.timer.when() or 0.0) < min(self._deadline, self._loop.time() + self._times.idle_s):
            self._until(self._times.idle_s, slack=self._times.idle_s / 8)

    def _until(self, seconds: float, *, slack: float) -> None:
        self.timer.reschedule(min(self._deadline, self._loop.time() + seconds + slack))

    def failure(self) -> ModelError:
        """The failure that the limit which has passed stands for. What the call cost is not known."""
        whole = self._loop.time() >= self._deadline
        limit = self._times.first_byte_s if self._size is None else self._times.idle_s
        if whole and self._size is None:
            message = f"{self._who} gave no answer within {self._deadline_s:g} s: it had not begun to answer"
        elif whole:
            message = f"{self._who} gave no whole answer within {self._deadline_s:g} s: {self._size} bytes had come"
        elif self._size is None:
            message = f"{self._who} did not begin to answer within {limit:g} s"
        else:
            message = f"{self._who} sent nothing for {limit:g} s in the middle of its answer, after {self._size} bytes"
        action = "allow more time with --timeout, or ask for less at once" if whole else ""
        return failed(message, "timeout", FailureClass.TRANSIENT, None, next_action=action)
