"""Says which async tool keeps everything else waiting: it must not block, and a person cannot see that it does."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from types import CodeType, FrameType
from typing import Any

from leadhand.tools.decorator import Tool
from leadhand.tools.toolbox import Toolbox

LOOK_EVERY_S = 0.25
BLOCKED_S = 1.0
"""Seconds without a step of the event loop that are worth a line."""


@contextlib.contextmanager
def noticed(toolbox: Toolbox, tell: Callable[[str], None]) -> Generator[None]:
    """Have ``tell`` called, from another thread, with a line for each tool that blocks the event loop of this one."""
    tools = [toolbox.get(spec.name) for spec in toolbox.specs()]
    watch = _Watch({code: tool.name for tool in tools for code in _code_of(tool)}, tell, threading.get_ident())
    ticking = asyncio.create_task(watch.tick())
    threading.Thread(target=watch.look, name="leadhand-standstill", daemon=True).start()
    try:
        yield
    finally:
        watch.over.set()
        ticking.cancel()


class _Watch:
    """``over`` ends it. The loop's thread leaves its last moment; the other one looks how long ago that was."""

    def __init__(self, names: dict[CodeType, str], tell: Callable[[str], None], thread: int) -> None:
        self._names = names
        self._tell = tell
        self._thread = thread
        self._last = time.monotonic()
        self._told: set[str] = set()
        self.over = threading.Event()

    async def tick(self) -> None:
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        while not self.over.wait(LOOK_EVERY_S):
            if time.monotonic() - self._last > BLOCKED_S:
                name = self._blocking()
                if name is not None and name not in self._told:
                    self._told.add(name)
                    self._tell(
                        f"{name} blocks everything else until it returns: an async tool awaits what takes long;"
                        " without async it would run in a thread of its own."
                    )

    def _blocking(self) -> str | None:
        """The tool in whose code the loop's thread is now."""
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - public by its documentation
        return next(
            (self._names[frame.f_code] for frame in _outwards(frames.get(self._thread)) if frame.f_code in self._names),
            None,
        )


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _code_of(tool: Tool[..., Any]) -> Iterator[CodeType]:
    code = getattr(tool.function, "__code__", None)
    if isinstance(code, CodeType):
        yield code
