"""The state of a work order: which of its subtasks have begun, and what came of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leadhand import Leadhand, Limits, ToolError, ToolReturn, tool
from leadhand.core.view import Projection
from leadhand.testing.scripted_model import ScriptedModel, calls, gives, plans, says, subtask


class Gate:
    """A tool that waits until it is let through."""

    def __init__(self) -> None:
        self.waiting = 0
        self.both_wait = asyncio.Event()
        self.open = asyncio.Event()
        gate = self

        @tool
        async def look(n: int) -> ToolReturn:
            """Look at number n."""
            gate.waiting += 1
            if gate.waiting == 2:
                gate.both_wait.set()
            await gate.open.wait()
            return ToolReturn(raw=n, summary=f"saw {n}")

        self.look = look


BEGUN = {"0": "running", "1": "running", **dict.fromkeys("2345", "pending")}


def statuses(work_state: dict[str, Any]) -> dict[str, str]:
    """The status of each subtask, by its index."""
    return {index: each["status"] for index, each in work_state["subtask_state"].items()}


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    while not holds():  # noqa: ASYNC110 (a file says nothing when it changes)
        await asyncio.sleep(0.01)


async def test_a_subtask_is_pending_until_an_attempt_has_begun(tmp_path: Path) -> None:
    gate = Gate()
    model = ScriptedModel(plan=[plans(*(subtask(f"look_{n}", "look", n=n) for n in range(6)))], lenient=True)
    async with Leadhand(models=model, tools=[gate.look], home=tmp_path, limits=Limits(max_workers=2)) as lead:
        run = await lead.start("look at six")
        await gate.both_wait.wait()
        while statuses((document := await run.document())["work_state"]) != BEGUN:  # noqa: ASYNC110 (only the log says)
            await asyncio.sleep(0.01)  # a tool that only reads begins before the log says so
        view = Projection(run.run_id)
        view.take_all(await (await lead.runtime()).store.read(run.run_id))
        file = tmp_path / "runs" / run.run_id / "work_order.json"
        await until(file.exists)
        issued = json.loads(file.read_text())
        gate.open.set()
        answer = await run.answer()

    assert [len(order["subtasks"]) for order in issued["work_orders"]] == [len(BEGUN)]
    assert statuses(document["work_state"]) == BEGUN
    assert [each["status"] for each in document["steps"] if each["counts"]] == list(BEGUN.values())
    lanes = view.document["steps"]
    assert {key: lanes[f"wo-001.{key}"]["status"] for key in BEGUN} == BEGUN

    assert answer.work_state is not None
    assert answer.work_state.subtask_state[0].status == "completed"
    assert answer.work_state.completed
    assert statuses(answer.document["work_state"]) == dict.fromkeys(BEGUN, "completed"), "keys are texts in JSON"


async def test_a_run_without_an_order_has_no_work_state(tmp_path: Path) -> None:
    model = ScriptedModel(plan=[gives({"answer": "Hello!"})], lenient=True)
    async with Leadhand(models=model, home=tmp_path) as lead:
        answer = await lead.run("Hello")
    assert answer.work_state is None


async def test_evidence_has_the_arguments_of_the_call_that_produced_the_result(tmp_path: Path) -> None:
    @tool
    async def weather(location: str) -> ToolReturn:
        """Return the weather."""
        if location != "Paris":
            raise ToolError(f"there is no {location}", type="not_found")
        return ToolReturn(raw={"high": 21}, summary="Paris: 21 °C")

    work = [calls("weather", location="Paris"), says("Paris: 21 °C")]
    model = ScriptedModel(plan=[plans(subtask("check", "weather", location="Pari"))], work=work, lenient=True)
    async with Leadhand(models=model, tools=[weather], home=tmp_path) as lead:
        answer = await lead.run("The weather in Paris?")

    (event,) = answer.document["context_store"]["events"]
    assert (event["result"], event["content"]["location"]) == ("success", "Paris")
    assert answer.document["work_orders"][0]["subtasks"][0]["args"] == {"location": "Pari"}, "the order is immutable"
