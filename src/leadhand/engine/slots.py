"""Slots limit how many attempts run at once; an attempt can wait without holding a slot."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar


class Slots:
    """A number of places that runs share; an attempt that waits for something outside gives its place back meanwhile.

    A free place goes to the waiting run that holds the fewest, so that a large run does not keep a small one waiting.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._runs: dict[str, _Run] = {}

    @asynccontextmanager
    async def taken(self, run_id: str = "", most: int | None = None) -> AsyncGenerator[None]:
        """Hold a place, as one of at most ``most`` of this run."""
        run = self._runs.setdefault(run_id, _Run())
        run.most = most
        place = _Place(self, run)
        try:
            await place.take()
            token = _PLACE.set(place)
            try:
                yield
            finally:
                _PLACE.reset(token)
        finally:
            place.leave()
            if not run.taken and not run.waiting:
                self._runs.pop(run_id, None)

    async def acquire(self, run: _Run) -> None:
        """Wait for a place of a run."""
        if self._free and run.has_room and not run.waiting:
            self._give(run)
            return
        turn = asyncio.get_running_loop().create_future()
        run.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given a place and cannot use it
                self.release(run)
            elif turn in run.waiting:
                run.waiting.remove(turn)
            raise

    def release(self, run: _Run) -> None:
        """Give a place of a run back."""
        run.taken -= 1
        self._free += 1
        while self._free:
            waiting = [run for run in self._runs.values() if run.waiting and run.has_room]
            if not waiting:
                return
            fewest = min(waiting, key=lambda run: run.taken)
            turn = fewest.waiting.popleft()
            if not turn.done():
                self._give(fewest)
                turn.set_result(None)

    def _give(self, run: _Run) -> None:
        run.taken += 1
        self._free -= 1


class _Run:
    """The places of one run, and the attempts that wait for one."""

    def __init__(self) -> None:
        self.most: int | None = None
        self.taken = 0
        self.waiting: deque[asyncio.Future[None]] = deque()

    @property
    def has_room(self) -> bool:
        return self.most is None or self.taken < self.most


class _Place:
    """The slot of one attempt. If several of its parallel calls wait at the same time, it is released once."""

    def __init__(self, slots: Slots, run: _Run) -> None:
        self._slots = slots
        self._run = run
        self._held = False
        self._waiting = 0

    async def take(self) -> None:
        await self._slots.acquire(self._run)
        self._held = True

    def leave(self) -> None:
        """Give the place back, if it is held: an attempt may be cancelled while it waits to take it again."""
        if self._held:
            self._held = False
            self._slots.release(self._run)

    @asynccontextmanager
    async def given_back(self) -> AsyncGenerator[None]:
        """Release the slot inside the block, and take a slot again at the end."""
        self._waiting += 1
        if self._waiting == 1:
            self.leave()
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                await self.take()


_PLACE: ContextVar[_Place | None] = ContextVar("leadhand_place", default=None)
_NOTE: ContextVar[Callable[[str, float], None] | None] = ContextVar("leadhand_note", default=None)
_TIMEOUTS: ContextVar[tuple[asyncio.Timeout, ...]] = ContextVar("leadhand_timeouts", default=())


class TimeIsUp(TimeoutError):
    """A :func:`bounded` block ran out of time."""


@asynccontextmanager
async def bounded(seconds: float) -> AsyncGenerator[None]:
    """Limit the block to ``seconds``, not counting waits in :func:`without_slot`.

    Raises :class:`TimeIsUp`, to distinguish it from a TimeoutError raised by the block itself.
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


def announce_waits(note: Callable[[str, float], None]) -> None:
    """Call ``note`` with the reason and the seconds of every known wait of this task in :func:`without_slot`."""
    _NOTE.set(note)


@asynccontextmanager
async def without_slot(reason: str = "", seconds: float = 0.0) -> AsyncGenerator[None]:
    """Wait for a service's gate or a model's rate limit, without the slot and outside the timeouts of the call."""
    note = _NOTE.get()
    if note is not None and seconds > 0:
        note(reason, seconds)
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
