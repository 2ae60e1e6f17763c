"""Permits: slots of attempts, places of calls, and waits for them outside of slots and timeouts."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple

from leadhand.core.events import NoteEmitted
from leadhand.engine.log import RunLog
from leadhand.ports import Clock

ANNOUNCED_S = 1.0
"""Seconds after which a wait of unknown length is recorded in the log."""
LONG_S = 5.0
"""Waits of a known length are recorded from so many seconds on."""


class Notes(NamedTuple):
    """Record what a run waits for: once for all of its attempts, which ``waiting`` counts by run and reason."""

    waiting: Counter[tuple[str, str]]
    log: RunLog
    longest_s: float
    """The most seconds that a wait lasts."""

    def begin(self, reason: str, text: str) -> None:
        self.waiting[self.log.run_id, reason] += 1
        if self.waiting[self.log.run_id, reason] == 1:
            message = f"waiting for {reason}: {text}"
            self.log.append(NoteEmitted(attempt="", message=message, waits_for=reason, waits_s=self.longest_s))

    def end(self, reason: str) -> None:
        self.waiting[self.log.run_id, reason] -= 1
        if not self.waiting[self.log.run_id, reason]:
            del self.waiting[self.log.run_id, reason]
            self.log.append(NoteEmitted(attempt="", message=f"no longer waiting for {reason}", waits_for=reason))


class Waiter(NamedTuple):
    """The attempt of this task: the slot that it holds, the clocks that run, and where its waits are recorded."""

    slot: Slot | None = None
    clocks: tuple[Bounded, ...] = ()
    notes: Notes | None = None


_NOBODY = Waiter()
WAITER: ContextVar[Waiter] = ContextVar("leadhand_waiter", default=_NOBODY)


class TimeIsUp(TimeoutError):
    """A :class:`Bounded` block ran out of time."""


class Bounded:
    """Limits a block to some seconds, not counting the time in which a part of it waits :func:`outside`.

    Raises :class:`TimeIsUp`, to distinguish it from a TimeoutError raised by the block itself. This is a class, since
    every attempt holds one while it waits, and a generator would be five more objects for the garbage collector.
    """

    __slots__ = ("_left", "_limit", "_token", "_waiting")
    _token: Token[Waiter]

    def __init__(self, seconds: float) -> None:
        self._limit = asyncio.timeout(seconds)
        self._left: float | None = None
        self._waiting = 0

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        waiter = WAITER.get()
        self._token = WAITER.set(waiter._replace(clocks=(*waiter.clocks, self)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        WAITER.reset(self._token)
        self._waiting += 1  # an abandoned task that waits later does not find a clock that can be stopped
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


@asynccontextmanager
async def outside(
    reason: str = "", text: Callable[[], str] = str, seconds: float | None = None
) -> AsyncGenerator[None]:
    """Wait in the block, without the slot and outside the timeouts of the attempt and its call.

    A wait for a ``reason`` is recorded, unless it is short: with its length if that is known, else with the ``text``.
    """
    slot, clocks, notes = WAITER.get()
    noted, timer = False, None

    def note() -> None:
        nonlocal noted
        if notes is not None:
            noted = True
            notes.begin(reason, text() if seconds is None else f"about {seconds:,.0f} s")

    for clock in clocks:
        clock.stop()
    try:
        if reason and seconds is None:
            timer = asyncio.get_running_loop().call_later(ANNOUNCED_S, note)
        elif reason and seconds is not None and seconds >= LONG_S:
            note()
        if slot is not None:
            slot.give_back()
        try:
            yield
        finally:
            if slot is not None:
                await slot.take_back()
    finally:
        for clock in clocks:
            clock.go_on()
        if timer is not None:
            timer.cancel()
        if noted and notes is not None:
            notes.end(reason)


async def rest(clock: Clock, seconds: float, reason: str = "") -> None:
    """Sleep :func:`outside` for some seconds, if there are any."""
    if seconds > 0:
        async with outside(reason, seconds=seconds):
            await clock.sleep(seconds)


@dataclass(slots=True, eq=False)
class _Run:
    """The places that one run holds, and its permits that wait for one."""

    served: int
    """The number of the latest place that it got, counted over all runs."""
    most: int | None = None
    held: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque[asyncio.Future[None]])

    @property
    def usable(self) -> int:
        """How many more places it could use now."""
        return min(len(self.waiting), len(self.waiting) if self.most is None else self.most - self.held)


class Queue:
    """So many places, and those who wait for one.

    A free place goes to the waiting run that holds the fewest, and of these to the one whose last turn was longest ago,
    so that a large run does not keep a small one waiting.
    """

    def __init__(self, most: int, name: str = "", text: str = "") -> None:
        """``name`` says what a place is, in the record of a long wait, and ``text`` why a permit waits for it."""
        self.most = self.free = most
        self.in_use = 0
        self.name, self._text = name, text
        self._served = 0
        self._runs: dict[str, _Run] = {}

    def permit(self, run_id: str = "", most: int | None = None) -> Permit:
        """Return what holds a place, as one of at most ``most`` of this run."""
        return Permit(self, run_id, most)

    def slot(self, run_id: str = "", most: int | None = None) -> Slot:
        """Return what holds a place, but not while the attempt in its block waits for something else."""
        return Slot(self, run_id, most)

    @property
    def waits(self) -> bool:
        """Whether anyone waits for a place and could use one."""
        return self.wanted > 0

    @property
    def wanted(self) -> int:
        """How many wait for a place and could use one."""
        return sum(max(run.usable, 0) for run in self._runs.values())

    def text(self) -> str:
        """Return why a permit has to wait."""
        return self._text or f"all {self.most:,} are in use"

    def resize(self, most: int) -> None:
        """Change how many places there are; those in use stay."""
        more, self.most = most - self.most, most
        self.add(more)

    def add(self, count: int) -> None:
        """Add places that nobody holds, or take some of these away."""
        self.free += count
        while self.free > 0 and (usable := [run for run in self._runs.values() if run.usable > 0]):
            first = min(usable, key=lambda run: (run.held, run.served))
            turn = first.waiting.popleft()
            if not turn.done():
                self._give(first)
                turn.set_result(None)

    def enter(self, permit: Permit) -> asyncio.Future[None] | None:
        """Give a permit its place, or return what is done once it has one."""
        run = self._runs.get(permit.run_id)
        if run is None:
            run = self._runs[permit.run_id] = _Run(self._served - 1)
        run.most = permit.most
        if self.free > 0 and not run.waiting and (run.most is None or run.held < run.most):
            self._give(run)
            return None
        turn = asyncio.get_running_loop().create_future()
        run.waiting.append(turn)
        self.changed()
        return turn

    def withdraw(self, permit: Permit, turn: asyncio.Future[None]) -> None:
        """Let a permit wait no longer; a place that it has just got goes to another one."""
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.leave(permit)
            return
        if (run := self._runs.get(permit.run_id)) is not None:
            with suppress(ValueError):
                run.waiting.remove(turn)
            self._forget(permit.run_id, run)
        self.changed()

    def leave(self, permit: Permit) -> None:
        """Take the place of a permit."""
        run = self._runs[permit.run_id]
        run.held -= 1
        self.in_use -= 1
        self._forget(permit.run_id, run)
        self.returned()

    def returned(self) -> None:
        """Pass a place on that a permit has left."""
        self.add(1)

    def changed(self) -> None:
        """Take note that others wait than before."""

    def fail(self, error: Exception) -> None:
        """Let everyone who waits for a place fail with an error."""
        for turn in [turn for run in self._runs.values() for turn in run.waiting if not turn.done()]:
            turn.set_exception(error)

    def _give(self, run: _Run) -> None:
        run.held += 1
        self.in_use += 1
        self._served += 1
        run.served = self._served
        self.free -= 1

    def _forget(self, run_id: str, run: _Run) -> None:
        if not run.held and not run.waiting:
            del self._runs[run_id]


class Permit:
    """Holds a place in its block. A call waits for it without the slot of its attempt, while all clocks stand still."""

    __slots__ = ("_queue", "is_held", "most", "run_id")

    def __init__(self, queue: Queue, run_id: str, most: int | None) -> None:
        self._queue = queue
        self.run_id, self.most = run_id, most
        self.is_held = False

    async def __aenter__(self) -> None:
        await self._take()

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    async def _take(self) -> None:
        turn = self._queue.enter(self)
        if turn is not None:
            try:
                await self._wait(turn)
            except BaseException:
                self._queue.withdraw(self, turn)
                raise
        self.is_held = True

    async def _wait(self, turn: asyncio.Future[None]) -> None:
        async with outside(self._queue.name, self._queue.text):
            await turn

    def _leave(self) -> None:
        if self.is_held:
            self.is_held = False
            self._queue.leave(self)


class Slot(Permit):
    """The place of an attempt. If several of its parallel calls wait at the same time, it is given back once."""

    __slots__ = ("_outside", "_taking", "_token")
    _token: Token[Waiter]

    def __init__(self, queue: Queue, run_id: str, most: int | None) -> None:
        super().__init__(queue, run_id, most)
        self._outside = 0
        self._taking = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._take()
        self._token = WAITER.set(WAITER.get()._replace(slot=self))

    async def __aexit__(self, *_: object) -> None:
        WAITER.reset(self._token)
        self.give_back()  # and nothing takes it back: not even an abandoned task that waits later

    def give_back(self) -> None:
        """Give the place back until :meth:`take_back` was called as often."""
        self._outside += 1
        self._leave()

    async def take_back(self) -> None:
        self._outside -= 1
        async with self._taking:  # several calls may go on while the place is waited for
            if not self._outside and not self.is_held:
                await self._take()
                if self._outside:  # another call began to wait meanwhile
                    self._leave()

    async def _wait(self, turn: asyncio.Future[None]) -> None:
        await turn
