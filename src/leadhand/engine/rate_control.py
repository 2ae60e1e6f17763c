"""The rate of the calls of one model: as many in parallel as it accepts, and none while it asks to wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

from leadhand.engine.server_gate import ServerGate
from leadhand.engine.slots import without_slot
from leadhand.ports import Clock, ContextStore

FIRST_LIMIT = 1_024
"""Maximum parallel calls of a model that has not refused any yet; usually, ``max_workers`` of the run is lower."""
LARGEST_LIMIT = 4_096
LONGEST_HOLD_S = 3_600.0
"""The longest wait, in seconds, that is accepted from one answer of a service."""
LOOKING_S = 1.0
"""How often, in seconds, a process checks whether a model asked another process to wait."""


class RateController:
    """Limits the calls of one model by all attempts of this process.

    Concurrency grows by additive increase and is halved after a rate limit error (AIMD: Chiu and Jain, "Analysis of the
    Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989); until the first such error,
    it doubles with every round of answers, as in TCP's slow start (RFC 5681). Errors of calls that ran in parallel
    halve it only once. If a server asks for a wait, every process that shares the store waits: the wait is stored
    as a gate.
    """

    def __init__(self, model: str, store: ContextStore, clock: Clock) -> None:
        self.server = ServerGate(model, store, clock)
        self._gate = f"model {model}"
        self._store = store
        self._clock = clock
        self._limit = float(FIRST_LIMIT)
        self._refused = False
        self._rounds = 0
        self._under_way = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._held_at = self._held_until = clock.now()
        self._looked_at: datetime | None = None

    @property
    def limit(self) -> int:
        """The current maximum of parallel calls."""
        return int(self._limit)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncGenerator[int]:
        """Wait for permission to call the model, without a slot and outside the attempt's timeout. Yields the round.

        Report the outcome with :meth:`answered` or, with the round, :meth:`refused`.
        """
        await self._admitted()
        try:
            yield self._rounds
        finally:
            self._under_way -= 1
            self._admit()

    def answered(self) -> None:
        """Record an answer of the model: raise the limit a little if it is fully used."""
        if self._under_way * 2 >= self._limit:
            self._limit = min(self._limit + (1 / self._limit if self._refused else 1.0), LARGEST_LIMIT)

    async def refused(self, round_: int, retry_after_s: float | None) -> None:
        """Record a rate limit error of the model; ``retry_after_s`` is how long to wait."""
        if round_ == self._rounds:
            self._rounds += 1
            self._refused = True
            self._limit = max(1.0, min(self._limit, self._under_way) / 2)
        if retry_after_s:
            seconds = min(retry_after_s, LONGEST_HOLD_S)
            self._hold(seconds)
            await self._store.hold_gate(self._gate, seconds)

    async def _admitted(self) -> None:
        await self._look()
        while (left := self._seconds_held()) > 0:
            async with without_slot(f"the rate limit of {self._gate}", left):
                await self._clock.sleep(left)
        if self._under_way < self.limit and not self._queue:
            self._under_way += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            async with without_slot():
                await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was admitted but cannot proceed
                self._under_way -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._queue and self._under_way < self.limit:
            place = self._queue.popleft()
            if not place.done():
                self._under_way += 1
                place.set_result(None)

    def _seconds_held(self) -> float:
        now = self._clock.now()
        if now < self._held_at:  # the clock was put back
            self._held_until, self._held_at = now + (self._held_until - self._held_at), now
        return (self._held_until - now).total_seconds()

    def _hold(self, seconds: float) -> None:
        left = max(self._seconds_held(), seconds)
        self._held_at = self._clock.now()
        self._held_until = self._held_at + timedelta(seconds=left)

    async def _look(self) -> None:
        """Read at intervals the waits that models requested from other processes."""
        now = self._clock.now()
        if self._looked_at is not None and abs((now - self._looked_at).total_seconds()) < LOOKING_S:
            return
        self._looked_at = now
        held = await self._store.pass_gate(self._gate, 0.0)
        if held > 0:
            self._hold(held)
