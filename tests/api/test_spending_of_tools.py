"""What a tool spends on models of its own is reserved in the run's budget before, and booked after."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leadhand import Answer, Leadhand, Limits, ToolContext, tool
from leadhand.testing.scripted_model import ScriptedModel, plans, subtask

MOST: dict[str, Any] = {"requests": 4, "tokens": 5_000}
USED: dict[str, Any] = {"requests": 2, "input_tokens": 1_500, "output_tokens": 500}
MODEL = "openai:gpt-5-mini"
"""$0.25 a million tokens of input, $2 of output."""


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, without which the price of the model is not looked for."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("LEADHAND_CHECK", "off")


class Agent:
    """A tool that spends, and counts how often it came to it."""

    def __init__(self, most: dict[str, Any], used: dict[str, Any] | None, model: str = MODEL) -> None:
        self.most, self.used, self.model = most, used, model
        self.entered = self.inside = self.together = 0

    async def ask(self, context: ToolContext, question: str = "") -> str:
        """Ask the agent."""
        async with context.spend(self.model, question, **self.most) as spent:
            self.entered, self.inside = self.entered + 1, self.inside + 1
            self.together = max(self.together, self.inside)
            await asyncio.sleep(0)
            self.inside -= 1
            if self.used is not None:
                spent.book(**self.used)
            if question == "fail":
                raise ValueError("the agent failed")
        return "asked"


async def run(agent: Agent, home: Path, *questions: str, budget: float = 1.0) -> Answer:
    order = plans(*(subtask(f"ask_{n}", "ask", question=each) for n, each in enumerate(questions or ("where",))))
    given: dict[str, Any] = {
        "models": {"mine": ScriptedModel(plan=order, lenient=True)},
        "model": "mine",
        "home": home,
        "check": "off",
    }
    async with Leadhand(tools=[agent.ask], limits=Limits(budget=budget), **given) as lead:
        return await lead.run("do it")


@pytest.mark.parametrize(
    ("most", "used", "question", "usd", "tokens"),
    [
        ({**MOST, "usd": 0.3}, {**USED, "usd": 0.1}, "where", 0.1, 2_000),
        ({**MOST, "usd": 0.3}, USED, "where", 0.001375, 2_000),
        (MOST, USED, "where", 0.001375, 2_000),
        (MOST, None, "where", 0.01, 5_000),
        (MOST, {**USED, "usd": 0.4}, "where", 0.4, 2_000),
        (MOST, USED, "fail", 0.001375, 2_000),
        (MOST, None, "fail", 0.01, 5_000),
    ],
)
async def test_what_is_booked_replaces_the_reservation_and_without_that_all_of_it_counts(
    tmp_path: Path, most: dict[str, Any], used: dict[str, Any] | None, question: str, usd: float, tokens: int
) -> None:
    answer = await run(Agent(most, used), tmp_path, question)
    assert answer.document["usage"]["cost_usd"] == usd
    assert answer.usage.input_tokens + answer.usage.output_tokens == (tokens if used is not None else 0)
    assert answer.status == ("failed" if question == "fail" else "succeeded")


@pytest.mark.parametrize(
    ("most", "model", "class_"),
    [
        ({**MOST, "usd": 1.1}, MODEL, "exhausted"),
        ({**MOST, "tokens": 1_000_000}, MODEL, "exhausted"),
        (MOST, "openai_compatible:nobody-knows", "unavailable"),
    ],
)
async def test_what_does_not_fit_the_budget_is_not_begun(
    tmp_path: Path, most: dict[str, Any], model: str, class_: str
) -> None:
    agent = Agent(most, USED, model)
    answer = await run(agent, tmp_path)
    assert ([gap.class_ for gap in answer.gaps], agent.entered, answer.cost_usd) == ([class_], 0, 0)


async def test_calls_that_do_not_fit_together_wait_for_each_other(tmp_path: Path) -> None:
    agent = Agent({**MOST, "usd": 0.5}, {**USED, "usd": 0.1})
    answer = await run(agent, tmp_path, "a", "b", "c")
    assert (answer.status, agent.entered, agent.together) == ("succeeded", 3, 1)
    assert answer.document["usage"]["cost_usd"] == 0.3


async def test_a_blocking_tool_spends_in_its_thread_and_by_hand_nothing_is_reserved(tmp_path: Path) -> None:
    agent = Agent(MOST, USED)

    @tool(name="ask")
    def blocking(context: ToolContext, question: str) -> str:
        return asyncio.run(agent.ask(context, question))

    order = plans(subtask("ask", "ask", question="where"))
    models: Any = {"models": {"mine": ScriptedModel(plan=order, lenient=True)}, "model": "mine"}
    async with Leadhand(tools=[blocking], **models, home=tmp_path, check="off", limits=Limits(budget=1)) as lead:
        run = await lead.start("do it")
        answer = await run.answer()
        calls = [each async for each in run.events() if each.type == "model_call_began" and "/m" in each.call_id]
    assert (answer.text, answer.cost_usd) == ("asked", 0.001375)
    assert [each.call_id for each in calls] == ["wo-001.0/t0/c0/m0"]
