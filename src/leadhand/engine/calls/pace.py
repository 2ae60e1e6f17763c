"""The pace at which a model is called: as many calls at once as it accepts, none while it is away or wants to rest."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta

from leadhand.core.errors import Failure
from leadhand.engine.calls.slots import Slots, without_slot
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
    """Limits the calls of one model, or of all models of a server, by all attempts of this process.

    The calls at once are halved after a rate limit error, and grow by one with every round of answers (AIMD: Chiu and
    Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989).
    Errors of calls that ran in parallel halve them only once. If a server asks for a wait, every process that shares
    the store waits: the wait is stored as a gate.

    While the server is away, ``failure`` is why. Then one call finds out whether it is back, and the others wait.
    """

    def __init__(self, model: str, store: ContextStore, clock: Clock, slots: int | None = None) -> None:
        """``slots`` is how many calls the server answers at once, if that is known."""
        self._gate, self._store, self._clock = f"model {model}", store, clock
        self._most = self._limit = float(slots or MOST_AT_ONCE)
        self._slots = Slots(self.limit)
        self._rounds = 0
        self._rests, self._looked_at = False, datetime.min.replace(tzinfo=clock.now().tzinfo)
        self.failure: Failure | None = None
        self._delay_s, self._next = 0.0, clock.now()
        self._probing, self._changed = False, asyncio.Event()

    @property
    def limit(self) -> int:
        """The current maximum of parallel calls."""
        return int(self._limit)

    @contextlib.asynccontextmanager
    async def turn(self, run_id: str = "", priority: int = 0) -> AsyncGenerator[int]:
        """Wait for permission to call the model, without a slot and outside the attempt's timeout. Yields the round.

        Report the outcome with :meth:`answered` or, with the round, :meth:`refused`.
        """
        while self._rests or abs((self._clock.now() - self._looked_at).total_seconds()) >= LOOKING_S:
            self._looked_at = self._clock.now()
            left = min(await self._store.pass_gate(self._gate, 0.0), LONGEST_HOLD_S)
            self._rests = left > 0
            if self._rests:
                async with without_slot(f"the rate limit of {self._gate}", left):
                    await self._clock.sleep(left)
        async with self._slots.held(run_id, priority):
            yield self._rounds

    def answered(self) -> None:
        """Record an answer of the model: raise the limit a little if it is used."""
        if self._under_way * 2 >= self._limit:
            self._set(min(self._limit + 1 / self._limit, self._most))

    async def refused(self, round_: int, retry_after_s: float | None) -> None:
        """Record a rate limit error of the model; ``retry_after_s`` is how long to wait."""
        if round_ == self._rounds:
            self._rounds += 1
            self._set(max(1.0, min(self._limit, self._under_way) / 2))
        if retry_after_s:
            self._rests = True
            await self._store.hold_gate(self._gate, min(retry_after_s, LONGEST_HOLD_S))

    @property
    def _under_way(self) -> int:
        return self.limit - self._slots.free

    def _set(self, limit: float) -> None:
        more = int(limit) - self.limit
        self._limit = limit
        self._slots.add(more)

    # --- a server that is away ---------------------------------------------------------------------------------------

    async def back(self, until: datetime) -> bool:
        """Wait until a call may be made, at the latest until ``until``, without a slot and outside of timeouts.

        Return whether the call is the one that finds out if the server is back; use :meth:`open`, :meth:`keep_closed`
        or :meth:`stop_probing` after it.
        """
        async with without_slot():
            while self.failure is not None and (now := self._clock.now()) < until:
                if self._probing:
                    await self._changed.wait()
                    continue
                self._probing = True
                try:
                    await self._clock.sleep(max(0.0, (min(self._next, until) - now).total_seconds()))
                except BaseException:
                    self.stop_probing()
                    raise
                return True
        return False

    def open(self) -> None:
        """Record that the server answered."""
        self.failure, self._delay_s = None, 0.0
        self.stop_probing()

    def keep_closed(self, failure: Failure, *, probed: bool) -> None:
        """Record that the server is away. Calls that were open together count once."""
        if probed or self.failure is None:
            self._delay_s = min(self._delay_s * 2, LONGEST_DELAY_S) or FIRST_DELAY_S
            wait_s = max(self._delay_s, min(failure.retry_after_s or 0.0, LONGEST_DELAY_S))
            self._next = self._clock.now() + timedelta(seconds=wait_s)
        self.failure = failure
        if probed:
            self.stop_probing()

    def stop_probing(self) -> None:
        """Let another call find out, and every waiting one look again."""
        self._probing = False
        self._changed.set()
        self._changed = asyncio.Event()
