"""Code of users that may block: it runs on daemon threads, and what it raises stays its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from leadhand.engine.tool_returns import described

_T = TypeVar("_T")

OURS = Path(__file__).parents[1]
CLEARING_UP_S = 1.0
"""Seconds that cancelled code has for cleaning up."""


class Ended(Exception):
    """The code raised an exception that would end the process, such as SystemExit; only its own work fails."""


class Threads:
    """Runs blocking functions, at most ``count`` at once, on daemon threads.

    An executor of the standard library would be joined when the interpreter ends, and so hang with a hanging tool.
    """

    def __init__(self, count: int, name: str) -> None:
        self._free = asyncio.Semaphore(count)
        self._name = name

    async def run(self, call: Callable[[], _T]) -> _T:
        """Return the result of ``call``. Cancelling abandons the thread, which counts until it ends, and its result.

        Raises what the call raises; :class:`Ended` instead of SystemExit and similar exceptions.
        """
        await self._free.acquire()
        done: Future[_T] = Future()
        done.add_done_callback(partial(self._release, asyncio.get_running_loop()))
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(_settle, done, call), name=self._name, daemon=True).start()
        return await asyncio.wrap_future(done)

    def _release(self, loop: asyncio.AbstractEventLoop, _: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._free.release)


def _settle(done: Future[_T], call: Callable[[], _T]) -> None:
    """Make a call on this thread, and set its outcome on ``done``."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(call())
    except (StopIteration, CancelledError) as error:  # a coroutine cannot raise these as errors
        done.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
    except Exception as error:
        done.set_exception(error)
    except BaseException as error:  # such as SystemExit, which must not end the process
        done.set_exception(Ended(described(error)))


class OnLoop:
    """An object of the engine that code on any thread may use: its coroutine methods run on the loop that made this.

    Code on a thread calls them with ``asyncio.run(…)``.
    """

    def __init__(self, target: object) -> None:
        self._target = target
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        return partial(_awaited_on, self._loop, found) if inspect.iscoroutinefunction(found) else found


async def _awaited_on(
    loop: asyncio.AbstractEventLoop, method: Callable[..., Awaitable[_T]], /, *args: object, **named: object
) -> _T:
    async def awaited() -> _T:
        return await method(*args, **named)

    if asyncio.get_running_loop() is loop:
        return await awaited()
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(), loop))


def line_of(error: BaseException) -> str:
    """Return the last line of the user's own code in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(OURS)]
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
