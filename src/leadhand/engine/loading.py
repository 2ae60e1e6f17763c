"""Read a run: its state from the log, or from an earlier state and what was written since, and what is committed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from leadhand.core.events import Entry
from leadhand.core.evolve import fold, replay
from leadhand.core.state import RunState
from leadhand.ports import ContextStore


async def load(store: ContextStore, run_id: str, known: RunState | None = None) -> RunState:
    """Return the current state of a run: from the state that is ``known``, if it is one of this run.

    Raises NoSuchRun.
    """
    listing = await store.run(run_id)
    if known is not None and known.created_at == listing.created_at and known.seq <= listing.head_seq:
        return known if known.seq == listing.head_seq else await catch_up(store, known)
    return replay(run_id, await store.read(run_id))


async def catch_up(store: ContextStore, state: RunState) -> RunState:
    """Return the current state of a run, from an earlier state."""
    entries = await store.read(state.run_id, after=state.seq)
    return fold(state, entries) if entries else state


class Batches:
    """Reads a stream of committed entries with a timeout that does not break the stream.

    If ``broken`` is set, attempts can no longer be carried out in this process, and reading ends.
    """

    def __init__(self, committed: AsyncGenerator[list[Entry]], broken: asyncio.Future[None] | None = None) -> None:
        self._committed = committed
        self._broken = broken
        self._reading: asyncio.Task[list[Entry]] | None = None

    async def next(self, seconds: float | None) -> list[Entry]:
        """Return the next batch, or nothing after a timeout. Raises the error of the dispatcher, if any."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(anext(self._committed))
        waited = {self._reading} if self._broken is None else {self._reading, self._broken}
        await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._broken is not None and self._broken.done():
            self._broken.result()
        if not self._reading.done():
            return []
        reading, self._reading = self._reading, None
        return reading.result()

    async def aclose(self) -> None:
        """Close the stream."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._committed.aclose()
