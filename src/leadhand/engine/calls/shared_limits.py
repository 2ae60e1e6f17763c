"""Limits that all processes of a store share, places and rates: calls wait for them outside slots and timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)

from leadhand.core.limits import SharedLimit
from leadhand.core.tool import ToolSpec
from leadhand.engine.calls.slots import NO_PLACE, RunPlaces, Slots, announced, without_slot
from leadhand.ports import Clock, ContextStore, DatabaseStore

GRACE_S = 0.05
"""Seconds that an attempt waits for a place before it gives its slot back."""
SHORTEST_LOOK_S = 0.02
LONGEST_LOOK_S = 0.15
"""The least and the most seconds between two looks at a queue in which others are ahead."""
REFRESH_S = 1.0
"""Seconds after which a waiting process writes its tickets again, in case that it was taken for dead."""

RETRY_S = 1.0
"""Seconds after which a process tries again to give its places back, if the store has failed."""

AHEAD_S = 0.05
"""A process reserves the next call of a rate, and those of so many seconds; what is reserved and not used is lost."""


class SharedLimits:
    """The limits that bind in this process, by what they limit.

    A place goes to the highest priority that waits; among equals, to the process that has waited longest, and in it to
    the run that holds the fewest. A process queues for no more places than there are, so that a process with a
    thousand calls keeps no other one waiting for all of them. If the store keeps no queues, the limits bind in this
    process only. What has no limit costs nothing.
    """

    def __init__(self, store: ContextStore) -> None:
        self._store = store if isinstance(store, DatabaseStore) else None
        self._queues: dict[str, _Queue] = {}

    def held(
        self, limit: SharedLimit | None, run_id: str, most_of_run: int | None = None, priority: int = 0
    ) -> AbstractAsyncContextManager[None]:
        """Return what holds a place of a limit, as one of at most ``most_of_run`` of a run; None: without a limit."""
        return NO_PLACE if limit is None else self._held(limit, run_id, most_of_run, priority)

    @asynccontextmanager
    async def _held(
        self, limit: SharedLimit, run_id: str, most_of_run: int | None, priority: int
    ) -> AsyncGenerator[None]:
        queue = self._queues.get(limit.scope)
        if queue is None:
            queue = self._queues[limit.scope] = _Queue(limit, self._store)
        with queue.of_run(run_id, limit.most, most_of_run, priority) as run:
            await queue.take(run)
            try:
                yield
            finally:
                queue.leave(run)

    async def aclose(self) -> None:
        """Stop. The store removes the tickets of a process that has closed it."""
        for queue in self._queues.values():
            await queue.aclose()


class _Queue:
    """The places that this process holds of one limit, and those who wait for one here."""

    def __init__(self, limit: SharedLimit, store: DatabaseStore | None) -> None:
        self._scope = limit.scope
        self._most = limit.most
        self._store = store
        self.slots = Slots(limit.most if store is None else 0)
        self._held: set[int] = set()
        """The tickets of places that are used here."""
        self._done: list[int] = []
        """The tickets of places that are to be given back."""
        self._queued: list[int] = []
        """The priorities of the tickets of this process that wait, the highest first."""
        self._wrote_at = 0.0
        self._in_use = 0
        self._changed = asyncio.Event()
        self._turns: asyncio.Task[None] | None = None

    def of_run(
        self, run_id: str, most: int, most_of_run: int | None, priority: int
    ) -> AbstractContextManager[RunPlaces]:
        """Use the places of a run. ``most`` is the limit as that run has it: the latest one binds here."""
        if self._store is None:
            self.slots.add(most - self._most)
        self._most = most
        return self.slots.run(run_id, most_of_run, priority)

    async def take(self, run: RunPlaces) -> None:
        """Wait for a place."""
        turn = asyncio.ensure_future(self.slots.acquire(run))
        try:
            await asyncio.sleep(0)  # it queues
            self._look_soon()
            await asyncio.wait({turn}, timeout=GRACE_S)
            if not turn.done():
                with announced(f"a slot of {self._scope}", self._use):
                    async with without_slot():
                        await turn
            await turn
        except BaseException:
            turn.cancel()
            turn.add_done_callback(lambda done: self._unused(run, done))
            raise

    def _unused(self, run: RunPlaces, turn: asyncio.Future[None]) -> None:
        """Give back the place of a call that was cancelled when it had just got it."""
        if not turn.cancelled() and turn.exception() is None:
            self.slots.release(run)
        self._look_soon()

    def leave(self, run: RunPlaces) -> None:
        """Give a place back: to the end of the queue, if somebody else waits here."""
        if self._store is None:
            self.slots.release(run)
            return
        run.taken -= 1
        self._done.append(self._held.pop())
        self._look_soon()

    def _use(self) -> str:
        used = self._in_use if self._store is not None else self._most - self.slots.free
        return f"{used:,} of {self._most:,} in use"

    # --- turns at the queue in the store ------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        if self._store is None:
            return
        self._changed.set()
        if self._turns is None or self._turns.done():
            self._turns = asyncio.get_running_loop().create_task(self._take_turns(self._store))

    async def _take_turns(self, store: DatabaseStore) -> None:
        """Write and look, until nobody waits here and nothing has to be given back."""
        pause, failed = SHORTEST_LOOK_S, False
        while True:
            self._changed.clear()
            for _ in range(self.slots.free):  # a place whose call was cancelled
                self.slots.add(-1)
                self._done.append(self._held.pop())
            if not self._done and not self.slots.waiting and not self._queued and not failed:
                return
            try:
                new = await self._turn(store)
            except Exception as error:  # the calls fail, as they would at the log
                self._wrote_at, failed = 0.0, True
                self.slots.fail(error)
                # Tickets may be in the store that nobody waits for: no other process gets their places meanwhile.
                await asyncio.sleep(RETRY_S)
                continue
            failed = False
            pause = SHORTEST_LOOK_S if new else min(pause * 1.25, LONGEST_LOOK_S)
            if self.slots.waiting:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)

    async def _turn(self, store: DatabaseStore) -> int:
        """Give places back and queue for others, or only look; return how many places this process has got."""
        want, done, now = self.slots.wanted(self._most), tuple(self._done), asyncio.get_running_loop().time()
        held = frozenset(self._held)
        if done or want != self._queued or now >= self._wrote_at + REFRESH_S:
            found = await store.queue_up(self._scope, self._most, want=want, held=held, done=done)
            self._wrote_at, self._queued = now, want
            self._done = [ticket for ticket in self._done if ticket not in done]
        else:
            found = await store.places(self._scope, self._most)
        self._in_use = found.in_use
        new = found.held - self._held - {*done, *self._done}
        self._held |= new
        self._queued = self._queued[len(new) :]
        self.slots.add(len(new))
        return len(new)

    async def aclose(self) -> None:
        if self._turns is not None:
            self._turns.cancel()
            await asyncio.gather(self._turns, return_exceptions=True)


class ToolLimits:
    """Lets calls of tools begin when their limits allow it, outside of slots and timeouts. There is one per process."""

    def __init__(self, limits: SharedLimits, store: ContextStore, clock: Clock) -> None:
        self._limits = limits
        self._store = store
        self._clock = clock
        self._turns: dict[tuple[str, str], asyncio.Semaphore] = {}

    @asynccontextmanager
    async def turn(self, tool: ToolSpec, run_id: str, priority: int = 0) -> AsyncGenerator[None]:
        """Wait until a call may be made, and make it in the block."""
        async with self._limits.held(tool.at_once, run_id, priority=priority):
            if tool.rate:
                await self._pass(tool)
            yield

    async def _pass(self, tool: ToolSpec) -> None:
        """Wait for the next time at which a call of the tool may begin."""
        seconds = tool.interval_s
        turns = self._turns.setdefault((tool.name, tool.rate), asyncio.Semaphore(max(1, int(AHEAD_S / seconds))))
        with announced(f"the rate limit of the tool `{tool.name}`", lambda: tool.rate):
            async with AsyncExitStack() as waiting:  # the slot is taken again once the turn is passed on
                if turns.locked():
                    await waiting.enter_async_context(without_slot())
                async with turns:
                    wait_s = await self._store.pass_gate(f"rate of the tool {tool.name}", seconds)
                    if wait_s > 0:
                        await waiting.enter_async_context(without_slot())
                        await self._clock.sleep(wait_s)
