"""Starting and killing real processes that drive a run of a function."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import start_async

import leadhand
from leadhand.core.events import Entry
from leadhand.stores.opening import open_store

CHILD = Path(__file__).with_name("child.py")
SOURCE = Path(leadhand.__file__).parents[1]
PATIENCE_S = 30.0


class Life:
    """A process of ``child.py``; what it says is JSON, a line at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def said(self) -> dict[str, Any]:
        """Its next line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self.process.stdout.readline()
        assert line, f"it ended with {await self.process.wait()}: {await self._complaint()}"
        return json.loads(line)

    async def _complaint(self) -> str:
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()

    @property
    def over(self) -> bool:
        return self.process.returncode is not None

    async def kill(self) -> None:
        """As ``kill -9`` does."""
        self.process.kill()
        await self.process.wait()


@dataclass
class Theatre:
    """A home and the file of calls: what the lives of a run have in common."""

    folder: Path
    url: str = ""

    @asynccontextmanager
    async def life(self, **config: Any) -> AsyncGenerator[Life]:
        """A process; killed at the end of the block, if it is still there."""
        given = {"home": str(self.folder / "home"), "calls": str(self.folder / "calls"), **config}
        given |= {"url": self.url} if self.url else {}
        pipes = dict.fromkeys(("stdout", "stderr"), asyncio.subprocess.PIPE)
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        process = await start_async(sys.executable, str(CHILD), json.dumps(given), **pipes, env=environment)
        try:
            yield Life(process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    def noted(self, kind: str) -> list[str]:
        """What was noted of a kind: ``asked`` or ``sent``."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{kind} ")]

    async def until(self, kind: str, count: int, life: Life) -> None:
        """Wait until something was noted so many times, or the process is over."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.noted(kind)) < count and not life.over:  # noqa: ASYNC110 (another process notes it)
                await asyncio.sleep(0.005)

    async def log(self, run_id: str) -> list[Entry]:
        """The log, as another process sees it."""
        url = self.url or f"sqlite:///{self.folder / 'home' / 'leadhand.db'}"
        async with aclosing(await open_store(url)) as store:
            return list(await store.read(run_id))
