"""A server that begins a run of a key, says so, and never comes to an end of it.

It is given a folder, a database ("" for the one in the folder) and the id of the key.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from server.doors import door

from leadhand.server import service


async def begin(home: Path, database: str, key_id: str) -> None:
    service.LONGEST_TURN_S = 600.0
    given = {"database": database} if database else {}
    async with door(home, offline=True, **given) as opened, opened.service._turn(key_id):
        print("began", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(begin(Path(sys.argv[1]), *sys.argv[2:]))
