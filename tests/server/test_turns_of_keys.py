"""The servers of a database begin the runs of a key one after the other; one that dies meanwhile blocks nobody."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from processes import start_async
from server.conftest import OpenServer
from server.keys import LOCKED, keys_of

from leadhand.app.steering.access import Scope

BEGINNER = Path(__file__).with_name("beginner.py")
PATIENCE_S = 60.0


@pytest.fixture(params=["", "postgres_url"], ids=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str:
    return request.param and request.getfixturevalue(request.param)


@pytest.mark.slow
async def test_a_server_that_dies_while_it_begins_a_run_leaves_the_turn_to_the_next(
    database: str, serve: OpenServer, home: Path
) -> None:
    keys = await keys_of((await serve(doors=LOCKED, **({"database": database} if database else {}))).door)
    await keys.add("one", Scope.RUN)
    other = await start_async(
        *(sys.executable, str(BEGINNER), str(home), database, keys.ids["one"]),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(BEGINNER.parents[1])},
    )
    assert other.stdout is not None
    assert (await other.stdout.readline()).strip() == b"began"

    waits = asyncio.ensure_future(keys.started("one", "measure Paris"))
    await asyncio.sleep(0.3)
    assert not waits.done(), "the other server has the turn"
    other.kill()
    await other.wait()

    async with asyncio.timeout(PATIENCE_S):
        run_id = await waits
    await keys.rests(run_id, "succeeded")
