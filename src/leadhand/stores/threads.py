"""The store's threads: results are returned to event loops with few wake-ups, and readers run in a pool.

The database drivers are synchronous, as an asynchronous driver would add a thread or a queue of its own.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from leadhand.core.errors import StoreError

from .connection import Connection, Database, Unavailable

Answer = TypeVar("Answer")

LOGGER = logging.getLogger("leadhand")

RETRY_S = 0.1
ANNOUNCED_S = 1.0
CLOSING_S = 2.0
"""Seconds between two tries at an unavailable database, until a warning, and for the last tries of a closed store."""

READERS = 2
"""Threads that read, at most."""


class Wakeups:
    """Calls to make on event loops: each loop is woken once, however many calls it gets."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.AbstractEventLoop, list[tuple[Callable[..., object], tuple[Any, ...]]]] = {}

    def call(self, loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
        """Call ``function(*args)`` on ``loop`` after :meth:`send`."""
        self._calls.setdefault(loop, []).append((function, args))

    def succeed(self, future: asyncio.Future[Any], result: object) -> None:
        """Set the result of a future, unless it is done already."""
        self.call(future.get_loop(), _succeed, future, result)

    def fail(self, future: asyncio.Future[Any], error: BaseException) -> None:
        """Set the error of a future, unless it is done already."""
        self.call(future.get_loop(), _fail, future, error)

    def send(self) -> None:
        """Wake the loops; calls for a loop that is closed are dropped."""
        calls, self._calls = self._calls, {}
        for loop, loop_calls in calls.items():
            try:
                loop.call_soon_threadsafe(_make, loop_calls)
            except RuntimeError:
                if not loop.is_closed():
                    raise


def _make(calls: list[tuple[Callable[..., object], tuple[Any, ...]]]) -> None:
    for function, args in calls:
        function(*args)


def _succeed(future: asyncio.Future[Any], result: object) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        # A caller that appends without waiting for the commit relies on its next append, which gets the same error.
        future.exception()  # keeps asyncio from warning that nobody awaited this one


class Service(threading.Thread):
    """A thread that starts ``work`` immediately, and whose end can be awaited.

    It is a daemon thread: a program that does not close its store still ends, and loses nothing that was acknowledged.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        super().__init__(name=f"leadhand-{name}", daemon=True)
        self._work = work
        self._ending = threading.Lock()
        self._over = False
        self._waiting: list[asyncio.Future[None]] = []
        self.start()

    def run(self) -> None:
        try:
            self._work()
        finally:
            wakeups = Wakeups()
            with self._ending:
                self._over = True
                for future in self._waiting:
                    wakeups.succeed(future, None)
            wakeups.send()

    async def ended(self) -> None:
        """Wait until the thread has ended."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._ending:
            if self._over:
                future.set_result(None)
            else:
                self._waiting.append(future)
        await future
        self.join()  # the work is done, so this returns at once


def failed(error: BaseException) -> asyncio.Future[Any]:
    """Return a future that has failed, for a call that fails before it is queued."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    _fail(future, error)
    return future


def closed_error() -> StoreError:
    """Return the error of every call on a closed store."""
    return StoreError("the store is closed", "open it again with open_store()")


def copy_error(error: StoreError) -> StoreError:
    """Return a copy of an error: callers that share one would add to each other's tracebacks."""
    copy = type(error)(error.what, error.how)
    copy.__cause__ = error.__cause__
    return copy


class Patience:
    """Waits while a database is unavailable, for ``seconds`` at most, or briefly once the store is closed."""

    def __init__(self, seconds: float, closed: Callable[[], bool]) -> None:
        self._began = time.monotonic()
        self._until = self._began + seconds
        self._closed = closed
        self._announced = False

    def wait(self, error: Unavailable) -> None:
        """Wait a moment before another try. Raises ``error`` once the time is over; names it in the log before that."""
        now = time.monotonic()
        if self._closed():
            self._until = min(self._until, self._began + CLOSING_S)
        if now >= self._until:
            raise error
        if not self._announced and now - self._began >= ANNOUNCED_S:
            self._announced = True
            LOGGER.warning("%s; trying again for up to %.0f s: %s", error.what, self._until - now, error.how)
        time.sleep(min(RETRY_S, self._until - now))


class Readers:
    """Runs queries on the database, up to two at a time. Threads start when they are first needed."""

    def __init__(self, database: Database, closed: StoreError | None, patience_s: float) -> None:
        self._database = database
        self._patience_s = patience_s
        self._queue: SimpleQueue[tuple[Callable[[Connection], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._threads: list[Service] = []
        self._lock = threading.Lock()
        self._pending = 0
        self._closed = closed

    async def ask(self, query: Callable[[Connection], Answer]) -> Answer:
        """Return what ``query(connection)`` returns, or raise its error."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        with self._lock:
            if self._closed is not None:
                raise copy_error(self._closed)
            self._queue.put((query, future))
            self._pending += 1
            if len(self._threads) < min(self._pending, READERS):
                self._threads.append(Service(f"store-reader-{len(self._threads) + 1}", self._work))
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

    def _work(self) -> None:
        connection: Connection | None = None
        while (item := self._queue.get()) is not None:
            query, future = item
            wakeups = Wakeups()
            patience = Patience(self._patience_s, lambda: self._closed is not None)
            answered = False
            while not answered:
                try:
                    if connection is not None and connection.broken:
                        connection.close()
                        connection = None  # so that the next query connects again even if this one fails
                    connection = connection or self._database.connect(writes=False)
                    wakeups.succeed(future, query(connection))
                    answered = True
                except Unavailable as error:
                    try:
                        patience.wait(error)
                    except StoreError as over:
                        wakeups.fail(future, over)
                        answered = True
                except Exception as error:
                    wakeups.fail(future, error)
                    answered = True
            with self._lock:
                self._pending -= 1
            wakeups.send()
        if connection is not None:
            connection.close()
