"""Streams of Server-Sent Events, and requests that wait until a run rests: both are clients of the run's feed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from leadhand.core.errors import StoreError, UnreadableRun
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.runs import RunListing
from leadhand.server.live.drafts import Reading
from leadhand.server.live.feeds import Feed, Feeds, as_json

BEAT_S = 15.0
"""Seconds between two heartbeats."""
RETRY_MS = 2_000
"""How long a browser waits before it reconnects."""
HEADERS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}


async def messages(feed: Feed, after: int, welcome: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bytes]:
    """Yield everything above ``after`` and the live text, until the run has ended. ``welcome`` returns at every
    heartbeat whether the client may still watch.

    Neither ``retry`` nor a heartbeat is a block of its own, which some clients take for an event.
    """
    reading = Reading()
    yield b"retry: %d\n" % RETRY_MS
    try:
        while not feed.closed:
            changed = feed.changed
            while (new := await feed.after(after)) and not feed.closed:
                yield b"".join(each.data for each in new)
                after = new[-1].seq
            if pieces := reading.news(feed.drafts()):
                yield "".join(f"event: delta\ndata: {as_json(each._asdict())}\n\n" for each in pieces).encode()
            if feed.end is not None and after >= feed.head:
                yield _end({"status": feed.end, "last_seq": feed.head})
                return
            try:
                async with asyncio.timeout(BEAT_S):
                    await changed.wait()
            except TimeoutError:
                if not await welcome():
                    return
                yield b": ping\n"
    except UnreadableRun as error:  # reconnecting would not help
        yield _end({"status": feed.end, "last_seq": after, "error": error.what, "how": error.how})
    except StoreError:
        return  # the client reconnects, and gets the error then


def _end(document: dict[str, object]) -> bytes:
    return f"event: end\ndata: {as_json(document)}\n\n".encode()


def rests(listing: RunListing) -> bool:
    """Whether a run has ended, is paused, or waits for people. A run whose approvals are answered is about to go on."""
    waits = listing.status is RunStatus.WAITING and listing.asking > 0
    return waits or listing.status in ENDED or listing.status is RunStatus.PAUSED


async def until_rest(feeds: Feeds, run_id: str, seconds: float) -> None:
    """Return when a run rests or is deleted, when the server ends, or after ``seconds``. Raises NoSuchRun."""
    if rests(await feeds.store.run(run_id)):
        return
    async with feeds.following(run_id, Feed) as feed:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not feed.closed:
                    turns = feed.turns
                    if rests(await feeds.store.run(run_id)):
                        return
                    while feed.turns == turns and not feed.closed:
                        await feed.changed.wait()
