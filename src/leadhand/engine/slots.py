"""Slots: how many attempts run at once, and waiting that holds none of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar


class Slots:
    """A number of places; an attempt that waits for something outside gives its place back meanwhile."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None]:
        """Hold a place."""
        async with self._free:
            token = _PLACE.set(_Place(self._free))
            try:
                yield
            finally:
                _PLACE.reset(token)


class _Place:
    """The place of one attempt, whose parallel calls may wait outside at the same time: it is given back once."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._waiting = 0

    @asynccontextmanager
    async def given_back(self) -> AsyncGenerator[None]:
        """Be without the place for a while, and take one again."""
        self._waiting += 1
        if self._waiting == 1:
            self._free.release()
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                await self._free.acquire()


_PLACE: ContextVar[_Place | None] = ContextVar("leadhand_place", default=None)
_TIMEOUTS: ContextVar[tuple[asyncio.Timeout, ...]] = ContextVar("leadhand_timeouts", default=())


class TimeIsUp(TimeoutError):
    """A :func:`bounded` block used up its time."""


@asynccontextmanager
async def bounded(seconds: float) -> AsyncGenerator[None]:
    """At most ``seconds`` of time of its own; waiting by :func:`without_slot` is not counted.

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


@asynccontextmanager
async def without_slot() -> AsyncGenerator[None]:
    """Wait for others (a service's gate, a model's pace) outside the slot and the time-outs of the call at hand."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    stopped = [(limit, when) for limit in _TIMEOUTS.get() if (when := limit.when()) is not None]
    for limit, _ in stopped:
        limit.reschedule(None)
    place = _PLACE.get()
    try:
        if place is None:
            yield
        else:
            async with place.given_back():
                yield
    finally:
        for limit, when in stopped:
            limit.reschedule(when + loop.time() - began)
