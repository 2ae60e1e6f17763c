"""An MCP server on the official library that does what servers do seldom: ``rare_server.py FOLDER [WORD …]``.

``changed``: its tool `pay` has another schema. ``stubborn``: it ignores the end of its stdin, and SIGTERM, and has a
child that does, too.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel

FOLDER, WORDS = Path(sys.argv[1]), sys.argv[2:]
server = MCPServer("ours")


def note(line: str) -> None:
    with (FOLDER / "notes").open("a") as file:
        file.write(f"{line}\n")


class Room(BaseModel):
    size: Literal["small", "large"]


def which_room() -> Elicit[Room]:
    return Elicit("Which room?", Room)


@server.tool()
def book(day: str, room: Annotated[Room, Resolve(which_room)]) -> str:
    """Book a room."""
    note(f"booked {room.size} {day}")
    return f"{room.size} room, {day}"


@server.tool()
def pay(amount: int) -> str:
    """Pay an amount; half of it is gone if this process dies meanwhile."""
    note(f"pay {amount} {os.getppid()}")
    while not (FOLDER / "gate").exists():
        time.sleep(0.01)
    return f"paid {amount}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look() -> str:
    """Look, after the gate is open."""
    note(f"look {os.getppid()}")
    while not (FOLDER / "gate").exists():
        time.sleep(0.01)
    return "seen"


@server.tool(annotations=ToolAnnotations(idempotent_hint=True, destructive_hint=True))
def replace(day: str) -> str:
    """Replace what is planned for a day."""
    note(f"replace {day}")
    return f"replaced {day}"


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def confirm(day: str) -> str:
    """Confirm what is planned for a day."""
    return f"confirmed {day}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def wrong() -> Room:
    """Return what does not fit the schema that it is listed with."""
    return Room(size="small")


listed = server._tool_manager.get_tool("wrong")
assert listed is not None
assert listed.fn_metadata.output_schema is not None
listed.fn_metadata.output_schema["required"] = ["color"]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def add_tool(context: Context) -> str:
    """Offer one tool more."""
    server.add_tool(look, name="another")
    await context.notify_tools_changed()
    return "there is another tool"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def stop_payments() -> str:
    """Offer `pay` no more."""
    server.remove_tool("pay")
    return "nobody pays any more"


if "changed" in WORDS:
    server.remove_tool("pay")

    @server.tool()
    def pay(amount: int, currency: str) -> str:
        """Pay an amount in a currency."""
        note(f"pay {amount} {currency}")
        return "paid"


if __name__ == "__main__":
    note(f"started {os.getpid()} {os.environ.get('KEY', '')} {os.environ.get('SECRET_OF_THE_TESTS', '')}")
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() > 0:
            server.run("stdio")
        while True:
            signal.pause()
    server.run("stdio")
