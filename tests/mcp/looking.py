"""A program that looks, with an MCP server, and ends when that is done: ``looking.py FOLDER [WORD …]``."""

import asyncio
import sys
from pathlib import Path

from leadhand import Leadhand, mcp
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask


async def main(folder: Path) -> None:
    server = mcp([sys.executable, str(Path(__file__).with_name("rare_server.py")), *sys.argv[1:]], name="ours")
    model = ScriptedModel(plan=plans(subtask("look", "look")), lenient=True)
    async with Leadhand(models=model, tools=[server], home=folder / "home", approve="auto") as lead:
        await lead.run("Look")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
