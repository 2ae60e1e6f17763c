"""``leadhand tools list``, ``show`` and ``call``: the tools that a run can use."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from leadhand.app.export.formatting import clean, count, duration, one_line
from leadhand.app.project.source_files import all_tools
from leadhand.app.project.tool_sources import sources_named
from leadhand.app.project.toolsets import tools_on_request
from leadhand.app.steering.tool_trial import try_tool
from leadhand.cli.dispatch import Exit
from leadhand.cli.options import (
    Documents,
    Flag,
    OnlyDocuments,
    ProjectFlags,
    SourceFlags,
    StoreFlags,
    Tools,
    json_or_text,
    open_lead,
    sources_given,
)
from leadhand.cli.terminal.approval_card import EFFECTS
from leadhand.cli.terminal.messages import write_table
from leadhand.cli.terminal.streams import print_error, say, write, write_json, write_line
from leadhand.core.errors import UsageError
from leadhand.core.tool import Effect, ToolReturn, ToolSpec
from leadhand.core.value import Json
from leadhand.engine.gate import argument_problems, schema_problems
from leadhand.tools.toolbox import Toolbox

BY_HAND = "leadhand tools call"
"""The command that the usual advice names; inside that very command, other advice is shown."""


def _toolbox(tools: Sequence[str], sources: SourceFlags, project: ProjectFlags) -> Toolbox:
    """Return the tools of these files and sources, with those that the project names."""
    named, loaded = sources_named(sources_given(sources)), project.loaded
    if loaded is not None:
        named += loaded.sources()
    settings = loaded and loaded.manifest.tool_settings
    return Toolbox([*all_tools(tools), *named], tools_on_request, settings)


async def tools_list(
    *,
    tools: Tools = (),
    json: Annotated[bool, Flag("Print a JSON array, including schemas.")] = False,
    sources: SourceFlags = SourceFlags(),
    project: ProjectFlags = ProjectFlags(),
) -> None:
    """List the tools a run can use."""
    async with _toolbox(tools, sources, project) as toolbox:
        specs = toolbox.known()
    if json:
        write_json([spec.model_dump(mode="json") for spec in specs])
        return
    rows = [(each.name, each.effect.value, each.description.partition("\n")[0]) for each in specs]
    write_table(("TOOL", "EFFECT", "DESCRIPTION"), rows)


async def tools_show(
    name: Annotated[str, Flag("The tool.")],
    /,
    *,
    tools: Tools = (),
    json: Annotated[bool, Flag("Print it as a run records it, including the schema.")] = False,
    sources: SourceFlags = SourceFlags(),
    project: ProjectFlags = ProjectFlags(),
) -> None:
    """Show one tool: description and arguments."""
    async with _toolbox(tools, sources, project) as toolbox:
        spec = toolbox.spec(toolbox.get(name))
    if json:
        return write_json(spec.model_dump(mode="json"))
    for line in _lines(spec):
        write_line(line)
    return None


def _lines(spec: ToolSpec) -> Iterator[str]:
    yield from (spec.name, *spec.description.splitlines(), "")
    yield f"effect   {spec.effect.value}: {EFFECTS[spec.effect]}"
    if spec.approval is not None:
        yield f"approval {spec.approval.value}"
    retries = 0 if spec.effect is Effect.ONCE else spec.retries
    yield f"timeout  {duration(spec.timeout_s)} a call, {count(retries, 'retry', 'retries')} of temporary errors"
    yield f"code     {spec.import_path}"
    properties: dict[str, dict[str, Any]] = spec.parameters.get("properties", {})
    yield from ("", "arguments" if properties else "no arguments")
    names = max(map(len, properties), default=0)
    for argument, shape in properties.items():
        needed = "required" if argument in spec.required else f"default {jsonlib.dumps(shape.get('default'))}"
        words = (_kind_of(shape), needed, one_line(str(shape.get("description", ""))))
        yield f"  {argument:<{names}}  {' · '.join(filter(None, words))}"


def _kind_of(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return " or ".join(jsonlib.dumps(value) for value in shape["enum"])
    if "anyOf" in shape:
        return " or ".join(_kind_of(each) for each in shape["anyOf"])
    return str(shape.get("type") or str(shape.get("$ref", "any")).rpartition("/")[2])


async def tools_call(
    name: Annotated[str, Flag("The tool.")],
    /,
    *arguments: Annotated[
        str, Flag("Its arguments, as name=value. Values that are not text are JSON: days='[1, 2]'.", "NAME=VALUE")
    ],
    tools: Tools = (),
    offline: Annotated[bool, Flag("Use the built-in sample data instead of the network.")] = False,
    documents: Documents = None,
    only_documents: OnlyDocuments = False,
    json: Annotated[bool, Flag("Print the result as a worker returns it, with its raw data.")] = False,
    sources: SourceFlags = SourceFlags(),
    store: StoreFlags = StoreFlags(),
    project: ProjectFlags = ProjectFlags(),
) -> int:
    """Call a tool by hand, as a worker would.

    Leadhand checks the arguments, applies the timeout and classifies a failure, as in a run. It does not ask for an
    approval: an irreversible tool (effect once) acts at once.

    Examples:
      leadhand tools call weather_tool location="Paris, France" day=tomorrow --offline
    """
    about: dict[str, Any] = {"documents": documents, "only_documents": only_documents}
    lead = open_lead(store, model="offline", offline=offline, **about)
    async with _toolbox(tools, sources, project) as toolbox, lead:
        spec = toolbox.get(name).spec
        given = _arguments(spec, arguments)
        faults = argument_problems(spec, given)
        if faults:
            raise UsageError(f"{name}: {'; '.join(faults)}", f"Arguments: {_signature(spec)}")
        outcome = await try_tool(await lead.runtime(), toolbox, spec, given, offline=offline)
    failure = outcome.failure
    if failure is not None:
        if json:
            write_json({"task_name": name, "ok": False, "error": failure.model_dump(mode="json")})
        how = "fix the tool; --debug shows the traceback" if BY_HAND in failure.next_action else failure.next_action
        print_error(f"{name} failed: {failure.message} ({failure.class_.value}, {failure.type})", how)
        return Exit.FAILED
    if json:
        data = {name: getattr(outcome, name) for name in ToolReturn.model_fields if hasattr(outcome, name)}
        write_json({"task_name": name, "ok": True, "data": ToolReturn(**data).model_dump(mode="json")})
        return Exit.ANSWERED
    text = outcome.raw if outcome.summary is None else outcome.summary
    lines = [text if isinstance(text, str) else jsonlib.dumps(text, ensure_ascii=False, indent=2)]
    lines += [f"Source: {source.title}  {source.url}" for source in outcome.sources]
    write(clean("\n".join(lines)) + "\n")
    if outcome.summary is not None and outcome.raw is not None:
        say("Add --json to see the raw data.")
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
    json = {"object": "'{…}'", "array": "'[…]'"}
    given = {name: f"{name}={json.get(_kind_of(shape), '…')}" for name, shape in properties.items()}
    return " ".join(each if name in spec.required else f"[{each}]" for name, each in given.items()) or "none"
