"""The contract of flows holds for the examples, as a reader would write their tests."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from leadhand import Worker, tool
from leadhand.core.tool import ToolReturn
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.testing.flow_contract import FlowContract
from leadhand.tools.travel.weather import weather_tool

FLOWS = Path(__file__).resolve().parents[2] / "examples" / "flows"


def flow_of(name: str) -> FunctionFlow:
    return next(each for each in runpy.run_path(str(FLOWS / name)).values() if isinstance(each, FunctionFlow))


class TestCritic(FlowContract):
    flow = flow_of("critic.py")


class TestTranslate(FlowContract):
    flow = flow_of("translate.py")


class TestAskFirst(FlowContract):
    flow = flow_of("ask_first.py")


class TestOrders(FlowContract):
    flow = flow_of("orders.py")
    request = "A-1, A-2, A-3"


class TestCompareWeather(FlowContract):
    flow = flow_of("compare_weather.py")
    request = "Paris, Nice"
    tools = (tool(name="weather_tool")(weather_tool),)

    def returned(self, step: Any, worker: Any) -> ToolReturn | None:
        return ToolReturn(raw={"days": [{"temperature_max": 21}]}) if worker.name == "call.weather_tool" else None


@tool
async def stock(article: str) -> int:
    """Count what is in stock."""
    return len(article)


clerk = Worker("clerk", "Say how much there is.", tools=[stock, Worker("helper", "Help.", loop="reply")])


@flow
async def counting(run: FlowContext) -> str:
    """Ask a worker that brings its own tools."""
    return (await run.ask(clerk, final=True)).text


class TestCounting(FlowContract):
    flow = counting


@pytest.mark.parametrize("verdict", [{"approved": False}, {"approved": False, "problems": ["too short"]}])
def test_a_loop_whose_critic_is_never_satisfied_ends(verdict: dict[str, Any]) -> None:
    class Strict(FlowContract):
        flow = flow_of("critic.py")

        def reply(self, step: Any, worker: Any) -> str | dict[str, Any]:
            return verdict if worker.name == "critic" else f"{step.step_id} is done"

    suite = Strict()
    suite.test_a_run_in_which_everything_works_succeeds()
    suite.test_a_log_cut_anywhere_is_resumed_to_the_same_answer()
