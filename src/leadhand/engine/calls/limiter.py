"""The limiter of a process: places and rates that its calls share with each other and with other processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from itertools import islice

from leadhand.core.limits import SharedLimit
from leadhand.core.tool import ToolSpec
from leadhand.engine.calls.permits import WAITER, Notes, Queue, outside
from leadhand.engine.log import RunLog
from leadhand.ports import Clock, ContextStore, DatabaseStore

NO_PLACE: AbstractAsyncContextManager[None] = nullcontext()
"""Holds nothing, where there is no limit."""
SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.02, 0.15
"""The least and the most seconds between two looks at a queue in which others are ahead."""
REFRESH_S = 1.0
"""Seconds after which a waiting process writes its tickets again, in case that it was taken for dead."""
RETRY_S = 1.0
"""Seconds after which a process tries again to give its places back, if the store has failed."""
AHEAD_S = 0.05
"""A process reserves the next call of a rate, and those of so many seconds; what is reserved and not used is lost."""
LONGEST_WAIT_S = 86_400.0
"""Shown as the most that a wait lasts in a run without a timeout, in seconds."""


class Limiter:
    """Permits calls and attempts of a process to begin, once the limits and rates that they name allow it.

    A place goes to the highest priority that waits; among equals, to the process that has waited longest, and in it to
    the run that holds the fewest. A process queues for no more places than there are, so that a process with a
    thousand calls keeps no other one waiting for all of them. If the store keeps no queues, the limits bind in this
    process only. What has no limit costs nothing.
    """

    def __init__(self, store: ContextStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._queues: dict[str, Queue] = {}
        self._turns: dict[tuple[str, str], Queue] = {}
        self.waits = Counter[tuple[str, str]]()
        """How many calls and attempts of a run wait for the same reason."""

    def note_waits(self, log: RunLog, timeout_s: float | None) -> None:
        """Record long waits of this task in the log of its run."""
        WAITER.set(WAITER.get()._replace(notes=Notes(self.waits, log, timeout_s or LONGEST_WAIT_S)))

    def permit(
        self, limit: SharedLimit | None, run_id: str, most_of_run: int | None = None, priority: int = 0
    ) -> AbstractAsyncContextManager[None]:
        """Return what holds a place of a limit, as one of at most ``most_of_run`` of a run; None: without a limit."""
        if limit is None:
            return NO_PLACE
        queue = self._queues.get(limit.scope)
        if queue is None:
            name, store = f"a slot of {limit.scope}", self._store
            shared = _SharedQueue(limit, store, name) if isinstance(store, DatabaseStore) else None
            queue = self._queues[limit.scope] = shared or Queue(limit.most, name)
        if queue.most != limit.most:  # the latest one binds here
            queue.resize(limit.most)
        return queue.permit(run_id, most_of_run, priority)

    async def pass_rate(self, tool: ToolSpec, run_id: str, priority: int) -> None:
        """Wait for the next time at which a call of a tool with a rate may begin."""
        seconds, said = tool.interval_s, (f"the rate limit of the tool `{tool.name}`", lambda: tool.rate)
        turns = self._turns.get((tool.name, tool.rate))
        if turns is None:
            turns = self._turns[tool.name, tool.rate] = Queue(max(1, int(AHEAD_S / seconds)))
        async with AsyncExitStack() as waiting:  # the slot is taken again once the turn is passed on
            if turns.free < 1:
                await waiting.enter_async_context(outside(*said))
            async with turns.permit(run_id, priority=priority):
                wait_s = await self._store.pass_gate(f"rate of the tool {tool.name}", seconds)
                if wait_s > 0:
                    await waiting.enter_async_context(outside(*said))
                    await self._clock.sleep(wait_s)

    async def aclose(self) -> None:
        """Stop. The store removes the tickets of a process that has closed it."""
        for queue in self._queues.values():
            if isinstance(queue, _SharedQueue):
                await queue.aclose()


class _SharedQueue(Queue):
    """The places that this process holds of a limit, as tickets of a queue in the store, and who waits for one here."""

    def __init__(self, limit: SharedLimit, store: DatabaseStore, name: str) -> None:
        super().__init__(0, name)
        self._scope, self.most = limit.scope, limit.most
        self._store = store
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

    @property
    def in_use(self) -> int:
        return self._in_use

    def resize(self, most: int) -> None:
        self.most = most

    def returned(self) -> None:
        """Give a place back: to the end of the queue, if somebody else waits here."""
        self._done.append(self._held.pop())
        self.changed()

    def changed(self) -> None:
        self._changed.set()
        if self._turns is None or self._turns.done():
            self._turns = asyncio.get_running_loop().create_task(self._take_turns())

    async def _take_turns(self) -> None:
        """Write and look, until nobody waits here and nothing has to be given back."""
        pause, failed = SHORTEST_LOOK_S, False
        while failed or self._done or self._queued or self.waits:
            self._changed.clear()
            try:
                new = await self._turn()
            except Exception as error:  # the calls fail, as they would at the log
                self._wrote_at, failed = 0.0, True
                self.fail(error)
                # Tickets may be in the store that nobody waits for: no other process gets their places meanwhile.
                await asyncio.sleep(RETRY_S)
                continue
            failed = False
            pause = SHORTEST_LOOK_S if new else min(pause * 1.25, LONGEST_LOOK_S)
            if self.waits:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)

    async def _turn(self) -> int:
        """Give places back and queue for others, or only look; return how many places this process has got."""
        want, done, now = [*islice(self.wanted(), self.most)], tuple(self._done), asyncio.get_running_loop().time()
        if done or want != self._queued or now >= self._wrote_at + REFRESH_S:
            held = frozenset(self._held)
            found = await self._store.queue_up(self._scope, self.most, want=want, held=held, done=done)
            self._wrote_at, self._queued = now, want
            self._done = [ticket for ticket in self._done if ticket not in done]
        else:
            found = await self._store.places(self._scope, self.most)
        self._in_use = found.in_use
        new = found.held - self._held - {*done, *self._done}
        self._held |= new
        self._queued = self._queued[len(new) :]
        self.add(len(new))
        for _ in range(self.free):  # those that waited for these places were cancelled
            self.add(-1)
            self._done.append(self._held.pop())
        return len(new)

    async def aclose(self) -> None:
        if self._turns is not None:
            self._turns.cancel()
            await asyncio.gather(self._turns, return_exceptions=True)
