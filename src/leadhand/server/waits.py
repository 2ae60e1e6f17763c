"""Requests that wait until a run rests. Those of one run share a follower of its log, which reads new entries only."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

from leadhand.core.events import RunFinished, RunStatusSet
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing


def rests(listing: RunListing) -> bool:
    """Whether a run has ended, is paused, or waits for people. A run whose approvals are answered is about to go on."""
    waits = listing.status is RunStatus.WAITING and listing.asking > 0
    return waits or listing.status in ENDED or listing.status is RunStatus.PAUSED


class Waits:
    """The requests of a server that wait for runs."""

    def __init__(self, store: ContextStore) -> None:
        self._store = store
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._waiting = Counter[str]()
        self._closed = False

    async def until_rest(self, run_id: str, seconds: float) -> None:
        """Return when a run rests, or after ``seconds``. Raises NoSuchRun."""
        listing = await self._store.run(run_id)
        if rests(listing) or self._closed:
            return
        follower = self._followers.get(run_id)
        if follower is None:
            follower = asyncio.get_running_loop().create_task(self._follow(run_id, listing.head_seq))
            follower.add_done_callback(_seen)
            self._followers[run_id] = follower
        self._waiting[run_id] += 1
        try:
            await asyncio.wait((follower,), timeout=seconds)
        finally:
            self._waiting[run_id] -= 1
            if not self._waiting[run_id]:
                del self._waiting[run_id]
                follower.cancel()
            if self._followers.get(run_id) is follower and (follower.done() or run_id not in self._waiting):
                del self._followers[run_id]

    def end(self, run_id: str) -> None:
        """Let the requests that wait for a run return, since it was deleted."""
        if run_id in self._followers:
            self._followers[run_id].cancel()

    def close(self) -> None:
        """Let every waiting request return."""
        self._closed = True
        for run_id in self._followers:
            self.end(run_id)

    async def _follow(self, run_id: str, after: int) -> None:
        async with contextlib.aclosing(self._store.follow(run_id, after)) as batches:
            async for batch in batches:
                changed = any(isinstance(entry.event, RunFinished | RunStatusSet) for entry in batch)
                if changed and rests(await self._store.run(run_id)):
                    return


def _seen(follower: asyncio.Task[None]) -> None:
    """Take note of an error of a follower: the requests read the run themselves, and report it."""
    if not follower.cancelled():
        follower.exception()
