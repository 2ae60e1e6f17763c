"""Noticing what other processes commit: one thread that looks at the head of each run somebody follows.

It looks every 50 ms, and only while somebody follows something. On SQLite a look costs one pragma until another
connection has committed.
"""

# ruff: noqa: S608 - only words of our own are put into SQL; data are parameters

from __future__ import annotations

import threading
from collections.abc import Callable

from leadhand.domain.errors import StoreError

from .connection import Connection, Database, among
from .threads import Service, Wakeups

INTERVAL_S = 0.05
RETRY_S = 1.0
"""Between two looks when the database cannot be reached."""


class Poller:
    """Calls ``changed(run_id, wakeups)`` when the head of a watched run is beyond what was seen of it."""

    def __init__(self, database: Database, changed: Callable[[str, Wakeups], None]) -> None:
        self._database = database
        self._changed = changed
        self._seen: dict[str, int] = {}
        self._condition = threading.Condition()
        self._closed = False
        self._thread: Service | None = None

    def watch(self, run_id: str) -> None:
        """Watch a run until :meth:`unwatch`; to watch one twice is to watch it once."""
        with self._condition:
            self._seen.setdefault(run_id, 0)
            if self._thread is None and not self._closed:
                self._thread = Service("store-poller", self._work)
                self._thread.start()
            self._condition.notify()

    def unwatch(self, run_id: str) -> None:
        with self._condition:
            self._seen.pop(run_id, None)

    def seen(self, run_id: str, seq: int) -> None:
        """Take note that followers know of ``seq`` already."""
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

    def abandon(self) -> None:
        """Forget the thread: this is a forked child, where it does not exist."""
        self._condition = threading.Condition()
        self._closed = True
        self._thread = None

    # --- on the thread ---

    def _work(self) -> None:
        connection: Connection | None = None
        commits: int | None = None
        pause = INTERVAL_S
        try:
            while self._rest(pause):
                try:
                    connection = connection or self._database.connect(writes=False)
                    latest = connection.commits()
                    if latest is None or latest != commits:
                        self._look(connection)
                    commits, pause = latest, INTERVAL_S
                except StoreError:
                    # Whoever writes or reads meets the same error and can act on it; here it only means: later.
                    if connection is not None:
                        connection.close()
                    connection, pause = None, RETRY_S
        finally:
            if connection is not None:
                connection.close()

    def _rest(self, pause: float) -> bool:
        """Wait for the time of the next look, for ever if nobody follows anything; False once it is over."""
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
        for values, parameters in among([(run_id,) for run_id in watched]):
            heads.update(
                (run_id, head)
                for run_id, head in connection.execute(
                    f"SELECT run_id, head_seq FROM runs WHERE run_id IN ({values})", parameters
                )
            )
        wakeups = Wakeups()
        for run_id, seen in watched.items():
            head = heads.get(run_id)
            if head is None:  # gone: whoever follows it finds out by reading
                self._changed(run_id, wakeups)
            elif head > seen:
                self.seen(run_id, head)
                self._changed(run_id, wakeups)
        wakeups.send()
