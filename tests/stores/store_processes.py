"""Other processes for the tests: real ones, that can be killed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent

from processes import Program, started

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


class Process(Program):
    """A running Python program that says what it has done, a line at a time."""

    async def heard(self) -> list[str]:
        """The words of the next line."""
        return (await self.line()).split()

    async def stopped(self) -> None:
        """Wait until it is stopped, with all its threads."""
        tasks = Path(f"/proc/{self.pid}/task")

        async def every_thread() -> bool:
            return all("\nState:\tT" in (task / "status").read_text() for task in tasks.iterdir())

        await until(every_thread, 60)

    async def rest(self) -> list[str]:
        """What it still has to say, until it ends."""
        code, said = await super().rest()
        assert code in (0, -9)
        return said.splitlines()


@asynccontextmanager
async def process(url: str, program: str) -> AsyncIterator[Process]:
    """Run ``program`` (after :data:`PREAMBLE`) in another Python; killed when the block is left."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE), str(HERE.parent)])}
    async with started(sys.executable, "-c", PREAMBLE + dedent(program), url, env=environment) as running:
        yield Process(running)
