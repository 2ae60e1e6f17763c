"""Blocking calls on bounded threads of our own: a call that never returns is abandoned, and blocks no other call."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from typing import NoReturn, TypeVar

THREADS = 32
"""Blocking calls at once; more wait their turn inside their own time-out."""

_T = TypeVar("_T")


class Ended(Exception):
    """A tool raised what would end the process, such as SystemExit: it ends its call, and no more."""


class Threads:
    """Runs blocking functions, at most :data:`THREADS` at once, on daemon threads.

    An executor of the standard library would be joined when the interpreter ends, and so hang with a hanging tool.
    """

    def __init__(self, count: int = THREADS) -> None:
        self._free = asyncio.Semaphore(count)

    async def run(self, call: Callable[[], _T]) -> _T:
        """The result of ``call``. Cancelling abandons the thread: what it still returns is thrown away.

        Raises what the call raises; anything outside Exception, such as SystemExit, as :class:`Ended`.
        """
        async with self._free:
            loop = asyncio.get_running_loop()
            done: asyncio.Future[Callable[[], _T]] = loop.create_future()
            context = contextvars.copy_context()

            def finish(outcome: Callable[[], _T]) -> None:
                if not done.done():
                    done.set_result(outcome)

            def work() -> None:
                outcome = _outcome(context, call)
                if not loop.is_closed():
                    loop.call_soon_threadsafe(finish, outcome)

            threading.Thread(target=work, name="leadhand-tool", daemon=True).start()
            return (await done)()


def _outcome(context: contextvars.Context, call: Callable[[], _T]) -> Callable[[], _T]:
    """Make the call, and return what gives its value or raises its exception."""
    try:
        value = context.run(call)
    except Exception as error:
        return partial(_raise, error)
    except BaseException as error:  # such as SystemExit: it ends this call, and not the process
        return partial(_raise, Ended(type(error).__name__))
    return lambda: value


def _raise(error: Exception) -> NoReturn:
    if isinstance(error, StopIteration):  # a coroutine cannot raise it
        raise RuntimeError(f"StopIteration: {error}") from error
    raise error
