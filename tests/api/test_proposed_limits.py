"""A run that a limit ended continues to its end with the limits that Leadhand proposes, as they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from api.test_spending import answering, counting
from leads import leadhand_of

from leadhand import Answer, FailureClass, Leadhand, Limits, ToolError, tool
from leadhand.app.new_limits import proposed_limits
from leadhand.core.state import RunState
from leadhand.testing.model_server import ScriptedServer


def exhausted(answer: Answer) -> list[str]:
    """Return why parts are missing that a limit ended."""
    found = [gap.reason for gap in answer.gaps if gap.class_ == "exhausted"]
    failure = answer.document["failure"]
    return [*found, *([failure["message"]] if failure is not None and failure["class"] == "exhausted" else [])]


async def state_of(lead: Leadhand, run_id: str) -> RunState:
    return await (await lead.runtime()).load(run_id)


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [
        {"max_requests": 1},
        {"max_requests": 2},
        {"max_requests": 12},
        {"max_tokens": 1_000},
        {"max_tokens": 9_000},
        {"budget": 0.0},
        {"budget": 0.002},
        {"budget": 0.004},
        {"max_requests": 9, "max_tokens": 12_000, "budget": 0.003},
    ],
    ids=str,
)
async def test_the_rest_of_a_run_fits_the_limits_that_are_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, Any]
) -> None:
    async with ScriptedServer(answering(counting, 15)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        async with leadhand_of("openai:gpt-4o-mini", tools=[], home=tmp_path, **limits) as lead:
            answer = await lead.run("do it all")
            assert exhausted(answer)
            state = await state_of(lead, answer.run_id)
            planned, times = bool(state.orders), 0
            while exhausted(answer):
                assert (times := times + 1) <= (1 if planned else 2), (limits, proposed_limits(state))
                answer = await (await lead.resume(answer.run_id, limits=Limits(**proposed_limits(state)))).answer()
                state = await state_of(lead, answer.run_id)
    assert len({each.step.name for each in state.steps.values() if each.counts and each.ok}) == 15


@pytest.mark.slow
async def test_the_time_that_is_proposed_is_enough_for_all_that_is_left(tmp_path: Path, lead_of: Any) -> None:
    @tool
    async def wait_tool(n: int) -> str:
        """Wait."""
        await asyncio.sleep(0.2)
        return f"{n} waited"

    models = lead_of("wait_tool", [{"n": n} for n in range(15)])
    async with Leadhand(
        models=models, tools=[wait_tool], home=tmp_path, limits=Limits(max_workers=1, timeout=1.0)
    ) as lead:
        first = await lead.run("wait")
        assert exhausted(first)
        proposed = proposed_limits(await state_of(lead, first.run_id))
        last = await (await lead.resume(first.run_id, limits=Limits(**proposed))).answer()
    assert proposed["timeout"] > 15 * 0.2
    assert not exhausted(last)


async def test_a_proposed_time_limit_has_room_for_the_wait_that_a_service_asked_for(tmp_path: Path) -> None:
    @tool
    def tide_tool(location: str) -> str:
        """Return the tide at a harbour."""
        raise ToolError("slow down", class_=FailureClass.RATE_LIMITED, retry_after_s=3_600)

    async with Leadhand(model="offline", tools=[tide_tool], home=tmp_path, limits=Limits(timeout=20)) as lead:
        answer = await lead.run("When is the tide in Dover?")
        proposed = proposed_limits(await state_of(lead, answer.run_id))
    assert "20 s" in exhausted(answer)[0]
    assert 3_600 + 120 <= proposed["timeout"] < 4_000, "up to 120 s are held back for the review and the answer"
