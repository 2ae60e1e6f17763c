"""Other processes for the tests: real ones, that can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

from processes import start_async

import leadhand.stores.opening
from leadhand.ports import ContextStore

SOURCE = Path(leadhand.stores.opening.__file__).parents[2]
HERE = Path(__file__).parent

PREAMBLE = """
import asyncio, os, signal, sys
from leadhand.stores.opening import open_store
from stores.contract import began, pauses, returned, started, tokens, tokens_at_most, UNLIMITED
url = sys.argv[1]
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # at once, or two processes mix their words
"""


async def until(condition: Callable[[], Awaitable[bool]], patience_s: float = 5.0) -> None:
    """Wait for something to be so."""
    for _ in range(int(patience_s / 0.01)):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not so after {patience_s} s")


async def is_orphan(store: ContextStore) -> bool:
    """Whether nobody drives ``run-1``."""
    return (await store.run("run-1")).orphan


class Process:
    """A running Python program that says what it has done, a line at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def heard(self) -> list[str]:
        """The words of the next line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(90):
            line = await self._process.stdout.readline()
        assert line, f"the process ended with {await self._process.wait()}"
        return line.decode().split()

    async def tell(self, line: str = "") -> None:
        """Answer its ``input()``."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def kill(self) -> None:
        """As ``kill -9`` does."""
        self._process.kill()
        await self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    async def stopped(self) -> None:
        """Wait until it is stopped, with all its threads."""
        tasks = Path(f"/proc/{self._process.pid}/task")

        async def every_thread() -> bool:
            return all("\nState:\tT" in (task / "status").read_text() for task in tasks.iterdir())

        await until(every_thread, 60)

    async def rest(self) -> list[str]:
        """What it still has to say, until it ends."""
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            said = await self._process.stdout.read()
            assert await self._process.wait() in (0, -9)
        return said.decode().splitlines()


@asynccontextmanager
async def process(url: str, program: str) -> AsyncIterator[Process]:
    """Run ``program`` (after :data:`PREAMBLE`) in another Python; killed when the block is left."""
    running = await start_async(
        sys.executable,
        "-c",
        PREAMBLE + dedent(program),
        url,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE), str(HERE.parent)])},
    )
    try:
        yield Process(running)
    finally:
        if running.returncode is None:
            running.kill()
        await running.communicate()
