"""``leadhand tools list``, ``show`` and ``call``: the tools that a run can use."""

from __future__ import annotations

import json as jsonlib
import textwrap
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from leadhand.app.flows import FlowRegistry
from leadhand.app.formatting import clean, count, duration, shortened
from leadhand.app.project.source_files import all_tools
from leadhand.app.steering.tool_trial import try_tool
from leadhand.app.toolsets import tools_on_request
from leadhand.cli.errors import Exit
from leadhand.cli.flag_values import json_or_text
from leadhand.cli.options import Debug, Documents, Flag, OnlyDocuments, ProjectFlags, StoreFlags, Tools, open_lead
from leadhand.cli.terminal.streams import out_is_terminal, print_error, say, width, write, write_json, write_line
from leadhand.core.errors import UsageError
from leadhand.core.tool import ToolReturn, ToolSpec
from leadhand.core.value import Json
from leadhand.engine.gate import argument_problems, schema_problems
from leadhand.tools.toolbox import Toolbox

MAX_WIDTH = 100
EFFECTS = {
    "pure": "pure: only reads",
    "idempotent": "idempotent: repeating it changes nothing more",
    "once": "once: irreversible; needs approval and is never repeated automatically",
}
BY_HAND = "leadhand tools call"
"""The command that the usual advice names; inside that very command, other advice is shown."""


async def tools_list(
    *,
    tools: Tools = (),
    json: Annotated[bool, Flag("Print a JSON array, including schemas.")] = False,
    project: ProjectFlags = ProjectFlags(),
    debug: Debug = False,
) -> None:
    """List the tools that a run can use."""
    toolbox = Toolbox(all_tools(tools), tools_on_request)
    specs, everywhere = toolbox.known(), toolbox.specs()
    flows = {spec.name: FlowRegistry().naming(spec.name) for spec in specs if spec not in everywhere}
    if json:
        write_json([{**spec.model_dump(mode="json"), "flows": flows.get(spec.name, ())} for spec in specs])
        return
    names = max(len(spec.name) for spec in specs)
    effects = max(len(spec.effect.value) for spec in specs)
    for spec in specs:
        line = f"{spec.name:<{names}}  {spec.effect.value:<{effects}}  "
        room = max(30, width() - len(line)) if out_is_terminal() else 1_000
        only = f"(flow {', '.join(flows[spec.name])}) " if spec.name in flows else ""
        write_line(line + shortened(only + spec.description.partition("\n")[0], room))


async def tools_show(
    name: Annotated[str, Flag("The tool.")],
    /,
    *,
    tools: Tools = (),
    json: Annotated[bool, Flag("Print it as a run records it, including the schema.")] = False,
    project: ProjectFlags = ProjectFlags(),
    debug: Debug = False,
) -> None:
    """Show one tool: description and arguments."""
    loaded = project.loaded
    toolbox = Toolbox(all_tools(tools), tools_on_request, settings=loaded and loaded.manifest.tool_settings)
    spec = toolbox.spec(toolbox.get(name))
    if json:
        write_json(spec.model_dump(mode="json"))
    else:
        for line in _lines(spec):
            write_line(line)


def _lines(spec: ToolSpec) -> Iterator[str]:
    yield spec.name
    yield from spec.description.splitlines()
    yield ""
    yield f"effect   {EFFECTS[spec.effect.value]}"
    yield f"timeout  {duration(spec.timeout_s)} a call, {count(spec.retries, 'retry', 'retries')} of temporary errors"
    if limits := _limits(spec):
        yield f"limits   {limits}"
    yield f"code     {spec.import_path}"
    properties: dict[str, dict[str, Any]] = spec.parameters.get("properties", {})
    yield ""
    yield "arguments" if properties else "no arguments"
    names = max(map(len, properties), default=0)
    for argument, shape in properties.items():
        words = [_kind_of(shape)]
        words.append("required" if argument in spec.required else f"default {jsonlib.dumps(shape.get('default'))}")
        if shape.get("description"):
            words.append(" ".join(str(shape["description"]).split()))
        line = f"  {argument:<{names}}  {' · '.join(words)}"
        yield textwrap.fill(line, min(MAX_WIDTH, width()), subsequent_indent=" " * (names + 4))


def _limits(spec: ToolSpec) -> str:
    """Return the limits and the cache of a tool in words; "" if it has none."""
    words = [f"{count(spec.concurrency, 'call')} at once"] if spec.concurrency is not None else []
    words += [f"{spec.rate} calls"] if spec.rate else []
    words += [f"results are used again for {duration(spec.cache_s)}"] if spec.cache_s is not None else []
    return ", ".join(words)


def _kind_of(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return " or ".join(jsonlib.dumps(value) for value in shape["enum"])
    if "anyOf" in shape:
        return " or ".join(_kind_of(each) for each in shape["anyOf"])
    if "$ref" in shape:
        return str(shape["$ref"]).rpartition("/")[2]
    kind = shape.get("type", "any")
    return f"{shape['format']} ({kind})" if "format" in shape else str(kind)


async def tools_call(
    name: Annotated[str, Flag("The tool.")],
    /,
    *arguments: Annotated[
        str, Flag("Its arguments, as name=value. Values that are not text are JSON: days='[1, 2]'.", "NAME=VALUE")
    ],
    tools: Tools = (),
    offline: Annotated[bool, Flag("Use the built-in sample service instead of the network.")] = False,
    documents: Documents = None,
    only_documents: OnlyDocuments = False,
    json: Annotated[bool, Flag("Print the result as a worker returns it, with its raw data.")] = False,
    store: StoreFlags = StoreFlags(),
) -> int:
    """Call a tool by hand, as a worker would."""
    toolbox = Toolbox(all_tools(tools), tools_on_request)
    spec = toolbox.get(name).spec
    given = _arguments(spec, arguments)
    faults = argument_problems(spec, given)
    if faults:
        raise UsageError(f"{name}: {'; '.join(faults)}", f"Arguments: {_signature(spec)}")
    about: dict[str, Any] = {"offline": offline, "documents": documents, "only_documents": only_documents}
    async with open_lead(store, model="offline", **about) as lead:
        outcome = await try_tool(await lead.runtime(), toolbox, spec, given, offline=offline)
    failure = outcome.failure
    if failure is not None:
        if json:
            write_json({"task_name": name, "ok": False, "error": failure.model_dump(mode="json")})
        how = "fix the tool; --debug shows the traceback" if BY_HAND in failure.next_action else failure.next_action
        print_error(f"{name} failed: {failure.message} ({failure.class_.value}, {failure.type})", how)
        return Exit.FAILED
    returned = ToolReturn(
        raw=outcome.raw, summary=outcome.summary, sources=outcome.sources, sample=outcome.sample, asks=outcome.asks
    )
    if json:
        write_json({"task_name": name, "ok": True, "data": returned.model_dump(mode="json")})
    else:
        _print(returned)
    return Exit.ANSWERED


def _arguments(spec: ToolSpec, given: Sequence[str]) -> dict[str, Json]:
    """Return arguments given as ``name=value``. Raises UsageError."""
    arguments: dict[str, Json] = {}
    for word in given:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{word!r} is not of the form name=value", f"Arguments of {spec.name}: {_signature(spec)}")
        if name in arguments:
            raise UsageError(f"{name} is given twice", 'Give it once; write a list as JSON: names=\'["a", "b"]\'.')
        arguments[name] = _value(spec, name, text)
    return arguments


def _value(spec: ToolSpec, name: str, text: str) -> Json:
    """Return the text itself if the schema allows text, else the text parsed as JSON."""
    shape: Any = spec.parameters.get("properties", {}).get(name)
    if shape is None or not schema_problems({**shape, "$defs": spec.parameters.get("$defs", {})}, text):
        return text
    return json_or_text(text)


def _signature(spec: ToolSpec) -> str:
    """Return a tool's arguments in one line: ``location=… [day=…]``."""
    properties: dict[str, Any] = spec.parameters.get("properties", {})
    return " ".join(f"{name}=…" if name in spec.required else f"[{name}=…]" for name in properties) or "none"


def _print(returned: ToolReturn) -> None:
    text = returned.summary if returned.summary is not None else returned.raw
    lines = [text if isinstance(text, str) else jsonlib.dumps(text, ensure_ascii=False, indent=2)]
    lines += [f"Source: {source.title}  {source.url}" for source in returned.sources]
    write(clean("\n".join(lines)) + "\n")
    if returned.summary is not None and returned.raw is not None:
        say("Add --json to see the raw data.")
