"""Tools that are described by JSON schemas, and sources of tools, at the doors of a Python program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from leadhand import ConfigurationError, Leadhand, Tool, ToolContext, ToolReturn, UsageError, tool
from leadhand.core.tool import ToolSpec
from leadhand.testing.scripted_model import ScriptedModel
from leadhand.testing.steps import plans
from leadhand.tools.toolbox import Toolbox

PORT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"port": {"$ref": "#/$defs/port"}, "height": {"type": ["number", "null"], "x-unit": "m"}},
    "required": ["port"],
    "$defs": {"port": {"type": "string", "minLength": 3}},
    "additionalProperties": False,
}
HEIGHT = {"type": "object", "properties": {"m": {"type": "number"}}, "required": ["m"]}


def tide(args: Mapping[str, Any], context: ToolContext) -> Any:
    return {"m": args.get("height", 4.2)}


async def slow_tide(args: Mapping[str, Any], context: ToolContext) -> Any:
    return ToolReturn(raw={"m": 4.2}, summary=f"{args['port']}: 4.2 m")


def planned(**args: Any) -> ScriptedModel:
    order = plans({"name": "tide", "tool": "tide", "args": args})
    return ScriptedModel(plan=order, lenient=True)


def test_a_schema_is_passed_on_as_it_is() -> None:
    made = Tool.from_schema("tide", "The tide.", PORT, tide, output=HEIGHT, origin="mcp:sea")
    assert (made.spec.parameters, made.spec.output) == (PORT, HEIGHT)
    assert (made.spec.effect, made.spec.import_path, made.spec.origin) == ("once", "mcp:sea:tide", "mcp:sea")
    assert Tool.from_schema("tide", "The tide.", PORT, tide).spec.origin == __name__


@pytest.mark.parametrize(
    "given",
    [
        {"name": "no name"},
        {"description": 3},
        {"parameters": {"type": "array"}},
        {"parameters": "text"},
        {"call": "text"},
        {"call": lambda args: args},
        {"output": "text"},
        {"effect": "twice"},
        {"retry": 3},
    ],
)
def test_what_is_not_a_tool_is_refused(given: dict[str, Any]) -> None:
    fitting = {"name": "tide", "description": "The tide.", "parameters": PORT, "call": tide}
    with pytest.raises(UsageError):
        Tool.from_schema(**{**fitting, **given})


@pytest.mark.parametrize("call", [tide, slow_tide])
async def test_a_tool_from_a_schema_is_called_in_a_run(tmp_path: Path, call: Any) -> None:
    made = Tool.from_schema("tide", "The tide.", PORT, call, effect="pure", output=HEIGHT)
    async with Leadhand(models=planned(port="Dover"), tools=[made], home=tmp_path, check="off") as lead:
        answer = await lead.run("When is the tide?")
    assert answer.status == "succeeded", answer
    assert "4.2" in answer.text


@dataclass(frozen=True)
class Sea:
    """A source whose list a test changes."""

    name: str = "sea"
    kind: str = "mcp"
    offers: dict[str, Any] = field(default_factory=dict[str, Any])

    def connect(self, environment: Mapping[str, str]) -> Connected:
        return Connected(self, environment)


class Connected:
    def __init__(self, source: Sea, environment: Mapping[str, str]) -> None:
        self._source, self.closed = source, False

    async def tools(self) -> Sequence[Tool[..., Any]]:
        if "broken" in self._source.offers:
            raise ConfigurationError("the server sea does not answer", "Start it.")
        return [self._tool(name, call) for name, call in self._source.offers.items()]

    def _tool(self, name: str, call: Any) -> Tool[..., Any]:
        return Tool.from_schema(name, "The tide.", PORT, call, effect="pure", origin="mcp:sea")

    def bind(self, spec: ToolSpec) -> Tool[..., Any]:
        return self._tool(spec.name, tide)

    async def aclose(self) -> None:
        self.closed = True


async def test_the_tools_of_a_source_are_asked_for_before_each_run(tmp_path: Path) -> None:
    sea = Sea()
    async with Leadhand(models=planned(port="Dover"), tools=[sea], home=tmp_path, check="off") as lead:
        refused = await lead.run("When is the tide?")
        sea.offers["tide"] = tide
        answer = await lead.run("When is the tide?")
    assert (refused.status, answer.status) == ("failed", "succeeded")
    assert "4.2" in answer.text


async def test_a_source_that_cannot_be_reached_refuses_a_start(tmp_path: Path) -> None:
    async with Leadhand(models=planned(port="Dover"), tools=[Sea(offers={"broken": ""})], home=tmp_path) as lead:
        with pytest.raises(ConfigurationError, match="sea"):
            await lead.start("When is the tide?")


async def test_a_name_that_is_taken_gets_the_name_of_its_source() -> None:
    @tool(name="tide")
    def own() -> str:
        """The tide."""
        return "high"

    box = Toolbox([own, Sea(offers={"tide": tide})])
    await box.open()
    assert [spec.name for spec in box.specs()] == ["tide", "sea_tide"]
    assert box.specs()[1].import_path == "mcp:sea:tide"
    with pytest.raises(UsageError):
        box.add(Sea())
