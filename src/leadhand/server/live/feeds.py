"""Live events: the log is the queue, and each client has only a number in it.

One follower per run reads new entries and formats each once for all its clients. A client that has fallen behind reads
the log. Nothing is queued for a client, so a slow one uses no memory and loses no events.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from pydantic_core import to_json

from leadhand.app.export.document import event_line
from leadhand.core.errors import UnreadableRun
from leadhand.core.events import Entry, RunFinished, RunStatusSet
from leadhand.core.run import ENDED
from leadhand.core.view import Change, Projection
from leadhand.ports import ContextStore
from leadhand.server.live.drafts import Draft, Drafts

KEPT = 1_000
"""The number of newest messages that are kept for a run with clients."""
PAGE = 200
"""The number of entries that are read, or messages that are sent, at once."""
PAGES = 16
"""The number of pages that are kept for clients that are behind."""
BRIEF = 300
"""Maximum characters of a text in a brief event."""


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


class Message:
    """One message of a stream in the form of Server-Sent Events, written when the first client needs it:
    https://html.spec.whatwg.org/multipage/server-sent-events.html"""

    __slots__ = ("_data", "_of", "about", "seq")

    def __init__(self, seq: int, of: Entry | Change | bytes) -> None:
        """``of`` is an entry of the log, a change of a view, or a whole view as JSON."""
        self.seq = seq
        self.about = (of.event.type, of.event.subject) if isinstance(of, Entry) else ("", "")
        self._of: Entry | Change | bytes | None = of
        self._data = b""

    @property
    def data(self) -> bytes:
        """The bytes to send."""
        if self._of is not None:
            match self._of:
                case bytes(view):
                    written = b"event: snapshot\ndata: " + view
                case Change() as change:
                    written = b"data: " + to_json(change)
                case entry:
                    written = b"data: " + as_json(event_line(entry)).encode()
            self._data, self._of = b"id: %d\n%s\n\n" % (self.seq, written), None
        return self._data


class RemoteText(Protocol):
    """The live text of attempts in other processes. Text of runs that are watched reaches the drafts."""

    def watch(self, run_id: str) -> None: ...

    def unwatch(self, run_id: str) -> Collection[str]:
        """Watch a run no longer, and return the attempts whose text came from other processes."""
        ...


class Feed:
    """The events of one run for all its clients. ``head`` is the last event, ``end`` the status of an ended run,
    ``turns`` counts the changes of its status; ``closed``: the clients must leave; ``watched``: live text of other
    processes is asked for."""

    def __init__(self, run_id: str, store: ContextStore, drafts: Drafts) -> None:
        self.run_id = run_id
        self.clients = 0
        self.head = 0
        self.end: str | None = None
        self.turns = 0
        self.closed = self.watched = False
        self.changed = asyncio.Event()
        """Set when there is something new, and then replaced by another one."""
        self._store = store
        self._drafts = drafts
        self._messages: deque[Message] = deque(maxlen=KEPT)
        self._pages: dict[tuple[int, int], asyncio.Future[list[Message]]] = {}
        self._opening = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to follow the run from its latest event, unless it is followed already. Raises NoSuchRun."""
        async with self._opening:
            if self._reading is None:
                listing = await self._store.run(self.run_id)
                self.head = listing.head_seq
                self.end = listing.status.value if listing.status in ENDED else None
                self._reading = asyncio.get_running_loop().create_task(self._read(), name=f"feed of {self.run_id}")

    async def _read(self) -> None:
        try:
            async with contextlib.aclosing(self._store.follow(self.run_id, self.head)) as batches:
                async for batch in batches:
                    self._messages.extend(self._written(batch))
                    self._drafts.note(self.run_id, batch)
                    for event in (entry.event for entry in batch):
                        self.turns += isinstance(event, RunFinished | RunStatusSet)
                        if isinstance(event, RunFinished):
                            self.end = event.status.value
                        elif isinstance(event, RunStatusSet) and event.by:
                            self.end = None
                    self.head = batch[-1].seq
                    self.poke()
        finally:  # the store cannot be read, or the run was deleted: clients reconnect, and get an error then
            self.close()

    def _written(self, batch: Sequence[Entry]) -> list[Message]:
        return [Message(entry.seq, entry) for entry in batch]

    def poke(self) -> None:
        """Wake every client."""
        self.changed.set()
        self.changed = asyncio.Event()

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        self.poke()

    def kept(self, seq: int) -> list[Message]:
        """Return at most a page of the messages above ``seq``; none if the first of them is no longer kept."""
        if not self._messages or self._messages[0].seq > seq + 1:
            return []
        first = seq + 1 - self._messages[0].seq
        return [self._messages[index] for index in range(first, min(first + PAGE, len(self._messages)))]

    async def after(self, seq: int) -> list[Message]:
        """Return the next messages above ``seq``, from memory or else from the log; none if there are no more. Raises
        UnreadableRun."""
        if seq >= self.head:
            return []
        if kept := self.kept(seq):
            return kept
        first = seq - seq % PAGE  # pages begin at the same events for all clients that replay the log together
        key = first, min(PAGE, self.head - first)
        if key not in self._pages:
            self._pages[key] = asyncio.ensure_future(self._read_from(*key))
            if len(self._pages) > PAGES:
                del self._pages[next(iter(self._pages))]
        try:
            page = await asyncio.shield(self._pages[key])  # a client that leaves does not stop it for the others
        except Exception:  # the next one reads it again
            self._pages.pop(key, None)
            raise
        return [message for message in page if message.seq > seq] or await self._read_from(seq, 1)

    async def _read_from(self, seq: int, limit: int) -> list[Message]:
        """Read messages above ``seq``; of a damaged run, those before the damage. Raises UnreadableRun for none."""
        try:
            return self._written(await self._store.read(self.run_id, after=seq, limit=limit))
        except UnreadableRun as error:
            if error.seq <= seq + 1:
                raise
            return self._written(await self._store.read(self.run_id, after=seq, limit=error.seq - 1 - seq))

    def drafts(self) -> Mapping[str, Draft]:
        """Return the text that is being written, by attempt."""
        return self._drafts.of(self.run_id)

    async def aclose(self) -> None:
        """Stop following the run."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)


class ViewFeed(Feed):
    """The view of one run, folded once for all its clients: a snapshot, and then what each entry changed."""

    def __init__(self, run_id: str, store: ContextStore, drafts: Drafts) -> None:
        super().__init__(run_id, store, drafts)
        self._projection = Projection(run_id)
        self._folding = asyncio.Lock()
        self._snapshot = (0, b"")

    def _written(self, batch: Sequence[Entry]) -> list[Message]:
        if batch[0].seq > self._projection.seq + 1:
            return []  # it is not folded up to here yet
        return [Message(change.seq, change) for change in self._projection.take_all(batch)]

    async def after(self, seq: int) -> list[Message]:
        """Return the changes above ``seq``, or a snapshot if they are no longer kept; none if there are no more."""
        if seq >= self.head:
            return []
        await self._fold()
        if seq and (kept := self.kept(seq)):
            return kept
        return [Message(self._projection.seq, self._document())]

    async def snapshot(self) -> bytes:
        """Return the whole view as JSON."""
        await self._fold()
        return self._document()

    async def _fold(self) -> None:
        async with self._folding:
            try:
                while (behind := self._projection.seq) < self.head:
                    self._messages.extend(await self._read_from(behind, PAGE))
            except Exception:  # an entry may be folded only in part, so the view must not be used anymore
                self.close()
                raise

    def _document(self) -> bytes:
        if self._snapshot[0] != self._projection.seq:
            self._snapshot = (self._projection.seq, to_json(self._projection.document))
        return self._snapshot[1]


_FeedT = TypeVar("_FeedT", bound=Feed)


class Feeds:
    """The feeds of all runs that have clients."""

    def __init__(self, store: ContextStore, drafts: Drafts, remote: RemoteText | None = None) -> None:
        self.store = store
        self.closed = False
        self._drafts = drafts
        self._remote = remote
        self._feeds: dict[tuple[type[Feed], str], Feed] = {}

    @property
    def clients(self) -> int:
        """How many streams are open, and requests wait."""
        return sum(feed.clients for feed in self._feeds.values())

    @contextlib.asynccontextmanager
    async def following(self, run_id: str, kind: type[_FeedT]) -> AsyncGenerator[_FeedT]:
        """Follow a run inside the block. Raises NoSuchRun."""
        feed = self._feeds.get((kind, run_id))
        if not isinstance(feed, kind) or feed.closed:
            feed = self._feeds[kind, run_id] = kind(run_id, self.store, self._drafts)
        feed.clients += 1
        try:
            await feed.open()
            if self._remote is not None and feed.end is None and not feed.watched:
                feed.watched = True
                self._remote.watch(run_id)
            if self.closed:
                feed.close()
            yield feed
        finally:
            feed.clients -= 1
            if not feed.clients:
                if self._feeds.get((kind, run_id)) is feed:
                    del self._feeds[kind, run_id]
                elsewhere = self._remote.unwatch(run_id) if self._remote is not None and feed.watched else ()
                if not self._of(run_id):
                    self._drafts.forget(run_id, elsewhere)
                await feed.aclose()

    def changed(self, run_id: str) -> None:
        """Wake the clients of a run, since its drafts have changed."""
        for feed in self._of(run_id):
            feed.poke()

    def forget(self, run_id: str) -> None:
        """End the streams of a run that was deleted."""
        for feed in self._of(run_id):
            feed.close()

    def close(self) -> None:
        """End all streams, since the service shuts down."""
        self.closed = True
        for feed in self._feeds.values():
            feed.close()

    def _of(self, run_id: str) -> list[Feed]:
        return [feed for (_, each), feed in self._feeds.items() if each == run_id]
