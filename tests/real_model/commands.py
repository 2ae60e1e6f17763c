"""Commands of Leadhand in processes of their own."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, NamedTuple

from real_model.servers import PATIENCE_S


class Result(NamedTuple):
    """The outcome of a command."""

    code: int | None
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def leadhand(*arguments: str) -> Result:
    """Run a command to its end."""
    process = await started(*arguments)
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    return Result(process.returncode, out.decode(), err.decode())


async def started(*arguments: str) -> asyncio.subprocess.Process:
    """Start a command."""
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "leadhand", *arguments, stdout=pipe, stderr=pipe)
