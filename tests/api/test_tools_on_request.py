"""The tools for sources belong to a run only if a worker of its flow names them, or if somebody added them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from leads import leadhand_of

from leadhand import Leadhand, RunStatus, UsageError, Worker
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.core.tool import message_of
from leadhand.flows import FlowContext, flow
from leadhand.testing.scripted_model import ScriptedModel, calls, says
from leadhand.tools.web import web_search

RESEARCHER = Worker("researcher", "Find sources.", tools=("web_search", "web_fetch"))


@flow
async def look(run: FlowContext):
    """Have one worker look something up."""
    return await run.ask(RESEARCHER, question=run.request)


async def test_a_worker_that_names_the_tools_has_them(tmp_path: Path) -> None:
    model = ScriptedModel([calls("web_search", query="caffeine in coffee", max_results=1), says("90 mg")])
    async with model, Leadhand(flows=[look], models=model, model="offline", home=tmp_path) as lead:
        answer = await lead.run("How much caffeine?", flow="look")
        state = await (await lead.runtime()).load(answer.run_id)
    assert answer.status is RunStatus.SUCCEEDED
    assert [tool.name for tool in state.definition.tools] == [
        "weather_tool",
        "directions_tool",
        "web_search",
        "web_fetch",
    ]
    assert [tool.name for tool in model.requests[0].tools if tool.name.startswith("we")] == ["web_search", "web_fetch"]
    assert answer.sources[0].url == "leadhand:samples/coffee-brewing.md"
    content = model.requests[1].messages[-1].model_dump()["content"]
    assert message_of(json.loads(content))["results"][0]["passages"], (
        "what was found is data in a tool's result, as JSON"
    )


async def test_no_other_run_has_them(tmp_path: Path) -> None:
    async with Leadhand(model="offline", home=tmp_path) as lead:
        started = await lead.start("What is the weather in Paris?")
        assert [tool.name for tool in started.state.definition.tools] == ["weather_tool", "directions_tool"]
        await started.wait()


async def test_somebody_can_add_them(tmp_path: Path) -> None:
    async with Leadhand(model="offline", tools=[web_search], home=tmp_path) as lead:
        started = await lead.start("What is the weather in Paris?")
        assert [tool.name for tool in started.state.definition.tools] == ["web_search"]
        await started.wait()


async def test_a_run_keeps_its_directory_of_documents(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "house.md").write_text("# Our house\n\nThe boiler was replaced in 2019.\n")
    model = ScriptedModel([calls("web_search", query="boiler replaced"), says("2019")])
    async with model, leadhand_of(flows=[look], models=model, model="offline", documents=folder, home=tmp_path) as lead:
        answer = await lead.run("When was the boiler replaced?", flow="look")
        state = await (await lead.runtime()).load(answer.run_id)
    assert state.definition.documents == str(folder)
    assert answer.sources[0].url == "document:house.md"


async def test_what_is_not_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="documents"):
        leadhand_of(documents=tmp_path / "absent", home=tmp_path)


def test_a_definition_without_documents_is_written_as_before() -> None:
    definition = RunDefinition(request="Hello", flow="echo", models=ModelChoice(default="offline"))
    assert "documents" not in definition.model_dump()
