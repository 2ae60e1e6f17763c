"""Live events: the log is the queue, and each client has a cursor in it.

One follower per run reads new entries and formats each once. Clients that keep up receive these lines; those that have
fallen behind share pages of the log. Nothing is queued per client, so a slow client uses no memory and loses no events.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

from leadhand.app.document import event_line
from leadhand.core.errors import UnreadableRun
from leadhand.core.events import Entry, RunFinished, RunStatusSet
from leadhand.core.run import ENDED
from leadhand.ports import ContextStore
from leadhand.server.live.drafts import Draft, Drafts
from leadhand.server.live.pages import Chunk, Pages, chunks
from leadhand.server.live.views import LiveView, LiveViews, lines_after

KEPT = 1_000
"""The number of newest lines that are kept for a run with clients."""
PAGE = 200
"""The number of events of a page for clients that are behind. Pages end at multiples of it, to be shared."""
BRIEF = 300
"""Maximum characters of a text in a brief event."""


class Line:
    """One event in the form that is sent: whole, or brief with long texts cut."""

    __slots__ = ("_entry", "_written", "seq")

    def __init__(self, entry: Entry) -> None:
        self.seq = entry.seq
        self._entry = entry
        self._written: dict[bool, bytes] = {}

    def of(self, brief: bool) -> bytes:
        """The event in the form of Server-Sent Events: https://html.spec.whatwg.org/multipage/server-sent-events.html"""
        if brief not in self._written:
            document = event_line(self._entry)
            data = as_json(shortened(document) if brief else document)
            self._written[brief] = f"id: {self.seq}\ndata: {data}\n\n".encode()
        return self._written[brief]


def as_json(document: Any) -> str:
    """JSON on one line."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def shortened(value: Any) -> Any:
    """A document with every long text cut."""
    if isinstance(value, str):
        return value if len(value) <= BRIEF else f"{value[: BRIEF - 1]}…"
    if isinstance(value, dict):
        return {key: shortened(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [shortened(inner) for inner in cast("list[Any]", value)]
    return value


class Client(Protocol):
    """A client of a run's feed. ``poke`` says that there may be more to send, and returns immediately."""

    def poke(self) -> None: ...

    def leave(self) -> None:
        """End the stream, since the service shuts down."""
        ...


class RemoteText(Protocol):
    """The live text of attempts in other processes. Text of runs that are watched reaches the drafts."""

    def watch(self, run_id: str) -> None: ...

    def unwatch(self, run_id: str) -> Collection[str]:
        """Watch a run no longer, and return the attempts whose text came from other processes."""
        ...


class Feed:
    """The feed of one run for all its clients."""

    def __init__(self, run_id: str, feeds: Feeds) -> None:
        self.run_id = run_id
        self.pages = feeds.pages
        self.head = 0
        self.end: str | None = None
        """The final status of the run, once it has ended."""
        self.turns = 0
        """How often the run has changed its status since the feed was opened."""
        self.clients: dict[Client, None] = {}
        self._log: tuple[str, datetime | None] = (run_id, None)
        self._store = feeds.store
        self._drafts = feeds.drafts
        self._remote = feeds.remote
        self._watched = False
        self._views = feeds.views
        self._view: LiveView | None = None
        self._lines: deque[Line] = deque(maxlen=KEPT)
        self._opening = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self.error: BaseException | None = None

    async def open(self) -> None:
        """Begin to follow the run, from its latest event, unless it is followed already. Raises NoSuchRun."""
        async with self._opening:
            if self._reading is not None:
                return
            listing = await self._store.run(self.run_id)
            self.head = listing.head_seq
            self._log = (self.run_id, listing.created_at)  # a run that was deleted may be started again under its id
            self.end = listing.status.value if listing.status in ENDED else None
            self._reading = asyncio.get_running_loop().create_task(self._read(), name=f"feed of {self.run_id}")
            if self.end is None:
                self._watched = True
                if self._remote is not None:
                    self._remote.watch(self.run_id)

    async def _read(self) -> None:
        try:
            async with contextlib.aclosing(self._store.follow(self.run_id, self.head)) as batches:
                async for batch in batches:
                    self._take(batch)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the store cannot be read: clients are disconnected, and reconnect
            self.error = error
            for client in list(self.clients):
                client.leave()

    def _take(self, batch: list[Entry]) -> None:
        for entry in batch:
            self._lines.append(Line(entry))
            self.turns += isinstance(entry.event, RunFinished | RunStatusSet)
            if isinstance(entry.event, RunFinished):
                self.end = entry.event.status.value
            elif isinstance(entry.event, RunStatusSet) and entry.event.by:
                self.end = None
        self._drafts.note(self.run_id, batch)
        if self._view is not None:
            self._view.take(batch)
        self.head = batch[-1].seq
        self.poke()

    def poke(self) -> None:
        """Notify every client of new entries."""
        for client in list(self.clients):
            client.poke()

    async def after(self, seq: int, *, brief: bool) -> Sequence[Chunk]:
        """Events above ``seq``, in order, from memory or else from the log; empty if there are no more."""
        if seq >= self.head:
            return ()
        if kept := lines_after(self._lines, seq):
            return chunks((line.seq, line.of(brief)) for line in kept)
        limit = min(PAGE - seq % PAGE, self.head - seq)

        async def read() -> list[Chunk]:
            return chunks((line.seq, line.of(brief)) for line in map(Line, await self._read_from(seq, limit)))

        return await self.pages.of((self._log, seq, limit, brief), read)

    async def _read_from(self, seq: int, limit: int) -> list[Entry]:
        """Read entries above ``seq``; of a damaged run, those before the damage. Raises UnreadableRun for none."""
        try:
            return await self._store.read(self.run_id, after=seq, limit=limit)
        except UnreadableRun as error:
            if error.seq <= seq + 1:
                raise
            return await self._store.read(self.run_id, after=seq, limit=error.seq - 1 - seq)

    async def view_after(self, seq: int) -> Sequence[Chunk]:
        """Return changes to the run's view above ``seq``, or a snapshot; empty if there are no more."""
        if self._view is None:
            self._view = self._views.of(self.run_id)
        if seq >= self.head:
            return ()
        await self._view.reach(self.head)
        return chunks((line.seq, line.of(False)) for line in self._view.after(seq))

    def drafts(self) -> dict[str, Draft]:
        """Return the current drafts."""
        return dict(self._drafts.of(self.run_id))

    async def aclose(self) -> None:
        """Stop following the run."""
        if self._watched:
            self._watched = False
            remote = self._remote.unwatch(self.run_id) if self._remote is not None else ()
            self._drafts.forget(self.run_id, remote)
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)


class Feeds:
    """The feeds of all runs that have clients."""

    def __init__(self, store: ContextStore, drafts: Drafts, remote: RemoteText | None = None) -> None:
        self.views = LiveViews(store)
        self.pages = Pages()
        self.store = store
        self.drafts = drafts
        self.remote = remote
        self._feeds: dict[str, Feed] = {}
        self.closed = False

    @property
    def clients(self) -> int:
        """How many streams are open."""
        return sum(len(feed.clients) for feed in self._feeds.values())

    async def join(self, run_id: str, client: Client) -> Feed:
        """Watch a run. Raises NoSuchRun."""
        feed = self._feeds.get(run_id)
        if feed is None or feed.error is not None:
            feed = self._feeds[run_id] = Feed(run_id, self)
        feed.clients[client] = None
        try:
            await feed.open()
        except BaseException:
            await self.part(feed, client)
            raise
        return feed

    async def part(self, feed: Feed, client: Client) -> None:
        """Stop watching a run."""
        feed.clients.pop(client, None)
        if feed.clients:
            return
        if self._feeds.get(feed.run_id) is feed:
            del self._feeds[feed.run_id]
        await feed.aclose()

    def forget(self, run_id: str) -> None:
        """End the streams of a run that was deleted."""
        self.views.forget(run_id)
        if (feed := self._feeds.pop(run_id, None)) is not None:
            for client in list(feed.clients):
                client.leave()

    def changed(self, run_id: str) -> None:
        """Notify the clients of a run that its drafts have changed."""
        feed = self._feeds.get(run_id)
        if feed is not None:
            feed.poke()

    def close(self) -> None:
        """Disconnect all clients, since the service shuts down."""
        self.closed = True
        for feed in list(self._feeds.values()):
            for client in list(feed.clients):
                client.leave()
