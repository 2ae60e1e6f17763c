"""``leadhand tools list``: list the tools that a run can use."""

from __future__ import annotations

from typing import Annotated

from leadhand.app.formatting import shortened
from leadhand.cli.errors import Exit
from leadhand.cli.options import Debug, Flag, Tools
from leadhand.cli.terminal.streams import out_is_terminal, width, write_json, write_line
from leadhand.cli.tool_files import all_tools
from leadhand.tools.toolbox import Toolbox


async def tools_list(
    *,
    tools: Tools = (),
    json: Annotated[bool, Flag("Print a JSON array, including schemas.")] = False,
    debug: Debug = False,
) -> int:
    """List the tools that a run can use."""
    specs = Toolbox(all_tools(tools)).specs()
    if json:
        write_json([spec.model_dump(mode="json") for spec in specs])
        return Exit.ANSWERED
    names = max(len(spec.name) for spec in specs)
    effects = max(len(spec.effect.value) for spec in specs)
    for spec in specs:
        line = f"{spec.name:<{names}}  {spec.effect.value:<{effects}}  "
        room = max(30, width() - len(line)) if out_is_terminal() else 1_000
        write_line(line + shortened(spec.description.partition("\n")[0], room))
    return Exit.ANSWERED
