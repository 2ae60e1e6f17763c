"""A process that is killed in the middle of a request: what may be repeated is, and what happens once is not."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from apis import PETSTORE, Api
from processes import PATIENCE_S, Program, started

CHILD = Path(__file__).with_name("api_child.py")
PET = {"name": "Rex", "photoUrls": []}


@pytest.mark.parametrize(
    ("tool", "args", "line", "ended"),
    [
        ("addPet", {"body": PET}, "POST /pet", {"status": "waiting", "asked": ["effect"]}),
        ("updatePet", {"body": PET}, "PUT /pet", {"status": "succeeded", "asked": []}),
        ("deletePet", {"petId": 7}, "DELETE /pet/7", {"status": "succeeded", "asked": []}),
        ("getPetById", {"petId": 7}, "GET /pet/7", {"status": "succeeded", "asked": []}),
    ],
)
async def test_a_request_is_sent_again_only_if_that_changes_nothing(
    tmp_path: Path, tool: str, args: dict[str, Any], line: str, ended: dict[str, Any]
) -> None:
    arrived = asyncio.Event()

    async def hold(_: web.Request) -> web.StreamResponse:
        arrived.set()
        return await asyncio.Future()

    async with Api(PETSTORE).open() as api:
        api.answers |= {line: hold, "*": PET}
        config = {"tool": tool, "args": args, "document": str(PETSTORE), "url": api.url, "home": str(tmp_path / "home")}
        async with started(sys.executable, str(CHILD), json.dumps(config), env=dict(os.environ)) as process:
            run_id = await Program(process).line()
            async with asyncio.timeout(PATIENCE_S):
                await arrived.wait()
            await Program(process).kill()
        del api.answers[line]
        again = json.dumps({**config, "resume": run_id})
        async with started(sys.executable, str(CHILD), again, env=dict(os.environ)) as process:
            code, said = await Program(process).rest()
    assert (code, said.splitlines()[0]) == (0, run_id)
    assert json.loads(said.splitlines()[1]) == ended
    assert api.lines == [line] * (1 if ended["asked"] else 2)
    assert api.problems == []
