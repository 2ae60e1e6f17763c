"""The store's threads: their results are returned to event loops with few wake-ups.

The database drivers are synchronous, as an asynchronous driver would add a thread or a queue of its own.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from leadhand.core.errors import StoreError

from .connection import Connection, Database, TryAgain, Unavailable

Answer = TypeVar("Answer")

LOGGER = logging.getLogger("leadhand")

READERS = 2
"""Queries at once, those for the heads of the runs that are followed included."""
TRIES = 5
"""Maximum attempts at a transaction that conflicts with another."""
CONFLICT_S = 0.01
RETRY_S = 0.1
ANNOUNCED_S = 1.0
CLOSING_S = 2.0
"""Seconds until the next try after a conflict, at most, and at an unavailable database; until a warning; and for the
last tries of a closed store, or for an answer that nobody waits for."""


class Wakeups:
    """Calls to make on event loops: each loop is woken once, however many calls it gets."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.AbstractEventLoop, list[tuple[Callable[..., object], tuple[Any, ...]]]] = {}

    def call(self, loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
        """Call ``function(*args)`` on ``loop`` after :meth:`send`."""
        self._calls.setdefault(loop, []).append((function, args))

    def settle(self, future: asyncio.Future[Any], outcome: object) -> None:
        """Set the result of a future, or its error if ``outcome`` is an exception, unless it is done already."""
        self.call(future.get_loop(), _settle, future, outcome)

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


def _settle(future: asyncio.Future[Any], outcome: object) -> None:
    if future.done():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
        # A caller that appends without waiting for the commit relies on its next append, which gets the same error.
        future.exception()  # keeps asyncio from warning that nobody awaited this one
    else:
        future.set_result(outcome)


def failed(error: BaseException) -> asyncio.Future[Any]:
    """Return a future that has failed, for a call that fails before it is queued."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    _settle(future, error)
    return future


class Service(threading.Thread):
    """A thread that starts ``work`` immediately, and whose end can be awaited.

    It is a daemon thread: a program that does not close its store still ends, and loses nothing that was acknowledged.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        super().__init__(target=work, name=f"leadhand-{name}", daemon=True)
        self.start()

    async def ended(self) -> None:
        """Wait until the thread has ended."""
        await asyncio.to_thread(self.join)


def closed_error() -> StoreError:
    """Return the error of every call on a closed store."""
    return StoreError("the store is closed", "open it again with open_store()")


def copy_error(error: StoreError) -> StoreError:
    """Return a copy of an error: callers that share one would add to each other's tracebacks."""
    copy = type(error)(error.what, error.how)
    copy.__cause__ = error.__cause__
    return copy


class Session:
    """A connection that is made when it is needed, and again once it is lost; used by one thread at a time."""

    def __init__(self, database: Database, patience_s: float, *, writes: bool) -> None:
        self._database = database
        self._patience_s = patience_s
        self._writes = writes
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        """Return a connection that is not known to be lost. Raises StoreError, ConfigurationError."""
        if self._connection is not None and self._connection.broken:
            self.close()
        self._connection = self._connection or self._database.connect(writes=self._writes)
        return self._connection

    def do(self, work: Callable[[Connection], Answer], hurry: Callable[[], bool]) -> Answer:
        """Return what ``work`` returns; repeat it after a conflict, and while the database is unavailable.

        That is at most :data:`TRIES` conflicts, and ``patience_s`` seconds, or a moment once ``hurry()`` is true.
        """
        began, announced, conflicts = time.monotonic(), False, 0
        while True:
            try:
                return work(self.connection())
            except TryAgain:
                conflicts += 1
                if conflicts == TRIES:
                    raise
                time.sleep(random.uniform(0, CONFLICT_S * conflicts))
            except Unavailable as error:
                waited = time.monotonic() - began
                left = (min(self._patience_s, CLOSING_S) if hurry() else self._patience_s) - waited
                if left <= 0:
                    raise
                if not announced and waited >= ANNOUNCED_S:
                    announced = True
                    LOGGER.warning("%s; trying again for up to %.0f s: %s", error.what, left, error.how)
                time.sleep(min(RETRY_S, left))

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class Readers:
    """Runs queries on the database in threads, which start when they are first needed."""

    def __init__(self, database: Database, closed: StoreError | None, patience_s: float) -> None:
        self._database = database
        self._closed = closed
        self._patience_s = patience_s
        self._asked: SimpleQueue[tuple[Callable[[Connection], object], asyncio.Future[Any]] | None] = SimpleQueue()
        self._threads: list[Service] = []
        self._pending = 0

    async def ask(self, query: Callable[..., Answer], *args: Any) -> Answer:
        """Return what ``query(connection, …)`` returns with the other arguments, or raise its error."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.put((lambda connection: query(connection, *args), answer))
        if self._closed is not None:  # asked last, since what is queued behind the end of the threads gets no answer
            raise copy_error(self._closed)
        self._pending += 1
        try:
            if len(self._threads) < min(self._pending, READERS):
                self._threads.append(Service("store-reader", self._work))
            return await answer
        finally:
            self._pending -= 1

    def _work(self) -> None:
        session = Session(self._database, self._patience_s, writes=False)
        while self._answered(session):
            pass
        session.close()

    def _answered(self, session: Session) -> bool:
        """Answer the next query; return False once none will follow. Between two of them, nothing is held of either."""
        asked = self._asked.get()
        if asked is None:
            return False
        query, answer = asked
        if not answer.cancelled():
            wakeups = Wakeups()
            try:
                outcome: object = session.do(query, lambda: answer.done() or self._closed is not None)
            except Exception as error:
                outcome = error
            wakeups.settle(answer, outcome)
            wakeups.send()
        return True

    async def aclose(self) -> None:
        """Finish the pending queries, close the connections and end the threads."""
        self._closed = self._closed or closed_error()
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            await thread.ended()
