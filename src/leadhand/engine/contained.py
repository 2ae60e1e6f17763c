"""Await code of users so that it can neither end nor block anything beyond its own call."""

from __future__ import annotations

import asyncio
import contextlib
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from leadhand.engine.threads import CLEARING_UP_S, OURS, Ended
from leadhand.engine.tool_returns import described
from leadhand.flows.seam.lines import blocked, waits_at

HOW = "use await in it, or a function without async, which runs on a thread"


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
    line = waits_at(call, ours=str(OURS))
    while True:
        began = time.monotonic()
        try:
            waits = call.send(None) if error is None else call.throw(error)
        except StopIteration as stop:
            return stop.value
        finally:
            after = waits_at(call, ours=str(OURS))
            if slow := blocked(line if after == "?" else after, time.monotonic() - began, HOW):
                tell(slow)
            line = after
        try:
            yield waits
            error = None
        except BaseException as raised:
            error = raised
