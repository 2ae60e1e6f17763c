"""Slots: how many attempts run at once, and waiting that holds none of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar


class Slots:
    """A number of places; whoever waits for something outside gives its place back meanwhile."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None]:
        """Hold a place."""
        async with self._free:
            token = _PLACE.set(self)
            try:
                yield
            finally:
                _PLACE.reset(token)

    async def wait(self, seconds: float) -> None:
        """Wait without a place, and take one again."""
        self._free.release()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._free.acquire()


_PLACE: ContextVar[Slots | None] = ContextVar("leadhand_slot", default=None)
_TIMEOUTS: ContextVar[tuple[asyncio.Timeout, ...]] = ContextVar("leadhand_timeouts", default=())


class TimeIsUp(TimeoutError):
    """A :func:`bounded` block used up its time."""


@asynccontextmanager
async def bounded(seconds: float) -> AsyncGenerator[None]:
    """At most ``seconds`` of time of its own; waiting by :func:`outside` is not counted.

    Raises :class:`TimeIsUp`, which a TimeoutError that the block itself raises is not.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            token = _TIMEOUTS.set((*_TIMEOUTS.get(), limit))
            try:
                yield
            finally:
                _TIMEOUTS.reset(token)
    except TimeoutError as error:
        if limit.expired():
            raise TimeIsUp from error
        raise


async def outside(seconds: float) -> None:
    """Wait for a service's gate, outside the slot and the time-out of the call that has to pass it."""
    if seconds <= 0:
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    stopped = [(limit, when) for limit in _TIMEOUTS.get() if (when := limit.when()) is not None]
    for limit, _ in stopped:
        limit.reschedule(None)
    try:
        place = _PLACE.get()
        await (asyncio.sleep(seconds) if place is None else place.wait(seconds))
    finally:
        for limit, when in stopped:
            limit.reschedule(when + loop.time() - began)
