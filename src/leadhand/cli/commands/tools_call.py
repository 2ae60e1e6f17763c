"""``leadhand tools call``: call a tool by hand."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from typing import Annotated, Any

from leadhand.app.formatting import clean
from leadhand.app.tool_trial import try_tool
from leadhand.cli.errors import Exit
from leadhand.cli.options import DEFAULT_STORE, Flag, StoreFlags, Tools, open_lead
from leadhand.cli.terminal.streams import print_error, say, write, write_json
from leadhand.cli.tool_files import all_tools
from leadhand.domain.errors import Failure, UsageError
from leadhand.domain.tool import ToolReturn, ToolSpec
from leadhand.domain.value import Json
from leadhand.engine.gate import argument_problems, schema_problems
from leadhand.tools.toolbox import Toolbox

BY_HAND = "leadhand tools call"
"""Advice that is dropped here: the person has just done it."""


async def tools_call(
    name: Annotated[str, Flag("The tool.")],
    /,
    *arguments: Annotated[
        str, Flag("Its arguments, as name=value. Values that are not text are JSON: days='[1, 2]'.", "NAME=VALUE")
    ],
    tools: Tools = (),
    offline: Annotated[bool, Flag("Use the built-in sample service instead of the network.")] = False,
    json: Annotated[bool, Flag("Print the result as a worker returns it, with its raw data.")] = False,
    store: StoreFlags = DEFAULT_STORE,
) -> int:
    """Call a tool by hand, as a worker would."""
    toolbox = Toolbox(all_tools(tools))
    spec = toolbox.get(name).spec
    given = _arguments(spec, arguments)
    faults = argument_problems(spec, given)
    if faults:
        raise UsageError(f"{name}: {'; '.join(faults)}", f"Arguments: {_signature(spec)}")
    async with open_lead(store, model="offline", offline=offline) as lead:
        outcome = await try_tool(await lead.runtime(), toolbox, spec, given, offline=offline)
    if outcome.failure is not None:
        _print_failure(name, _by_hand(outcome.failure), json=json)
        return Exit.FAILED
    returned = ToolReturn(
        raw=outcome.raw, summary=outcome.summary, sources=outcome.sources, sample=outcome.sample, asks=outcome.asks
    )
    _print(name, returned, json=json)
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
    try:
        return jsonlib.loads(text)
    except ValueError:
        return text


def _signature(spec: ToolSpec) -> str:
    """Return a tool's arguments in one line: ``location=… [day=…]``."""
    properties: dict[str, Any] = spec.parameters.get("properties", {})
    return " ".join(f"{name}=…" if name in spec.required else f"[{name}=…]" for name in properties) or "none"


def _print(name: str, returned: ToolReturn, *, json: bool) -> None:
    if json:
        write_json({"task_name": name, "ok": True, "data": returned.model_dump(mode="json")})
        return
    if returned.summary is not None:
        lines = [returned.summary]
    elif isinstance(returned.raw, str):
        lines = [returned.raw]
    else:
        lines = [jsonlib.dumps(returned.raw, ensure_ascii=False, indent=2)]
    lines += [f"Source: {source.title}  {source.url}" for source in returned.sources]
    write(clean("\n".join(lines)) + "\n")
    if returned.summary is not None and returned.raw is not None:
        say("Add --json to see the raw data.")


def _by_hand(failure: Failure) -> Failure:
    """Return a failure without the advice to call the tool by hand."""
    if BY_HAND not in failure.next_action:
        return failure
    return failure.evolve(next_action="fix the tool; --debug shows the traceback")


def _print_failure(name: str, failure: Failure, *, json: bool) -> None:
    if json:
        write_json({"task_name": name, "ok": False, "error": failure.model_dump(mode="json")})
    print_error(f"{name} failed: {failure.message} ({failure.class_.value}, {failure.type})", failure.next_action)
