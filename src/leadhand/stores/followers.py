"""Follow a log: entries of this process are passed on directly, entries of others are read as soon as they are noticed.

A follower only needs its position: if new entries do not continue it, the missing ones are read from the database. So
each follower gets every entry once and in order, whichever process commits and however slowly the follower reads.

One thread notices what other processes commit: it checks the head of each run that is followed every 50 ms, and only
while a run is followed. On SQLite a check costs one pragma until another connection has committed.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

from leadhand.core.errors import StoreError
from leadhand.core.events import Entry

from .connection import Connection, Database, among
from .threads import Service, Wakeups, copy_error

PAGE = 500
"""The most entries in one batch while a follower catches up."""

MOST_HELD = 2_000
"""The most entries held in memory for a slow follower; after more it reads them from the database."""

POLL_S = 0.05
POLL_AGAIN_S = 1.0
"""Seconds between two checks while the database cannot be reached."""

Read = Callable[[str, int, int], Awaitable[list[Entry]]]


class Poller:
    """Calls ``changed(run_id, wakeups)`` when a watched run has entries that were not seen."""

    def __init__(self, database: Database, changed: Callable[[str, Wakeups], None]) -> None:
        self._database = database
        self._changed = changed
        self._seen: dict[str, int] = {}
        self._condition = threading.Condition()
        self._closed = False
        self._thread: Service | None = None

    def watch(self, run_id: str) -> None:
        """Watch a run until :meth:`unwatch`; watching a run twice has no further effect."""
        with self._condition:
            self._seen.setdefault(run_id, 0)
            if self._thread is None and not self._closed:
                self._thread = Service("store-poller", self._work)
            self._condition.notify()

    def unwatch(self, run_id: str) -> None:
        with self._condition:
            self._seen.pop(run_id, None)

    def seen(self, run_id: str, seq: int) -> None:
        """Record that followers have the entries up to ``seq``."""
        with self._condition:
            if seq > self._seen.get(run_id, seq):
                self._seen[run_id] = seq

    async def aclose(self) -> None:
        """End the thread."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        if self._thread is not None:
            await self._thread.ended()

    # --- on the thread ---

    def _work(self) -> None:
        connection: Connection | None = None
        commits: int | None = None
        pause = POLL_S
        try:
            while self._rest(pause):
                try:
                    connection = connection or self._database.connect(writes=False)
                    latest = connection.commits()
                    if latest is None or latest != commits:
                        self._look(connection)
                    commits, pause = latest, POLL_S
                except StoreError:
                    # Writers and readers get the same error and can handle it; here, a retry is enough.
                    if connection is not None:
                        connection.close()
                    connection, pause = None, POLL_AGAIN_S
        finally:
            if connection is not None:
                connection.close()

    def _rest(self, pause: float) -> bool:
        """Wait until the next check, while no run is followed without end; return False once the poller is closed."""
        with self._condition:
            while not self._seen and not self._closed:
                self._condition.wait()
            if not self._closed:
                self._condition.wait(pause)
            return not self._closed

    def _look(self, connection: Connection) -> None:
        with self._condition:
            watched = dict(self._seen)
        heads: dict[str, int] = {}
        for condition, parameters in among("run_id", [(run_id,) for run_id in watched]):
            heads.update(connection.execute(f"SELECT run_id, head_seq FROM runs WHERE {condition}", parameters))
        wakeups = Wakeups()
        for run_id, seen in watched.items():
            head = heads.get(run_id)
            if head is None:  # the run is gone: its followers get the error by reading
                self._changed(run_id, wakeups)
            elif head > seen:
                self.seen(run_id, head)
                self._changed(run_id, wakeups)
        wakeups.send()


class Followers:
    """The followers of runs through one store."""

    def __init__(self, read: Read, poller: Poller, closed: StoreError | None) -> None:
        self._read = read
        self._poller = poller
        self._lock = threading.Lock()
        # Tuples, which are replaced and never changed, since the writer reads them without the lock.
        self._of_run: dict[str, tuple[_Follower, ...]] = {}
        self._closed = closed

    async def follow(self, run_id: str, after: int) -> AsyncGenerator[list[Entry], None]:
        """Entries above ``after`` as they are committed. Raises NoSuchRun, and StoreError once the store is closed."""
        follower = _Follower()
        position = after
        self._add(run_id, follower)
        try:
            while True:
                news, behind = follower.take()
                following_on = [entry for entry in news if entry.seq > position]
                if following_on:
                    if following_on[0].seq == position + 1 and following_on[-1].seq == position + len(following_on):
                        position = following_on[-1].seq
                        yield following_on
                    else:
                        behind = True
                if behind:
                    page = await self._read(run_id, position, PAGE)
                    if len(page) == PAGE:
                        follower.poke()
                    if page:
                        position = page[-1].seq
                        yield page
                await follower.woken()
        finally:
            self._remove(run_id, follower)

    def publish(self, committed: Mapping[str, list[Entry]], wakeups: Wakeups) -> None:
        """Pass on what this process has committed. Called on the writer's thread."""
        for run_id, entries in committed.items():
            followers = self._of_run.get(run_id)
            if followers:
                self._poller.seen(run_id, entries[-1].seq)
                for follower in followers:
                    wakeups.call(follower.loop, follower.give, entries)

    def poke(self, run_id: str, wakeups: Wakeups) -> None:
        """Make the followers of a run read the database. Called on the poller's thread."""
        for follower in self._of_run.get(run_id, ()):
            wakeups.call(follower.loop, follower.poke)

    def close(self, error: StoreError) -> None:
        """End every follower with ``error``."""
        wakeups = Wakeups()
        with self._lock:
            self._closed = error
            for followers in self._of_run.values():
                for follower in followers:
                    wakeups.call(follower.loop, follower.end, error)
        wakeups.send()

    def _add(self, run_id: str, follower: _Follower) -> None:
        with self._lock:
            if self._closed is not None:
                raise copy_error(self._closed)
            self._of_run[run_id] = (*self._of_run.get(run_id, ()), follower)
        self._poller.watch(run_id)

    def _remove(self, run_id: str, follower: _Follower) -> None:
        with self._lock:
            left = tuple(other for other in self._of_run.get(run_id, ()) if other is not follower)
            if left:
                self._of_run[run_id] = left
            else:
                self._of_run.pop(run_id, None)
                self._poller.unwatch(run_id)


class _Follower:
    """The inbox of one follower; every method runs on its event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._held: list[Entry] = []
        self._behind = True  # entries from before it followed are in the database
        self._bell = asyncio.Event()
        self._error: StoreError | None = None

    def give(self, entries: list[Entry]) -> None:
        self._held += entries
        if len(self._held) > MOST_HELD:
            self._held = []
            self._behind = True
        self._bell.set()

    def poke(self) -> None:
        self._behind = True
        self._bell.set()

    def end(self, error: StoreError) -> None:
        self._error = error
        self._bell.set()

    def take(self) -> tuple[list[Entry], bool]:
        """Return the entries passed on since, and whether there may be more in the database."""
        held, behind = self._held, self._behind
        self._held, self._behind = [], False
        self._bell.clear()
        return held, behind

    async def woken(self) -> None:
        """Wait for news. Raises StoreError once the store is closed."""
        await self._bell.wait()
        if self._error is not None:
            raise copy_error(self._error)
