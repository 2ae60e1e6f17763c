"""The limiter of a process: places and rates that its calls share with each other and with other processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager, nullcontext, suppress

from leadhand.core.limits import SharedLimit
from leadhand.core.tool import ToolSpec
from leadhand.engine.calls.permits import WAITER, Notes, Queue, rest
from leadhand.engine.log import RunLog
from leadhand.ports import Clock, ContextStore, PlaceStore

NO_PLACE: AbstractAsyncContextManager[None] = nullcontext()
"""Holds nothing, where there is no limit."""
SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.02, 0.15
"""The least and the most seconds until a process asks again for a place that it did not get."""
RETRY_S = 1.0
"""Seconds after which a process tries again to give its places back, if the store has failed."""
LONGEST_WAIT_S = 86_400.0
"""Shown as the most that a wait lasts in a run without a timeout, in seconds."""


class Limiter:
    """Permits calls and attempts of a process to begin, once the limits and rates that they name allow it.

    A place goes to the process that has waited longest, and in it to the run that holds the fewest. If the store is not
    a database, the limits bind in this process only. What has no limit costs nothing.
    """

    def __init__(self, store: ContextStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._queues: dict[str, Queue] = {}
        self._turns: dict[str, Queue] = {}
        self.waits = Counter[tuple[str, str]]()
        """How many calls and attempts of a run wait for the same reason."""

    def note_waits(self, log: RunLog, timeout_s: float | None) -> None:
        """Record long waits of this task in the log of its run."""
        WAITER.set(WAITER.get()._replace(notes=Notes(self.waits, log, timeout_s or LONGEST_WAIT_S)))

    def permit(
        self, limit: SharedLimit | None, run_id: str, most_of_run: int | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Return what holds a place of a limit, as one of at most ``most_of_run`` of a run; None: without a limit."""
        if limit is None:
            return NO_PLACE
        queue = self._queues.get(limit.scope)
        if queue is None:
            name, store = f"a slot of {limit.scope}", self._store
            shared = _SharedQueue(limit, store, name) if isinstance(store, PlaceStore) else None
            queue = self._queues[limit.scope] = shared or Queue(limit.most, name)
        if queue.most != limit.most:  # the latest one binds here
            queue.resize(limit.most)
        return queue.permit(run_id, most_of_run)

    async def pass_rate(self, tool: ToolSpec, run_id: str) -> None:
        """Wait for the next time at which a call of a tool with a rate may begin."""
        name, reason = f"rate of the tool {tool.name}", f"the rate limit of the tool `{tool.name}` ({tool.rate})"
        turn = self._turns.get(reason)
        if turn is None:
            turn = self._turns[reason] = Queue(1, reason, "other calls are first")
        async with turn.permit(run_id):  # one call at a time: what is reserved may not be used
            await rest(self._clock, await self._store.pass_gate(name, tool.interval_s), reason)

    async def aclose(self) -> None:
        """Stop. The places of a process that has closed the store are free."""
        for queue in self._queues.values():
            if isinstance(queue, _SharedQueue):
                await queue.aclose()


class _SharedQueue(Queue):
    """The places that this process has of a limit, and who waits for one here. A place that is left goes back to the
    store, so that other processes get their turns."""

    def __init__(self, limit: SharedLimit, store: PlaceStore, name: str) -> None:
        super().__init__(0, name)
        self.most = limit.most
        self._scope, self._store = limit.scope, store
        self._known: tuple[int, int] | None = (0, 0)
        """How many places this process has in the store, and how many it waits for there; None if that is unknown."""
        self._changed = asyncio.Event()
        self._turns: asyncio.Task[None] | None = None

    def resize(self, most: int) -> None:
        self.most = most

    def returned(self) -> None:
        self.changed()

    def changed(self) -> None:
        self._changed.set()
        if self._turns is None or self._turns.done():
            self._turns = asyncio.get_running_loop().create_task(self._take_turns())

    async def _take_turns(self) -> None:
        """Take places and give them back, until nobody waits here and the store knows what is used."""
        pause = SHORTEST_LOOK_S
        while self.waits or self._known != (self.in_use, 0):
            self._changed.clear()
            held, wanted = self.in_use, min(self.wanted, self.most)
            try:
                new = await self._store.share(self._scope, self.most, held=held, wanted=wanted)
            except Exception as error:  # the calls fail, as they would at the log
                self._known = None  # places may have been given to this process: other processes get them back
                self.fail(error)
                await asyncio.sleep(RETRY_S)
                continue
            self._known, new = (new, held + wanted - new), new - held
            self.add(new)
            self.free = 0  # those that waited for these places were cancelled
            pause = SHORTEST_LOOK_S if new else min(pause * 1.25, LONGEST_LOOK_S)
            if self.waits:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)

    async def aclose(self) -> None:
        if self._turns is not None:
            self._turns.cancel()
            await asyncio.gather(self._turns, return_exceptions=True)
