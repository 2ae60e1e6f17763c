"""Between event loops and the store's threads: results go back in few wake-ups, and the end of a thread can be awaited.

The drivers are synchronous, since an asynchronous one would be a thread or a queue behind our backs, and none is as
cheap as one thread that takes what many have queued.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from leadhand.domain.errors import StoreError


class Wakeups:
    """Calls to be made on event loops: each loop is woken once, however many calls there are for it."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.AbstractEventLoop, list[tuple[Callable[..., object], tuple[Any, ...]]]] = {}

    def call(self, loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
        """Have ``function(*args)`` called on ``loop`` after :meth:`send`."""
        self._calls.setdefault(loop, []).append((function, args))

    def succeed(self, future: asyncio.Future[Any], result: object) -> None:
        """Give a future its result, unless whoever waited has gone."""
        self.call(future.get_loop(), _succeed, future, result)

    def fail(self, future: asyncio.Future[Any], error: BaseException) -> None:
        """Give a future its error, unless whoever waited has gone."""
        self.call(future.get_loop(), _fail, future, error)

    def send(self) -> None:
        """Wake the loops. A loop that is closed has nobody left to tell."""
        calls, self._calls = self._calls, {}
        for loop, those in calls.items():
            try:
                loop.call_soon_threadsafe(_make, those)
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
        _heard(future)


class Service(threading.Thread):
    """A thread that runs ``work`` once and whose end can be awaited.

    It is a daemon: a program that forgot to close its store still ends, and loses nothing that was acknowledged.
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
        """Wait until the thread has done its work."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._ending:
            if self._over:
                future.set_result(None)
            else:
                self._waiting.append(future)
        await future
        self.join()  # nothing is left for it to do but to return


def failed(error: BaseException) -> asyncio.Future[Any]:
    """What a call answers that failed before it began to wait."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    _heard(future)
    return future


def _heard(future: asyncio.Future[Any]) -> None:
    """Keep asyncio from complaining of an error that nobody awaits.

    Who appends without waiting for the commit relies on a later append of theirs, which meets the same error.
    """
    future.exception()


def closed_error() -> StoreError:
    """The error of every call on a store that was closed."""
    return StoreError("the store is closed", "open it again with open_store()")


def copy_error(error: StoreError) -> StoreError:
    """The same error anew: one for each who waits, or their tracebacks would mingle."""
    another = type(error)(error.what, error.how)
    another.__cause__ = error.__cause__
    return another
