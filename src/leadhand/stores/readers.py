"""A small pool of threads that read, each on its own connection, so that the event loop never blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from leadhand.domain.errors import StoreError

from .connection import Connection, Database
from .threads import Service, Wakeups, closed_error, copy_error

Answer = TypeVar("Answer")
Query = Callable[[Connection], Any]


class Readers:
    """Runs queries on the database, up to ``most`` at a time. Threads start when they are first needed."""

    def __init__(self, database: Database, most: int = 2) -> None:
        self._database = database
        self._most = most
        self._queue: SimpleQueue[tuple[Query, asyncio.Future[Any]] | None] = SimpleQueue()
        self._threads: list[Service] = []
        self._lock = threading.Lock()
        self._pending = 0
        self._closed: StoreError | None = None

    async def ask(self, query: Callable[[Connection], Answer]) -> Answer:
        """Return what ``query(connection)`` returns, or raise its error."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed is not None:
                raise copy_error(self._closed)
            self._queue.put((query, future))
            self._pending += 1
            if len(self._threads) < min(self._pending, self._most):
                self._threads.append(Service(f"store-reader-{len(self._threads) + 1}", self._work))
                self._threads[-1].start()
        return await future

    async def aclose(self) -> None:
        """Finish the pending queries, close the connections and end the threads."""
        with self._lock:
            if self._closed is None:
                self._closed = closed_error()
                for _ in self._threads:
                    self._queue.put(None)
        for thread in self._threads:
            await thread.ended()

    def abandon(self, error: StoreError) -> None:
        """Refuse every query from now on with ``error``: this is a forked child, where the threads do not exist."""
        self._lock = threading.Lock()
        self._closed = error
        self._threads = []

    def _work(self) -> None:
        connection: Connection | None = None
        while (item := self._queue.get()) is not None:
            query, future = item
            wakeups = Wakeups()
            try:
                if connection is None:
                    connection = self._database.connect(writes=False)
                try:
                    answer = query(connection)
                except StoreError:
                    if not connection.broken:
                        raise
                    connection.close()
                    connection = None  # so that the next query connects again even if this one fails
                    connection = self._database.connect(writes=False)
                    answer = query(connection)
                wakeups.succeed(future, answer)
            except Exception as error:
                wakeups.fail(future, error)
            with self._lock:
                self._pending -= 1
            wakeups.send()
        if connection is not None:
            connection.close()
