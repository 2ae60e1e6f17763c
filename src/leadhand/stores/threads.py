"""Return results from the store's threads to event loops in few wake-ups, and await the end of a thread.

The database drivers are synchronous: an asynchronous driver would add a thread or a queue of its own, and one thread
that takes what many callers have queued is cheaper.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from leadhand.domain.errors import StoreError


class Wakeups:
    """Calls to make on event loops: each loop is woken once, however many calls it gets."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.AbstractEventLoop, list[tuple[Callable[..., object], tuple[Any, ...]]]] = {}

    def call(self, loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
        """Have ``function(*args)`` called on ``loop`` after :meth:`send`."""
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
        _mark_retrieved(future)


class Service(threading.Thread):
    """A thread that runs ``work`` once and whose end can be awaited.

    It is a daemon thread: a program that does not close its store still ends, and loses nothing that was acknowledged.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        super().__init__(name=f"leadhand-{name}", daemon=True)
        self._work = work
        self._ending = threading.Lock()
        self._over = False
        self._waiting: list[asyncio.Future[None]] = []

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
    future.set_exception(error)
    _mark_retrieved(future)
    return future


def _mark_retrieved(future: asyncio.Future[Any]) -> None:
    """Keep asyncio from warning about an error that no caller awaits.

    A caller that appends without waiting for the commit relies on its next append, which gets the same error.
    """
    future.exception()


def closed_error() -> StoreError:
    """Return the error of every call on a closed store."""
    return StoreError("the store is closed", "open it again with open_store()")


def copy_error(error: StoreError) -> StoreError:
    """Return a copy of an error: callers that share one would add to each other's tracebacks."""
    copy = type(error)(error.what, error.how)
    copy.__cause__ = error.__cause__
    return copy
