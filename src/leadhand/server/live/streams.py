"""Streams of Server-Sent Events, and requests that wait until a run rests: both are clients of the run's feed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from typing import NamedTuple

from leadhand.app.export.document import event_line
from leadhand.core.errors import StoreError, UnreadableRun
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports.runs import RunListing
from leadhand.server.live.drafts import Reading
from leadhand.server.live.feeds import PAGE, Feed, Feeds, as_json, shortened
from leadhand.stores.changes import Change, Place
from leadhand.stores.sql_store import SqlContextStore

BEAT_S = 15.0
"""Seconds between two heartbeats."""
LOOK_S = 0.1
"""Seconds between two looks at what changed in all runs."""
RETRY_MS = 2_000
"""How long a browser waits before it reconnects."""
HEADERS = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}


class Wanted(NamedTuple):
    """The events that a client asks for: of these types (empty: of all), about this subtask ("": about anything)."""

    types: Collection[str] = ()
    subtask: str = ""

    def takes(self, type_: str, subject: str) -> bool:
        """Whether an event of this type, about this step or attempt, is asked for."""
        ours = not self.subtask or subject == self.subtask or subject.startswith(f"{self.subtask}/")
        return ours and (not self.types or type_ in self.types)


EVERYTHING = Wanted()


async def messages(
    feed: Feed, after: int, welcome: Callable[[], Awaitable[bool]], wanted: Wanted = EVERYTHING
) -> AsyncGenerator[bytes]:
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
                yield b"".join(each.data for each in new if wanted.takes(*each.about))
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


async def of_all_runs(
    feeds: Feeds, store: SqlContextStore, place: Place | None, key_id: str | None, wanted: Wanted, *,
    brief: bool, welcome: Callable[[], Awaitable[bool]],
) -> AsyncGenerator[bytes]:  # fmt: skip
    """Yield the events of all runs, of one key if ``key_id`` is given, after a place, or from now on.

    Each message has its place as id, and so has the first one of a client that gave none, so that it can resume.
    """
    yield b"retry: %d\n" % RETRY_MS
    try:
        if place is None:
            place = await store.newest_place()
            yield f"event: ready\nid: {written(place)}\ndata: {{}}\n\n".encode()
        loop = asyncio.get_running_loop()
        beat = loop.time() + BEAT_S
        while not feeds.closed:
            before = place
            changes, place = await store.changes(before, limit=PAGE, key_id=key_id, wanted=wanted.takes)
            if changes:
                yield b"".join(_message(each, brief=brief) for each in changes)
            if loop.time() >= beat:
                if not await welcome():
                    return
                yield b": ping\n"
                beat = loop.time() + BEAT_S
            if place == before:
                await asyncio.sleep(LOOK_S)
    except StoreError:
        return  # the client reconnects, and gets the error then


def written(place: Place) -> str:
    """Return a place as the id of a message."""
    return f"{place.position}-{place.seq}"


def _message(change: Change, *, brief: bool) -> bytes:
    run, entry = {"run_id": change.run_id}, change.entry
    if isinstance(entry, UnreadableRun):
        kind, data = "event: unreadable\n", run | {"seq": change.place.seq, "error": entry.what, "how": entry.how}
    else:
        line = event_line(entry)
        kind, data = "", run | (shortened(line) if brief else line)
    return f"{kind}id: {written(change.place)}\ndata: {as_json(data)}\n\n".encode()


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
