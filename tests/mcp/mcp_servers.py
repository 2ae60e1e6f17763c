"""Runs with MCP servers: the plan of a lead, a small server of ours, and the processes that are there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from leads import leadhand_of

from leadhand import Leadhand
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask
from leadhand.tools.mcp import McpServer, mcp

OURS = Path(__file__).with_name("rare_server.py")


def ours(*words: str, **given: Any) -> McpServer:
    """A server of ours; see ``rare_server.py``."""
    return mcp([sys.executable, str(OURS), *words], **{"name": "ours", **given})


def lead_with(home: Path, server: Any, *calls: dict[str, Any], **given: Any) -> Leadhand:
    """A lead whose plan is these calls, each of the tool that it names."""
    order = plans(*(subtask(f"s{n}", call["tool"], **call.get("args", {})) for n, call in enumerate(calls)))
    given = {"models": ScriptedModel(plan=order, lenient=True), "approve": "auto", **given}
    return leadhand_of(tools=[server], home=home, **given)


def servers_of(process_id: int | None = None) -> list[psutil.Process]:
    """The processes of MCP servers that a process has started, and theirs."""
    found = psutil.Process(process_id or os.getpid()).children(recursive=True)
    return [each for each in found if "mcp" in " ".join(_command(each))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:  # it has ended, or only waits to be noticed
        return []


def notes(folder: Path, kind: str) -> list[str]:
    """What the server in this folder has noted that begins so."""
    path = folder / "notes"
    return [line for line in path.read_text().splitlines() if line.startswith(kind)] if path.exists() else []


async def until(happened: Callable[[], Any]) -> Any:
    """Wait until something is true, and return it."""
    async with asyncio.timeout(60):
        while not (found := happened()):  # noqa: ASYNC110 (another process makes it true)
            await asyncio.sleep(0.01)
    return found
