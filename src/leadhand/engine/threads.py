"""Run code of users, on threads or on the loop, so that it can neither end nor block anything beyond its own call."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import errno
import inspect
import socket
import ssl
import threading
import time
import traceback
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from leadhand.core.errors import Failure, FailureClass
from leadhand.engine.tool_returns import described
from leadhand.flows.seam.passes import OURS, blocked, waits_at

_T = TypeVar("_T")

CLEARING_UP_S = 1.0
"""Seconds that cancelled code has for cleaning up."""
_UNREACHABLE = (errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH)
_PASSING = (ConnectionError, TimeoutError, socket.gaierror, ssl.SSLError)
_WRONG_PATH = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
HOW = "use await in it, or a function without async, which runs on a thread"


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


async def contained(call: Awaitable[Any]) -> Any:
    """Await a coroutine of users without letting it end or block anything beyond this call.

    It runs as a separate task. If it ignores cancellation, it is abandoned, and its late result is ignored.
    """
    running = _without_exit(call)
    task = asyncio.ensure_future(running)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # read, so that asyncio is silent
        await asyncio.wait({task}, timeout=CLEARING_UP_S)
        if not task.done():  # it ignores cancellation; the loop would wait for it forever at its end
            with contextlib.suppress(RuntimeError, ValueError):
                running.close()
            task.cancel()
        raise
    if task.cancelled():
        raise Ended("CancelledError")
    try:
        return task.result()
    except (Exception, KeyboardInterrupt):  # an interrupt comes from the person at the keyboard
        raise
    except BaseException as error:  # such as PanicException of an extension written in Rust
        raise Ended(described(error)) from error


async def _without_exit(call: Awaitable[Any]) -> Any:
    """Await a call; SystemExit and similar exceptions become an error of the call."""
    try:
        return await call
    except SystemExit as error:
        raise Ended("SystemExit") from error


@types.coroutine
def watched(call: Coroutine[Any, Any, Any], tell: Callable[[str], None]) -> Generator[Any, Any, Any]:
    """Await a coroutine, and ``tell`` at which lines it blocked the loop."""
    error: BaseException | None = None
    line = waits_at(call, ours=OURS)
    while True:
        began = time.monotonic()
        try:
            waits = call.send(None) if error is None else call.throw(error)
        except StopIteration as stop:
            return stop.value
        finally:
            after = waits_at(call, ours=OURS)
            if slow := blocked(line if after == "?" else after, time.monotonic() - began, HOW):
                tell(slow)
            line = after
        try:
            yield waits
            error = None
        except BaseException as raised:
            error = raised


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


def failure_of(error: Exception, what: str, how: str) -> Failure:
    """Return the failure of code of users, ``what`` it is, that raised an error; ``how`` it is fixed.

    Errors of the network may pass by themselves. Those of files, rights and full disks do not.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(OURS)]
    line = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    message = f"{what} raised {str(error) if isinstance(error, Ended) else described(error)}{line}"
    if isinstance(error, _WRONG_PATH):
        return Failure.of(message, "file", FailureClass.INVALID, "check the path, and that the file is on this machine")
    if isinstance(error, OSError) and not isinstance(error, PermissionError) and _is_passing(error):
        kind = "timeout" if isinstance(error, TimeoutError) else "connection"
        return Failure.of(message, kind, FailureClass.TRANSIENT)
    if isinstance(error, OSError) and error.errno is not None:
        return Failure.of(message, "file", FailureClass.UNAVAILABLE)
    return Failure.of(message, "exception", FailureClass.INVALID, how)


def _is_passing(error: OSError) -> bool:
    """Whether an error is one of a network: itself, or what caused it, as libraries wrap their errors."""
    chain: list[BaseException] = [error]
    for found in chain:  # it grows, and may be a circle
        if isinstance(found, _PASSING) or (isinstance(found, OSError) and found.errno in _UNREACHABLE):
            return True
        cause = getattr(found, "reason", None) or found.__cause__ or found.__context__  # the reason of a URLError
        if isinstance(cause, BaseException) and cause not in chain:
            chain.append(cause)
    status = getattr(error, "code", None)  # of urllib.error.HTTPError
    return isinstance(status, int) and status >= 500
