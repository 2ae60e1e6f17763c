"""Slots limit how many attempts run at once; an attempt can wait without holding a slot."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar, Token
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leadhand.engine.calls.wait_notes import AttemptWaits

NO_PLACE: AbstractAsyncContextManager[None] = nullcontext()
"""Holds nothing, where there is no limit."""


class Slots:
    """A number of places that runs share; an attempt that waits for something outside gives its place back meanwhile.

    A free place goes to the waiting run of the highest priority; of several, to the one that holds the fewest, and of
    these to the one whose last turn was longest ago, so that a large run does not keep a small one waiting.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._served = 0
        self._runs: dict[str, RunPlaces] = {}

    @property
    def free(self) -> int:
        """How many places nobody holds."""
        return self._free

    @property
    def waiting(self) -> bool:
        """Whether anyone waits for a place and could use one."""
        return any(run.usable for run in self._runs.values())

    def wanted(self, most: int) -> list[int]:
        """Return the priorities of those who wait for a place and could use one: the ``most`` highest."""
        runs = sorted(self._runs.values(), key=lambda run: -run.priority)
        return list(islice((run.priority for run in runs for _ in range(run.usable)), most))

    @contextmanager
    def run(self, run_id: str, most: int | None = None, priority: int = 0) -> Generator[RunPlaces]:
        """Use the places of a run in the block, at most ``most``; after the last such block it is forgotten."""
        run = self._runs.setdefault(run_id, RunPlaces())
        run.most, run.priority = most, priority
        run.users += 1
        try:
            yield run
        finally:
            run.users -= 1
            if not run.users:
                del self._runs[run_id]

    @asynccontextmanager
    async def taken(self, run_id: str = "", most: int | None = None, priority: int = 0) -> AsyncGenerator[None]:
        """Hold a place, as one of at most ``most`` of this run."""
        with self.run(run_id, most, priority) as run:
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

    @asynccontextmanager
    async def held(self, run_id: str, priority: int) -> AsyncGenerator[None]:
        """Hold a place for a call of an attempt, and wait for it without the slot of the attempt."""
        with self.run(run_id, None, priority) as run:
            is_held = self._free > 0 and not run.waiting
            try:
                if is_held:
                    self._give(run)
                else:
                    async with without_slot():
                        await self.acquire(run)
                        is_held = True
                yield
            finally:
                if is_held:
                    self.release(run)

    async def acquire(self, run: RunPlaces) -> None:
        """Wait for a place of a run."""
        if self._free > 0 and run.has_room and not run.waiting:
            self._give(run)
            return
        turn = asyncio.get_running_loop().create_future()
        run.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            given = turn.done() and not turn.cancelled() and turn.exception() is None
            if given:  # and it cannot use the place
                self.release(run)
            elif turn in run.waiting:
                run.waiting.remove(turn)
            raise

    def release(self, run: RunPlaces) -> None:
        """Give a place of a run back."""
        run.taken -= 1
        self.add(1)

    def add(self, count: int) -> None:
        """Add places that nobody holds, or take some of these away."""
        self._free += count
        while self._free > 0:
            waiting = [run for run in self._runs.values() if run.waiting and run.has_room]
            if not waiting:
                return
            first = min(waiting, key=lambda run: (-run.priority, run.taken, run.served))
            turn = first.waiting.popleft()
            if not turn.done():
                self._give(first)
                turn.set_result(None)

    def fail(self, error: Exception) -> None:
        """Let everyone who waits for a place fail with an error."""
        for run in self._runs.values():
            while run.waiting:
                turn = run.waiting.popleft()
                if not turn.done():
                    turn.set_exception(error)

    def _give(self, run: RunPlaces) -> None:
        run.taken += 1
        self._served += 1
        run.served = self._served
        self._free -= 1


class RunPlaces:
    """The places of one run, and the attempts that wait for one."""

    def __init__(self) -> None:
        self.most: int | None = None
        self.priority = 0
        self.users = 0
        """How many hold a place, wait for one, or have given theirs back for a while."""
        self.taken = 0
        self.served = 0
        """The number of the latest place that it got, counted over all runs."""
        self.waiting: deque[asyncio.Future[None]] = deque()

    @property
    def has_room(self) -> bool:
        return self.most is None or self.taken < self.most

    @property
    def usable(self) -> int:
        """How many more places it could use now."""
        waiting = len(self.waiting)
        return waiting if self.most is None else max(0, min(waiting, self.most - self.taken))


class _Place:
    """The slot of one attempt. If several of its parallel calls wait at the same time, it is released once."""

    def __init__(self, slots: Slots, run: RunPlaces) -> None:
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
WAITS: ContextVar[AttemptWaits | None] = ContextVar("leadhand_waits", default=None)
"""Records what the attempt of this task waits for."""
_BOUNDED: ContextVar[tuple[Bounded, ...]] = ContextVar("leadhand_bounded", default=())


class TimeIsUp(TimeoutError):
    """A :class:`Bounded` block ran out of time."""


class Bounded:
    """Limits a block to some seconds, not counting the time in which a part of it waits in :func:`without_slot`.

    Raises :class:`TimeIsUp`, to distinguish it from a TimeoutError raised by the block itself. This is a class, since
    every attempt holds one while it waits, and a generator would be five more objects for the garbage collector.
    """

    __slots__ = ("_left", "_limit", "_token", "_waiting")
    _token: Token[tuple[Bounded, ...]]

    def __init__(self, seconds: float) -> None:
        self._limit = asyncio.timeout(seconds)
        self._left: float | None = None
        self._waiting = 0

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        self._token = _BOUNDED.set((*_BOUNDED.get(), self))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _BOUNDED.reset(self._token)
        try:
            await self._limit.__aexit__(kind, error, traceback)
        except TimeoutError as late:
            raise TimeIsUp from late
        if isinstance(error, TimeoutError) and self._limit.expired():
            raise TimeIsUp from error

    def stop(self) -> None:
        """Stop the clock, until :meth:`go_on` was called as often."""
        self._waiting += 1
        if self._waiting == 1 and (when := self._limit.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._limit.reschedule(None)

    def go_on(self) -> None:
        self._waiting -= 1
        if not self._waiting and self._left is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._left)


ANNOUNCED_S = 1.0
"""Seconds after which a wait in a queue is recorded in the log."""
LONG_S = 5.0
"""Waits of a known length are recorded from so many seconds on."""


@contextmanager
def announced(reason: str, more: Callable[[], str], after_s: float = ANNOUNCED_S) -> Generator[None]:
    """Wait for ``reason`` in the block, and record it in the log if it lasts longer than ``after_s``.

    ``more`` says what else there is to know then.
    """
    waits = WAITS.get()
    if waits is None:
        yield
        return
    begun = False

    def begin() -> None:
        nonlocal begun
        begun = True
        waits.begin(reason, more())

    timer = asyncio.get_running_loop().call_later(after_s, begin) if after_s else begin()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        if begun:
            waits.end(reason)


@asynccontextmanager
async def without_slot(reason: str = "", seconds: float = 0.0) -> AsyncGenerator[None]:
    """Wait in the block, without the slot and outside the timeouts of the attempt and its call.

    A wait of ``seconds`` for a ``reason`` is recorded, unless it is short.
    """
    stopped, place = _BOUNDED.get(), _PLACE.get()
    for each in stopped:
        each.stop()
    try:
        is_long = seconds >= LONG_S
        with announced(reason, lambda: f"about {seconds:,.0f} s", 0.0) if is_long else nullcontext():
            async with place.given_back() if place is not None else NO_PLACE:
                yield
    finally:
        for each in stopped:
            each.go_on()
