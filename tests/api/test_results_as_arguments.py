"""An argument can be a result of another subtask: a value in it, or what a worker works out from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leadhand import Leadhand, RunStatus, ToolReturn, tool
from leadhand.testing.scripted_model import ScriptedModel, brief_of, calls, plans, says, subtask

ORDERS = "Meier GmbH has two orders: A-7781 (shipped) and A-7902 (open)."


class Shop:
    """Tools that find orders, and the orders that they were asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        shop = self

        @tool
        async def list_orders() -> ToolReturn:
            """List the orders of a customer."""
            return ToolReturn(raw={"orders": [{"id": "A-7781"}, {"id": "A-7902"}]}, summary=ORDERS)

        @tool
        async def order_delay(order: str, unit: str = "days") -> ToolReturn:
            """Return the delay of an order."""
            shop.asked.append(order)
            return ToolReturn(raw=3, summary=f"{order} is 3 {unit} late")

        self.tools = [list_orders, order_delay]


def late(**order: Any) -> Any:
    """A plan that looks up the delay of an order that another subtask finds."""
    delay = subtask("delay", "order_delay", order={"$result": {"subtask": "0", **order}}, unit="days")
    return plans(subtask("orders", "list_orders"), {**delay, "needs": [0]})


async def test_without_a_path_the_worker_works_the_argument_out_before_the_tool_is_called(tmp_path: Path) -> None:
    shop = Shop()

    def work(request: Any) -> Any:
        assert shop.asked == [] or len(request.messages) > 2, "the tool was called before the worker said with what"
        return calls("order_delay", order="A-7902", unit="days") if not shop.asked else says("A-7902 is 3 days late")

    model = ScriptedModel(plan=[late()], work=work, lenient=True)
    async with Leadhand(models=model, tools=shop.tools, home=tmp_path) as lead:
        answer = await lead.run("Is the open order of Meier GmbH late?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert shop.asked == ["A-7902"]
    brief = brief_of(model.asked("work")[0])
    assert brief["subtask"]["args"] == {"unit": "days"}
    assert list(brief["work_out"]) == ["order"]
    assert brief["needs"]["wo-001.0"]["summary"] == ORDERS
    (event,) = [each for each in answer.document["context_store"]["events"] if each["task_name"] == "delay"]
    assert event["content"]["order"] == "A-7902"
    assert answer.document["work_orders"][0]["subtasks"][1]["args"]["order"] == {"$result": {"subtask": "wo-001.0"}}


async def test_what_the_lead_says_of_an_argument_reaches_the_worker_who_works_the_rest_out(tmp_path: Path) -> None:
    asked: list[Any] = []

    @tool
    def cancel(body: dict[str, str]) -> str:
        """Cancel an order."""
        asked.append(body)
        return "cancelled"

    body = {"order": {"$result": {"subtask": "0"}}, "reason": "We are sorry, but we no longer need it."}
    order = {**subtask("cancel", "cancel", body=body), "needs": [0]}

    def work(request: Any) -> Any:
        said = brief_of(request)["work_out"]["body"]
        assert "We are sorry, but we no longer need it." in said
        return calls("cancel", body={**body, "order": "A-7902"}) if not asked else says("A-7902 is cancelled")

    model = ScriptedModel(plan=[plans(subtask("orders", "list_orders"), order)], work=work, lenient=True)
    async with Leadhand(models=model, tools=[Shop().tools[0], cancel], home=tmp_path) as lead:
        answer = await lead.run("Cancel the open order of Meier GmbH")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert asked == [{**body, "order": "A-7902"}]


async def test_with_a_path_the_tool_is_called_with_the_value_there(tmp_path: Path) -> None:
    shop = Shop()
    model = ScriptedModel(plan=[late(path="/raw/orders/1/id")], lenient=True)
    async with Leadhand(models=model, tools=shop.tools, home=tmp_path) as lead:
        answer = await lead.run("Is the second order of Meier GmbH late?")

    assert answer.status is RunStatus.SUCCEEDED, answer.gaps
    assert shop.asked == ["A-7902"]
    assert model.asked("work") == []
    (event,) = [each for each in answer.document["context_store"]["events"] if each["task_name"] == "delay"]
    assert event["content"]["order"] == "A-7902"
