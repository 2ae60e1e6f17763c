"""A flow that logs in, waits, and uses the token: as flows and tools of a project, and as a program that tests kill.

``python tokens.py URL HOME FOLDER [RUN]`` starts the run, or resumes it, and prints its id and then its answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from leadhand import Leadhand, tool
from leadhand.flows import FlowContext, flow

TOKEN = "tok-" + hashlib.sha256(b"a token").hexdigest()[:20]
"""It is in no source, so that no traceback has it."""


def note(folder: str, what: str) -> None:
    with (Path(folder) / "notes").open("a") as notes:
        notes.write(f"{os.getpid()} {what}\n")


@tool
async def login(folder: str) -> dict[str, Any]:
    """Return a token."""
    note(folder, "login")
    return {"access_token": TOKEN, "large": "x" * 6_000}


@tool
async def hold(folder: str) -> str:
    """Wait for the gate."""
    note(folder, "hold")
    while not (Path(folder) / "gate").exists():  # noqa: ASYNC110 (the gate is a file)
        await asyncio.sleep(0.01)
    return "open"


@tool(effect="once", approval="auto")
async def send(header: str, folder: str) -> dict[str, Any]:
    """Send something with the token, and repeat the token."""
    note(folder, "send" if header == f"Bearer {TOKEN}" else "send without the token")
    return {"echo": f"sent with {header}, which is {TOKEN}"}


@flow
async def tokens(run: FlowContext, folder: str) -> str:
    """Log in, wait, and send."""
    session = await run.call("login", folder=folder)
    await run.call("hold", folder=folder)
    sent = await run.call("send", header=f"Bearer {session.value['access_token']}", folder=folder)
    return sent.value["echo"]


async def main(url: str, home: str, folder: str, run_id: str = "") -> None:
    tools = [login, hold, send]
    async with Leadhand(model="offline", store=url, home=home, flows=[tokens], tools=tools) as lead:
        if run_id:
            run = await lead.resume(run_id)
        else:
            run = await lead.start("go", flow="tokens", folder=folder)
        print(run.run_id, flush=True)
        print((await run.answer()).text, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
