"""A small pool of threads that read, each on a connection of its own; never the event loop."""

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
Question = Callable[[Connection], Any]


class Readers:
    """Asks questions of the database: up to ``most`` at a time. Threads begin when they are first needed."""

    def __init__(self, database: Database, most: int = 2) -> None:
        self._database = database
        self._most = most
        self._queue: SimpleQueue[tuple[Question, asyncio.Future[Any]] | None] = SimpleQueue()
        self._threads: list[Service] = []
        self._lock = threading.Lock()
        self._asked = 0  # and not answered yet
        self._closed: StoreError | None = None

    async def ask(self, question: Callable[[Connection], Answer]) -> Answer:
        """The answer of ``question(connection)``, or the error it raised."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed is not None:
                raise copy_error(self._closed)
            self._queue.put((question, future))
            self._asked += 1
            if len(self._threads) < min(self._asked, self._most):
                self._threads.append(Service(f"store-reader-{len(self._threads) + 1}", self._work))
                self._threads[-1].start()
        return await future

    async def aclose(self) -> None:
        """Answer what is asked, close the connections and end the threads."""
        with self._lock:
            if self._closed is None:
                self._closed = closed_error()
                for _ in self._threads:
                    self._queue.put(None)
        for thread in self._threads:
            await thread.ended()

    def abandon(self, error: StoreError) -> None:
        """Refuse everything from now on with ``error``: this is a forked child, where the threads do not exist."""
        self._lock = threading.Lock()
        self._closed = error
        self._threads = []

    def _work(self) -> None:
        connection: Connection | None = None
        while (item := self._queue.get()) is not None:
            question, future = item
            wakeups = Wakeups()
            try:
                if connection is None:
                    connection = self._database.connect(writes=False)
                try:
                    answer = question(connection)
                except StoreError:
                    if not connection.broken:
                        raise
                    connection.close()
                    connection = None  # so that the next question, if this one fails again, begins anew
                    connection = self._database.connect(writes=False)
                    answer = question(connection)
                wakeups.succeed(future, answer)
            except Exception as error:
                wakeups.fail(future, error)
            with self._lock:
                self._asked -= 1
            wakeups.send()
        if connection is not None:
            connection.close()
