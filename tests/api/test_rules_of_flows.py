"""Approval rules and restrictions of tools know every tool of a run, wherever the run has it from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand import Leadhand, RunStatus, UsageError
from leadhand.testing.scripted_model import ScriptedModel

OF_FLOWS = ["web_search", "subagent_run", "filesystem_write"]


@pytest.mark.parametrize("name", OF_FLOWS)
async def test_a_rule_can_name_a_tool_of_a_flow(tmp_path: Path, name: str) -> None:
    async with Leadhand(model="offline", home=tmp_path, approve={f"tool:{name}": "never"}) as lead:
        answer = await lead.research("How much caffeine is in coffee?")
        state = await (await lead.runtime()).load(answer.run_id)
    assert {rule: str(policy) for rule, policy in state.definition.approve_rules.items()} == {f"tool:{name}": "never"}
    assert name in answer.document["tools"]


async def test_a_rule_for_a_tool_that_only_other_runs_have_is_accepted(tmp_path: Path) -> None:
    async with Leadhand(model="offline", home=tmp_path, approve={"tool:web_search": "never"}) as lead:
        assert (await lead.run("Weather in Paris?")).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("flow", ["research", "work-order"])
async def test_a_typing_error_in_a_rule_is_refused_for_every_flow(tmp_path: Path, flow: str) -> None:
    async with Leadhand(model="offline", home=tmp_path, approve={"tool:web_serch": "never"}) as lead:
        with pytest.raises(UsageError) as refused:
            await lead.start("How much caffeine is in coffee?", flow=flow)
    assert "web_serch" in refused.value.what


@pytest.mark.parametrize("name", OF_FLOWS)
async def test_a_run_can_be_restricted_to_a_tool_of_its_flow(tmp_path: Path, name: str) -> None:
    async with Leadhand(models=ScriptedModel(), home=tmp_path) as lead:
        run: Any = await lead.start("How much caffeine is in coffee?", flow="research", tools=[name])
        assert name in [tool.name for tool in run.state.definition.tools]
        await run.cancel()
