"""``leadhand tools call``: try a tool by hand."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from typing import Any

from leadhand.app.formatting import clean
from leadhand.app.tool_trial import try_tool
from leadhand.cli.console import complain, say, write, write_json
from leadhand.cli.exit_codes import Exit
from leadhand.cli.options import HERE, Place, open_lead
from leadhand.cli.own_tools import all_tools
from leadhand.domain.errors import Failure, UsageError
from leadhand.domain.tool import ToolReturn, ToolSpec
from leadhand.domain.value import Json
from leadhand.engine.gate import argument_problems, schema_problems
from leadhand.tools.toolbox import Toolbox

BY_HAND = "leadhand tools call"
"""What is no advice to somebody who has just done it."""


async def tools_call(
    name: str,
    /,
    *arguments: str,
    tools: tuple[str, ...] = (),
    offline: bool = False,
    json: bool = False,
    place: Place = HERE,
) -> int:
    """Call a tool by hand, as a worker would: checked against its schema, bounded in time, failures classed.

    Parameters
    ----------
    name
        The tool.
    arguments
        Its arguments, as name=value; what is not text is given as JSON: days='[1, 2]'.
    tools
        Add the tools of this Python file or module (may be given again).
    offline
        Let it talk to the built-in sample service instead of the network.
    json
        Print the result as a worker returns it, with its raw data.
    """
    toolbox = Toolbox(all_tools(tools))
    spec = toolbox.get(name).spec
    given = _arguments(spec, arguments)
    faults = argument_problems(spec, given)
    if faults:
        raise UsageError(f"{name}: {'; '.join(faults)}", f"It takes: {_signature(spec)}")
    async with open_lead(place, model="offline", offline=offline) as lead:
        outcome = await try_tool(await lead.runtime(), toolbox, spec, given, offline=offline)
    if outcome.failure is not None:
        _tell_failure(name, _by_hand(outcome.failure), json=json)
        return Exit.FAILED
    _tell(
        name,
        ToolReturn(raw=outcome.raw, summary=outcome.summary, sources=outcome.sources, sample=outcome.sample),
        json=json,
    )
    return Exit.ANSWERED


def _arguments(spec: ToolSpec, given: Sequence[str]) -> dict[str, Json]:
    """Arguments from ``name=value``. Raises UsageError."""
    arguments: dict[str, Json] = {}
    for word in given:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise UsageError(f"{word!r} is no argument", f"Give name=value. {spec.name} takes: {_signature(spec)}")
        if name in arguments:
            raise UsageError(f"{name} is given twice", 'Give it once; a list is given as JSON: names=\'["a", "b"]\'.')
        arguments[name] = _value(spec, name, text)
    return arguments


def _value(spec: ToolSpec, name: str, text: str) -> Json:
    """The text itself where the schema takes text, else what it says as JSON."""
    shape: Any = spec.parameters.get("properties", {}).get(name)
    if shape is None or not schema_problems({**shape, "$defs": spec.parameters.get("$defs", {})}, text):
        return text
    try:
        return jsonlib.loads(text)
    except ValueError:
        return text


def _signature(spec: ToolSpec) -> str:
    """A tool's arguments in one line: ``location=… day=…``, optional ones in brackets."""
    properties: dict[str, Any] = spec.parameters.get("properties", {})
    told = [f"{name}=…" if name in spec.required else f"[{name}=…]" for name in properties]
    return " ".join(told) or "no arguments"


def _tell(name: str, returned: ToolReturn, *, json: bool) -> None:
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
        say("The raw data: --json")


def _by_hand(failure: Failure) -> Failure:
    """What a tool raised, without the advice to try it by hand: that is what was done."""
    if BY_HAND not in failure.next_action:
        return failure
    return failure.evolve(next_action="mend the tool; --debug shows the traceback")


def _tell_failure(name: str, failure: Failure, *, json: bool) -> None:
    if json:
        write_json({"task_name": name, "ok": False, "error": failure.model_dump(mode="json")})
    complain(f"{name} failed: {failure.message} ({failure.class_.value}, {failure.type})", failure.next_action)
