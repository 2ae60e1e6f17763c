"""The pace at which a model is called: as many calls at once as it accepts, none while it is away or wants to rest."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta

from leadhand.core.errors import Failure
from leadhand.engine.calls.permits import Queue, rest
from leadhand.ports import Clock, ContextStore

MOST_AT_ONCE = 4_096
"""Calls at once of a model that has refused none, and whose server does not say how many it answers."""
LONGEST_HOLD_S = 3_600.0
"""The longest wait, in seconds, that is accepted from one answer of a service."""
LOOKING_S = 1.0
"""How often, in seconds, a process checks whether a model asked another process to wait."""
FIRST_DELAY_S, LONGEST_DELAY_S = 1.0, 30.0
"""Seconds between two calls that find out whether a server is back: 1, 2, 4, … 30."""


class Pace:
    """How the models of a server are called by all attempts of this process, or one model of a larger service.

    The calls at once are halved after a rate limit error, and grow by one with every round of answers (AIMD: Chiu and
    Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989).
    Errors of calls that ran in parallel, in the same round, halve them only once. If a server asks for a wait, every
    process that shares the store waits: the wait is stored as a gate.

    While the server is away, ``failure`` is why, and one call at a time finds out whether it is back. Calls wait in the
    ``queue``, which is another one once the server goes away, has been tried, or is back: then all of them look again.
    """

    def __init__(self, model: str, store: ContextStore, clock: Clock, slots: int | None = None) -> None:
        """``slots`` is how many calls the server answers at once, if that is known."""
        self._gate, self._store, self._clock = f"model {model}", store, clock
        self._most = self._limit = float(slots or MOST_AT_ONCE)
        self.queue = Queue(int(self._limit))
        self.round = 0
        self._rests, self._looked_at = False, datetime.min.replace(tzinfo=clock.now().tzinfo)
        self.failure: Failure | None = None
        self._delay_s, self._try_at = 0.0, clock.now()

    @property
    def limit(self) -> int:
        """The current maximum of parallel calls."""
        return int(self._limit)

    async def rest(self, until: datetime | None = None) -> None:
        """Wait with a place of the queue until a call may be made: one that looks for the server at ``until`` at the
        latest."""
        while self._rests or abs((self._clock.now() - self._looked_at).total_seconds()) >= LOOKING_S:
            self._looked_at = self._clock.now()
            left = min(await self._store.pass_gate(self._gate, 0.0), LONGEST_HOLD_S)
            self._rests = left > 0
            await rest(self._clock, left, f"the rate limit of {self._gate}")
        if self.failure is not None and until is not None:
            await rest(self._clock, (min(self._try_at, until) - self._clock.now()).total_seconds())

    def answered(self) -> None:
        """Record an answer of the model: raise the limit a little if it is used."""
        if self.queue.in_use * 2 >= self._limit:
            self._set(min(self._limit + 1 / self._limit, self._most))

    async def refused(self, round_: int, retry_after_s: float | None) -> None:
        """Record a rate limit error of a call of a round; ``retry_after_s`` is how long to wait."""
        if round_ == self.round:
            self.round += 1
            self._set(max(1.0, min(self._limit, self.queue.in_use) / 2))
        if retry_after_s:
            self._rests = True
            await self._store.hold_gate(self._gate, min(retry_after_s, LONGEST_HOLD_S))

    def away(self, queue: Queue, failure: Failure) -> None:
        """Record that the server is away for a call of a queue. Parallel calls count once."""
        self.failure = failure
        if queue is self.queue:
            self._delay_s = min(self._delay_s * 2, LONGEST_DELAY_S) or FIRST_DELAY_S
            wait_s = max(self._delay_s, min(failure.retry_after_s or 0.0, LONGEST_DELAY_S))
            self._try_at = self._clock.now() + timedelta(seconds=wait_s)
            self._replace_queue(1)

    def back(self) -> None:
        """Record that the server answered."""
        if self.failure is not None:
            self.failure, self._delay_s = None, 0.0
            self._replace_queue(self.limit)

    def _replace_queue(self, most: int) -> None:
        """Let every call that waits queue again, whatever calls that hang still hold."""
        self.queue.resize(sys.maxsize)
        self.queue = Queue(most)

    def _set(self, limit: float) -> None:
        self._limit = limit
        self.queue.resize(int(limit))
