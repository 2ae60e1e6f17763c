"""Hold back the calls to a model server that is away, or whose slots are all in use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from secrets import token_hex

from leadhand.core.errors import ConfigurationError, Failure
from leadhand.core.value import Json
from leadhand.engine.slots import NO_PLACE, without_slot
from leadhand.ports import Clock, ContextStore, Models
from leadhand.ports.models import ModelProfile

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 30.0
LOOKING_S = 1.0
KEPT_S = 3600.0


class ServerGate:
    """Open while the server of a model answers, for all attempts of this process.

    Once the server is away, one call is made after 1 s, then after 2, 4, … 30 s; the others wait, without a slot and
    outside the timeout of their attempt, until one of these calls is answered. ``failure`` is why it is closed.
    Processes that share a store take turns at these calls, and an answer to one of them opens the gates of all.
    """

    def __init__(self, model: str, store: ContextStore, clock: Clock) -> None:
        self._clock = clock
        self._store = store
        self._turns = f"probe {model}"
        self._answer = f"answer of {model} after it was away"
        self._seen: tuple[Json] | None = None
        """The last answer after an absence that any process had recorded when this one began to wait."""
        self.failure: Failure | None = None
        self._delay_s = 0.0
        self._next = clock.now()
        self._probing = False
        self._changed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether calls can be made without waiting."""
        return self.failure is None

    async def passed(self, until: datetime) -> bool:
        """Wait until a call may be made, at the latest until ``until``. Return whether it is the one that probes.

        After the probing call, use :meth:`open`, :meth:`keep_closed` or :meth:`stop_probing`.
        """
        async with without_slot():
            while not self.is_open:
                if self._clock.now() >= until:
                    return False
                if not self._probing:
                    return await self._probe(until)
                await self._changed.wait()
        return False

    async def _probe(self, until: datetime) -> bool:
        """Wait for this process's turn to call the server. Return False if another process had an answer meanwhile."""
        self._probing = True
        my_turn = False
        try:
            if self._seen is None:
                self._seen = (await self._store.cached(self._answer),)
            while (now := self._clock.now()) < until:
                wait_s = (min(self._next, until) - now).total_seconds()
                if wait_s <= 0:
                    wait_s = 0.0 if my_turn else await self._store.pass_gate(self._turns, self._delay_s)
                    if wait_s <= 0:
                        break
                    my_turn, self._next = True, now + timedelta(seconds=wait_s)
                await self._clock.sleep(min(wait_s, LOOKING_S))
                if (await self._store.cached(self._answer),) != self._seen:
                    self._open()
                    return False
        except BaseException:
            self.stop_probing()
            raise
        return True

    async def open(self) -> None:
        """Record that the server answered, for every process."""
        if not self.is_open:
            self._open()
            await self._store.cache(self._answer, token_hex(8), KEPT_S)

    def _open(self) -> None:
        self.failure, self._seen, self._delay_s = None, None, 0.0
        self.stop_probing()

    def keep_closed(self, failure: Failure, *, probed: bool) -> None:
        """Record that the server is away. Calls that were open together count once."""
        if probed or self.is_open:
            self._delay_s = min(self._delay_s * 2, LONGEST_DELAY_S) or FIRST_DELAY_S
            wait_s = max(self._delay_s, min(failure.retry_after_s or 0.0, LONGEST_DELAY_S))
            self._next = self._clock.now() + timedelta(seconds=wait_s)
        self.failure = failure
        if probed:
            self.stop_probing()

    def stop_probing(self) -> None:
        """Let another call probe, and every waiting one look again."""
        self._probing = False
        self._changed.set()
        self._changed = asyncio.Event()


class ServerSlots:
    """Limits the calls that this process makes to a server at once to the slots that the server has."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._servers: dict[tuple[str, int], asyncio.Semaphore] = {}

    def held(self, model: str) -> AbstractAsyncContextManager[None]:
        """Return what holds a slot of the server of ``model``, if the number of its slots is known.

        A call waits for it without the slot of its attempt and outside the attempt's timeout.
        """
        try:
            profile = self._models.profile(model)
        except ConfigurationError:  # reported when the call is reserved
            return NO_PLACE
        return NO_PLACE if profile.slots is None else self._slot(profile, profile.slots)

    @asynccontextmanager
    async def _slot(self, profile: ModelProfile, most: int) -> AsyncGenerator[None]:
        slots = self._servers.setdefault((profile.server, most), asyncio.Semaphore(most))
        if slots.locked():
            async with without_slot():
                await slots.acquire()
        else:
            await slots.acquire()
        try:
            yield
        finally:
            slots.release()
