"""Record what people answer to runs, each answer checked against the state of its run right before it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from weakref import WeakValueDictionary

from leadhand.core.events import AnyEvent
from leadhand.core.evolve import fold, foreseen
from leadhand.core.state import RunState
from leadhand.engine.log import RunLog
from leadhand.ports import Clock
from leadhand.ports.heads import head_of


class Requests:
    """Appends answers of people to runs, one after the other, with the head of the run after them."""

    def __init__(
        self,
        load: Callable[[str], Awaitable[RunState]],
        log: Callable[[str], RunLog],
        remember: Callable[[RunState], None],
        clock: Clock,
    ) -> None:
        """``load`` returns the state of a run, ``remember`` keeps it."""
        self._load, self._log, self._remember, self._clock = load, log, remember, clock
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def record(
        self,
        run_id: str,
        event: AnyEvent,
        check: Callable[[RunState], object],
        blobs: Mapping[str, bytes] | None = None,
    ) -> None:
        """Append an answer. ``check`` raises UsageError if a state does not allow it; then the answer does not count.

        Raises that error, and StoreError.
        """
        turn = self._turns.setdefault(run_id, asyncio.Lock())
        async with turn:
            await asyncio.shield(self._append(run_id, event, check, blobs))

    async def _append(
        self, run_id: str, event: AnyEvent, check: Callable[[RunState], object], blobs: Mapping[str, bytes] | None
    ) -> None:
        state, log = await self._load(run_id), self._log(run_id)
        check(state)
        head = head_of(foreseen(state, [event], self._clock.now()))
        (entry,) = await log.append(event, blobs=blobs, head=head)
        before = state
        if missed := entry.seq - state.seq - 1:
            before = fold(state, await log.entries(state.seq, missed))
        state = fold(before, [entry])
        if missed:  # the head was not the right one, and did not count
            await log.append(head=head_of(state))
        self._remember(state)
        if missed:
            check(before)  # another answer may have been first, and counts
