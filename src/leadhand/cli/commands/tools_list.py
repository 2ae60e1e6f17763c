"""``leadhand tools list``: what a lead can plan with."""

from __future__ import annotations

from leadhand.app.formatting import shortened
from leadhand.cli.console import out_is_terminal, width, write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.own_tools import all_tools
from leadhand.tools.toolbox import Toolbox


async def tools_list(*, tools: tuple[str, ...] = (), json: bool = False, debug: bool = False) -> int:
    """List the tools a lead can plan with.

    Parameters
    ----------
    tools
        Add the tools of this Python file or module (may be given again).
    json
        Print a JSON array, schemas included.
    debug
        Show the traceback of an error.
    """
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
