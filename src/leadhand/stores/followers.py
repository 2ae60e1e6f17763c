"""Follow a log: entries of this process are passed on directly, entries of others are read as soon as they are noticed.

A follower only needs its position: if new entries do not continue it, the missing ones are read from the database. So
each follower gets every entry once and in order, whichever process commits and however slowly the follower reads.

What other processes commit is noticed by a task that looks at the heads of the followed runs every 50 ms.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from leadhand.core.errors import StoreError
from leadhand.core.events import Entry

from .connection import Connection, Table
from .threads import Readers, Wakeups, copy_error

PAGE = 500
"""The most entries in one batch while a follower catches up."""

MOST_HELD = 20_000
"""The most entries held in memory for a slow follower; after more it reads them from the database."""

POLL_S = 0.05
POLL_AGAIN_S = 1.0
"""Seconds between two looks at the heads, and after one that failed."""

HEADS = Table("runs", "run_id, head_seq")

Read = Callable[[str, int, int], Awaitable[list[Entry]]]


class Followers:
    """The followers of runs through one store; ``read`` reads the entries of a run, ``readers`` look at heads."""

    def __init__(self, read: Read, readers: Readers, closed: StoreError | None) -> None:
        self._read = read
        self._readers = readers
        self._lock = threading.Lock()
        # Tuples, which are replaced and never changed, since the writer reads them without the lock.
        self._of_run: dict[str, tuple[_Follower, ...]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._closed = closed

    async def follow(self, run_id: str, after: int) -> AsyncGenerator[list[Entry], None]:
        """Entries above ``after`` as they are committed. Raises NoSuchRun, and StoreError once the store is closed."""
        follower = _Follower(after)
        self._add(run_id, follower)
        try:
            while self._closed is None:
                news, behind = follower.take()
                news = [entry for entry in news if entry.seq > follower.position]
                gap = news and (news[0].seq, news[-1].seq) != (follower.position + 1, follower.position + len(news))
                if gap or behind:
                    news = await self._read(run_id, follower.position, PAGE)
                    if len(news) == PAGE:
                        follower.poke()
                if news:
                    follower.position = news[-1].seq
                    yield news
                await follower.bell.wait()
            raise copy_error(self._closed)
        finally:
            self._remove(run_id, follower)

    def publish(self, committed: Mapping[str, list[Entry]], wakeups: Wakeups) -> None:
        """Pass on what this process has committed. Called on the writer's thread."""
        for run_id, entries in committed.items():
            for follower in self._of_run.get(run_id, ()):
                wakeups.call(follower.loop, follower.give, entries)

    def close(self, error: StoreError) -> None:
        """End every follower with ``error``."""
        wakeups = Wakeups()
        with self._lock:
            self._closed = error
            if self._polling is not None:
                wakeups.call(self._polling.get_loop(), self._polling.cancel)
            for followers in self._of_run.values():
                for follower in followers:
                    wakeups.call(follower.loop, follower.bell.set)
        wakeups.send()

    def _add(self, run_id: str, follower: _Follower) -> None:
        with self._lock:
            if self._closed is not None:
                raise copy_error(self._closed)
            self._of_run[run_id] = (*self._of_run.get(run_id, ()), follower)
            polling = self._polling
            if polling is None or polling.done() or polling.get_loop() is not follower.loop:
                self._polling = follower.loop.create_task(self._poll())

    def _remove(self, run_id: str, follower: _Follower) -> None:
        with self._lock:
            left = tuple(other for other in self._of_run.get(run_id, ()) if other is not follower)
            if left:
                self._of_run[run_id] = left
            else:
                self._of_run.pop(run_id, None)

    async def _poll(self) -> None:
        """Make followers read whose runs have more than they were given, while any run is followed."""
        pause = POLL_S
        while self._of_run:
            await asyncio.sleep(pause)
            try:
                found = await self._readers.ask(self._heads)
            except StoreError:
                # Writers and readers get the same error and can handle it; here, a retry is enough.
                pause = POLL_AGAIN_S
                continue
            pause = POLL_S
            wakeups = Wakeups()
            for run_id, followers in list(self._of_run.items()):
                for follower in followers:  # a run that is gone makes them read, too, which raises the error
                    wakeups.call(follower.loop, follower.look_at, found.get(run_id))
            wakeups.send()

    def _heads(self, connection: Connection) -> dict[str, int]:
        return dict(HEADS.find(connection, "run_id", [(run_id,) for run_id in list(self._of_run)]))


class _Follower:
    """The inbox of one follower, which has the entries up to ``position``; every method runs on its event loop."""

    def __init__(self, position: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.position = position
        self.bell = asyncio.Event()
        self._given = position
        self._held: list[Entry] = []
        self._behind = True  # entries from before it followed are in the database

    def give(self, entries: list[Entry]) -> None:
        self._held += entries
        self._given = entries[-1].seq
        if len(self._held) > MOST_HELD:
            self._held = []
            self._behind = True
        self.bell.set()

    def look_at(self, head: int | None) -> None:
        """Read the database if the run has more entries than it was given or has read, or is gone."""
        if head is None or head > max(self._given, self.position):
            self._given = head or self._given
            self.poke()

    def poke(self) -> None:
        self._behind = True
        self.bell.set()

    def take(self) -> tuple[list[Entry], bool]:
        """Return the entries passed on since, and whether there may be more in the database."""
        held, behind = self._held, self._behind
        self._held, self._behind = [], False
        self.bell.clear()
        return held, behind
