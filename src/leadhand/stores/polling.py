"""Notice what other processes commit: one thread checks the head of each run that is followed.

It checks every 50 ms, and only while a run is followed. On SQLite a check costs one pragma until another connection has
committed.
"""

# ruff: noqa: S608 - SQL is built from constants only; data are parameters

from __future__ import annotations

import threading
from collections.abc import Callable

from leadhand.domain.errors import StoreError

from .connection import Connection, Database, among
from .threads import Service, Wakeups

INTERVAL_S = 0.05
RETRY_S = 1.0
"""Seconds between two checks while the database cannot be reached."""


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
                self._thread.start()
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

    def abandon(self) -> None:
        """Drop the thread: this is a forked child, where it does not exist."""
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
                    # Writers and readers get the same error and can act on it; here it only means a retry.
                    if connection is not None:
                        connection.close()
                    connection, pause = None, RETRY_S
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
