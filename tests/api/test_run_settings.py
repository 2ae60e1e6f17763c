"""Settings of single runs: pinned in the log, shown in the run document, and never more than the Leadhand allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from leadhand import ConfigurationError, Leadhand, Limits, RunStatus, ToolReturn, UsageError, tool
from leadhand.testing.scripted_model import ScriptedModel
from leadhand.testing.steps import plans, subtask


@tool
async def look(what: str) -> ToolReturn:
    """Look at something."""
    return ToolReturn(summary=f"saw {what}")


@tool(effect="once", approval="auto")
async def pay(to: str) -> ToolReturn:
    """Pay somebody."""
    return ToolReturn(summary=f"paid {to}")


def model_for(tool_name: str = "look", **args: Any) -> ScriptedModel:
    return ScriptedModel(plan=[plans(subtask("it", tool_name, **args))], lenient=True)


async def test_instructions_of_a_run_reach_every_worker_and_are_pinned(home: Path) -> None:
    model = model_for(what="tide")
    async with Leadhand(models=model, tools=[look], home=home) as lead:
        answer = await lead.run("look", instructions="Use metric units.")
        assert answer.status is RunStatus.SUCCEEDED
        assert all("Use metric units." in each.messages[0].text for each in model.requests)
        assert answer.document["instructions"] == {"*": "Use metric units."}
        state = await (await lead.runtime()).load(answer.run_id)
        assert all(worker.instructions.endswith("Use metric units.") for worker in state.definition.workers)


async def test_instructions_by_worker_reach_that_worker_alone(home: Path) -> None:
    model = model_for(what="tide")
    async with Leadhand(models=model, tools=[look], home=home) as lead:
        await lead.run("look", instructions={"plan": "Prefer trains."})
        assert {each.worker for each in model.requests if "Prefer trains." in each.messages[0].text} == {"plan"}
        with pytest.raises(UsageError, match="'planer'"):
            await lead.start("look", instructions={"planer": "x"})


async def test_a_run_can_be_restricted_to_some_tools_and_never_gets_more(home: Path) -> None:
    model = model_for(what="tide")
    async with Leadhand(models=model, tools=[look, pay], home=home) as lead:
        answer = await lead.run("look", tools=[look])
        assert answer.document["tools"] == ["look"]
        assert "pay" not in model.requests[0].messages[1].text
        for wanted in (["web_search"], ["weather_tool"], [print]):
            with pytest.raises(UsageError, match=getattr(wanted[0], "__name__", wanted[0])):
                await lead.start("look", tools=wanted)
        with pytest.raises(UsageError, match="tools"):
            await lead.start("look", tools="look")
        state = await (await lead.runtime()).load((await lead.start("x", tools=[], plan_only=True)).run_id)
        assert (state.definition.tools, state.definition.only_tools) == ((), ())


async def test_a_plan_cannot_name_a_tool_that_the_run_was_not_given(home: Path) -> None:
    model = ScriptedModel(plan=[plans(subtask("pay", "pay", to="Ann"))] * 3, lenient=True)
    async with Leadhand(models=model, tools=[look, pay], home=home) as lead:
        answer = await lead.run("pay", tools=["look"])
    assert answer.status is RunStatus.FAILED
    assert answer.failure is not None
    assert answer.failure.type == "malformed_answer"


async def test_a_run_has_the_limits_that_it_is_given_and_the_others_of_its_leadhand(home: Path) -> None:
    async with Leadhand(model="offline", home=home, limits=Limits(budget=0.5, max_steps=2)) as lead:
        run = await lead.start("weather in Paris", limits=Limits(budget=5, timeout="5m"))
        limits = (await run.document())["limits"]
        assert (limits["budget"], limits["max_steps"], limits["timeout"]) == (5, 2, 300)
        with pytest.raises(UsageError, match="limits"):
            await lead.start("weather in Paris", limits=cast("Any", 1))


async def test_a_run_can_have_an_adapter_of_its_own(home: Path) -> None:
    usual, own = model_for(what="tide"), model_for(what="wind")
    lead = Leadhand(models=usual, tools=[look], home=home)
    async with lead:
        answer = await lead.run("look", model=own)
        assert (len(usual.requests), answer.status) == (0, RunStatus.SUCCEEDED)
        name = answer.document["model"]
        assert name.startswith("adapter-")
        assert (await lead.start("look", model=model_for(what="sea"))).state.definition.models.default != name
    async with Leadhand(model="offline", tools=[look], home=home) as other:
        runtime = await other.runtime()
        with pytest.raises(ConfigurationError, match=name):
            runtime.models.check(name)


async def test_a_run_can_name_one_of_the_adapters_of_the_program(home: Path) -> None:
    mine = model_for(what="tide")
    async with Leadhand("mine", models={"mine": mine, "other": model_for(what="sea")}, tools=[look], home=home) as lead:
        answer = await lead.run("look", model="other")
        assert answer.document["model"] == "other"
        with pytest.raises(ConfigurationError):
            await lead.start("look", model="yours:model")
        with pytest.raises(UsageError, match="model"):
            await lead.start("look", model=3)  # pyright: ignore[reportArgumentType]


async def test_an_offline_leadhand_runs_no_other_model(home: Path) -> None:
    async with Leadhand(model="offline", home=home) as lead:
        with pytest.raises(UsageError, match="openai:gpt"):
            await lead.start("look", model="openai:gpt")


async def test_a_resumed_run_keeps_its_settings_in_another_process(home: Path) -> None:
    async with Leadhand(models=model_for(what="tide"), tools=[look, pay], home=home) as lead:
        answer = await lead.run(
            "look", tools=["look"], instructions="Be brief.", plan_only=True, limits=Limits(budget=0.5)
        )
    model = model_for(what="never planned")
    async with Leadhand(models=model, tools=[look, pay], home=home) as other:
        answer = await (await other.resume(answer.run_id)).answer()
    document = answer.document
    assert (document["tools"], document["instructions"]) == (["look"], {"*": "Be brief."})
    assert document["limits"]["budget"] == 0.5
    assert all("Be brief." in each.messages[0].text for each in model.requests)


def test_the_same_settings_work_without_a_loop(home: Path) -> None:
    given: dict[str, Any] = {"tools": ["weather_tool"], "instructions": "Be brief."}
    document = Leadhand(model="offline", home=home).run_sync("weather in Paris", **given).document
    assert (document["tools"], document["instructions"]) == (["weather_tool"], {"*": "Be brief."})


async def test_a_run_that_was_got_continues_after_its_approval(home: Path) -> None:
    model = model_for("pay", to="Ann")
    asking = tool(effect="once")(pay.function)
    async with Leadhand(models=model, tools=[asking], home=home) as lead:
        answer = await lead.run("pay Ann")
        assert answer.status is RunStatus.WAITING
        run = await lead.get(answer.run_id)
        await lead.approve((await run.approvals())[0])
        assert (await run.answer()).status is RunStatus.SUCCEEDED
