"""An MCP server on the official library that does what servers do seldom: ``rare_server.py FOLDER [WORD …]``.

``changed``: its tool `book` has another schema. ``stubborn``: it ignores the end of its stdin, and SIGTERM, and has a
child that does, too. ``stateful``: its state outlives a restart. ``http PORT``: it is reached at a URL.
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
    note(f"pay {amount}")
    while not (FOLDER / "gate").exists():
        time.sleep(0.01)
    return f"paid {amount}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look() -> str:
    """Look, after the gate is open."""
    note("look")
    while not (FOLDER / "gate").exists():
        time.sleep(0.01)
    return "seen"


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
        os.fork()
    if "http" in WORDS:
        server.run("streamable-http", port=int(WORDS[-1]))
    else:
        server.run("stdio")
    if "stubborn" in WORDS:
        while True:
            signal.pause()
