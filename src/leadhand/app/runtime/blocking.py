"""Drive a run from code without an event loop, or from a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from leadhand.core.run import RunStatus
from leadhand.core.state import RunState

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Driven(Protocol[T_co]):
    """A run that this process drives."""

    @property
    def run_id(self) -> str: ...

    async def wait(self) -> RunState: ...

    async def pause(self, reason: str = "") -> None: ...

    async def answer(self) -> T_co: ...


def answer_of(starting: Coroutine[Any, Any, Driven[T]], close: Callable[[], Awaitable[None]]) -> T:
    """Start a run, drive it to its rest, ``close`` what was opened, and return the answer.

    On KeyboardInterrupt the run is paused, and the error says how to resume it.
    """
    driving: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []
    paused: list[str] = []

    async def once() -> T:
        driving.append((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            run = await starting
            resting = asyncio.ensure_future(run.wait())
            try:
                await asyncio.shield(resting)
            except asyncio.CancelledError:
                await run.pause("interrupted")
                if (await resting).status is RunStatus.PAUSED:
                    paused.append(run.run_id)
                raise
            return await run.answer()
        finally:
            await close()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        in_notebook = False
    else:
        in_notebook = True
    try:
        if not in_notebook:
            return asyncio.run(once())
        # The running loop of a notebook cannot be re-entered, so a thread with its own loop drives the run.
        with ThreadPoolExecutor(1, "leadhand-run-sync") as thread:
            answer = thread.submit(asyncio.run, once())
            try:
                return answer.result()
            except KeyboardInterrupt:
                for loop, task in driving:
                    if task is not None:
                        loop.call_soon_threadsafe(task.cancel)
                raise
    except KeyboardInterrupt as interrupt:
        if not paused:
            raise
        how = f"Leadhand(…).resume_sync({paused[0]!r}), or leadhand runs resume {paused[0]}"
        raise KeyboardInterrupt(f"the run is paused; resume it with {how}") from interrupt
