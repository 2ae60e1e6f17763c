"""``leadhand tools show``: one tool."""

from __future__ import annotations

import json as jsonlib
import textwrap
from collections.abc import Iterator
from typing import Any

from leadhand.app.formatting import count, duration
from leadhand.cli.console import width as columns
from leadhand.cli.console import write_json, write_line
from leadhand.cli.exit_codes import Exit
from leadhand.cli.own_tools import all_tools
from leadhand.domain.tool import ToolSpec
from leadhand.tools.toolbox import Toolbox

WIDEST = 100
EFFECTS = {
    "pure": "pure: it only reads",
    "idempotent": "idempotent: calling it twice does no more than once",
    "once": "once: it is never repeated in doubt, and a person is asked first",
}


async def tools_show(name: str, /, *, tools: tuple[str, ...] = (), json: bool = False, debug: bool = False) -> int:
    """Show one tool: what it does and takes.

    Parameters
    ----------
    name
        The tool.
    tools
        Add the tools of this Python file or module (may be given again).
    json
        Print it as a run pins it, schema included.
    debug
        Show the traceback of an error.
    """
    spec = Toolbox(all_tools(tools)).get(name).spec
    if json:
        write_json(spec.model_dump(mode="json"))
        return Exit.ANSWERED
    for line in _lines(spec):
        write_line(line)
    return Exit.ANSWERED


def _lines(spec: ToolSpec) -> Iterator[str]:
    yield spec.name
    yield from spec.description.splitlines()
    yield ""
    yield f"effect   {EFFECTS[spec.effect.value]}"
    yield f"timeout  {duration(spec.timeout_s)} a call, {count(spec.retries, 'retry', 'retries')} of what may pass"
    yield f"code     {spec.import_path}"
    properties: dict[str, dict[str, Any]] = spec.parameters.get("properties", {})
    yield ""
    yield "arguments" if properties else "It takes no arguments."
    width = max((len(argument) for argument in properties), default=0)
    for argument, shape in properties.items():
        words = [kind_of(shape)]
        words.append("required" if argument in spec.required else f"default {jsonlib.dumps(shape.get('default'))}")
        if shape.get("description"):
            words.append(" ".join(str(shape["description"]).split()))
        hanging = " " * (width + 4)
        yield textwrap.fill(
            f"  {argument:<{width}}  {' · '.join(words)}", min(WIDEST, columns()), subsequent_indent=hanging
        )


def kind_of(shape: dict[str, Any]) -> str:
    """What a value of this schema is, in a word or two."""
    if "enum" in shape:
        return " or ".join(jsonlib.dumps(value) for value in shape["enum"])
    if "anyOf" in shape:
        return " or ".join(kind_of(each) for each in shape["anyOf"])
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    kind = shape.get("type", "any")
    return f"{shape['format']} ({kind})" if "format" in shape else str(kind)
