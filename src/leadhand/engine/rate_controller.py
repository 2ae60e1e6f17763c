"""Limits how fast a model is called: as many calls at once as it accepts, and none while it asks to wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from leadhand.engine.slots import without_slot
from leadhand.ports import Clock, ContextStore

FIRST_LIMIT = 1_024
"""Calls at once of a model that has not yet refused any; before that, a run's number of workers bounds them."""
LARGEST_LIMIT = 4_096
LONGEST_HOLD_S = 3_600.0
"""The longest wait, in seconds, that is accepted from one answer of a service."""
LOOKING_S = 1.0
"""How often, in seconds, a process checks whether a model asked another process to wait."""


class RateController:
    """The pace at which one model is asked, by all attempts of this process.

    Concurrency grows by additive increase and is halved by a refusal for going too fast (AIMD: Chiu and Jain, "Analysis
    of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989); until the first
    refusal it doubles with every round of answers, as TCP's slow start does (RFC 5681). A refusal halves it only once
    for all calls that were under way together. When a server says how long to wait, every process
    that shares the store waits: the time is kept as a gate there.
    """

    def __init__(self, model: str, store: ContextStore, clock: Clock) -> None:
        self._gate = f"model {model}"
        self._store = store
        self._clock = clock
        self._limit = float(FIRST_LIMIT)
        self._refused = False
        self._rounds = 0
        self._under_way = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._held_until: datetime | None = None
        self._looked_at: datetime | None = None

    @property
    def limit(self) -> int:
        """Calls at once, at present."""
        return int(self._limit)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[int]:
        """A turn to ask; waiting for it costs neither a slot nor the time of the attempt. Yields its round.

        Report the outcome with :meth:`answered` or, with the round, :meth:`refused`.
        """
        await self._admitted()
        try:
            yield self._rounds
        finally:
            self._under_way -= 1
            self._admit()

    def answered(self) -> None:
        """The model answered: it may be asked a little faster, if the present pace is really used."""
        if self._under_way * 2 >= self._limit:
            self._limit = min(self._limit + (1 / self._limit if self._refused else 1.0), LARGEST_LIMIT)

    async def refused(self, round_: int, retry_after_s: float | None) -> None:
        """The model refused for being asked too fast; ``retry_after_s`` is how long to wait."""
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
            async with without_slot():
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
            if place.done() and not place.cancelled():  # it was let in and cannot go
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
        return 0.0 if self._held_until is None else (self._held_until - self._clock.now()).total_seconds()

    def _hold(self, seconds: float) -> None:
        until = self._clock.now() + timedelta(seconds=seconds)
        if self._held_until is None or until > self._held_until:
            self._held_until = until

    async def _look(self) -> None:
        """Read the waits that other processes were asked for, at intervals."""
        now = self._clock.now()
        if self._looked_at is not None and (now - self._looked_at).total_seconds() < LOOKING_S:
            return
        self._looked_at = now
        held = await self._store.pass_gate(self._gate, 0.0)
        if held > 0:
            self._hold(held)
