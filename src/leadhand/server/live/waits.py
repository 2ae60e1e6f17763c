"""Requests that wait until a run rests, as clients of the run's feed."""

from __future__ import annotations

import asyncio
import contextlib

from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.runs import RunListing
from leadhand.server.live.feeds import Feed, Feeds


def rests(listing: RunListing) -> bool:
    """Whether a run has ended, is paused, or waits for people. A run whose approvals are answered is about to go on."""
    waits = listing.status is RunStatus.WAITING and listing.asking > 0
    return waits or listing.status in ENDED or listing.status is RunStatus.PAUSED


async def until_rest(feeds: Feeds, run_id: str, seconds: float) -> None:
    """Return when a run rests or is deleted, when the server ends, or after ``seconds``. Raises NoSuchRun."""
    if feeds.closed or rests(await feeds.store.run(run_id)):
        return
    waiting = _Waiting()
    feed = await feeds.join(run_id, waiting)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await waiting.until_rest(feeds, feed)
    finally:
        await feeds.part(feed, waiting)


class _Waiting:
    """A client of a feed that only looks whether its run rests."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._leaving = False

    def poke(self) -> None:
        self._woken.set()

    def leave(self) -> None:
        self._leaving = True
        self._woken.set()

    async def until_rest(self, feeds: Feeds, feed: Feed) -> None:
        seen = -1
        while not self._leaving:
            self._woken.clear()
            if seen != feed.turns:
                seen = feed.turns
                if rests(await feeds.store.run(feed.run_id)):
                    return
            await self._woken.wait()
