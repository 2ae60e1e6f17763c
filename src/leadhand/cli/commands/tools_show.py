"""``leadhand tools show``: show one tool."""

from __future__ import annotations

import json as jsonlib
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

from leadhand.app.formatting import count, duration
from leadhand.cli.errors import Exit
from leadhand.cli.options import Debug, Flag, Tools
from leadhand.cli.terminal.streams import width as columns
from leadhand.cli.terminal.streams import write_json, write_line
from leadhand.cli.tool_files import all_tools
from leadhand.domain.tool import ToolSpec
from leadhand.tools.toolbox import Toolbox

MAX_WIDTH = 100
EFFECTS = {
    "pure": "pure: only reads",
    "idempotent": "idempotent: repeating it changes nothing more",
    "once": "once: irreversible; needs approval and is never repeated in doubt",
}


async def tools_show(
    name: Annotated[str, Flag("The tool.")],
    /,
    *,
    tools: Tools = (),
    json: Annotated[bool, Flag("Print it as a run records it, including the schema.")] = False,
    debug: Debug = False,
) -> int:
    """Show one tool: description and arguments."""
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
    yield f"timeout  {duration(spec.timeout_s)} a call, {count(spec.retries, 'retry', 'retries')} of temporary errors"
    yield f"code     {spec.import_path}"
    properties: dict[str, dict[str, Any]] = spec.parameters.get("properties", {})
    yield ""
    yield "arguments" if properties else "no arguments"
    width = max((len(argument) for argument in properties), default=0)
    for argument, shape in properties.items():
        words = [kind_of(shape)]
        words.append("required" if argument in spec.required else f"default {jsonlib.dumps(shape.get('default'))}")
        if shape.get("description"):
            words.append(" ".join(str(shape["description"]).split()))
        hanging = " " * (width + 4)
        yield textwrap.fill(
            f"  {argument:<{width}}  {' · '.join(words)}", min(MAX_WIDTH, columns()), subsequent_indent=hanging
        )


def kind_of(shape: dict[str, Any]) -> str:
    """Return the type of a schema in a word or two."""
    if "enum" in shape:
        return " or ".join(jsonlib.dumps(value) for value in shape["enum"])
    if "anyOf" in shape:
        return " or ".join(kind_of(each) for each in shape["anyOf"])
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    kind = shape.get("type", "any")
    return f"{shape['format']} ({kind})" if "format" in shape else str(kind)
