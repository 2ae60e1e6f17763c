"""Each test is a fault seen in the systems Leadhand comes from, and shows that it does not happen here."""

from __future__ import annotations

import json
from typing import Any

from engine.fakes import FakeModels, judged
from engine.tools import Bench
from engine.worlds import ask, plan

from leadhand.core.errors import FailureClass
from leadhand.core.events import StepSettled
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus


async def test_a_worker_that_says_ok_without_calling_its_tool_is_not_believed(open_world: Any):
    """Seen: a worker's own "ok": true was the only proof that anything was done."""
    bench = Bench()
    lie = json.dumps({"task_name": "b", "ok": True, "data": {"summary": "It measures 40.", "raw": {"value": 40}}})
    models = FakeModels(plan(ask("a", "look", n=1), {**ask("b", "measure"), "needs": [0]}), work=lie)
    world = open_world(models, [bench.look, bench.measure])
    state = await world.run()
    document = await world.document()

    assert bench.counts["measure"] == 0
    assert document["work_state"]["subtask_state"]["1"]["status"] != "completed"
    assert document["status"] == "partial"
    assert [gap["name"] for gap in document["gaps"]] == ["b"]
    assert "It measures 40" not in state.finished.answer


async def test_a_missing_tool_is_never_retried_to_the_cap(open_world: Any):
    """Seen: a subtask whose tool did not exist was put into order after order until the steps were used up."""
    bench = Bench()

    def always_again(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        verdicts = [
            {"subtask": shown["subtask"], "verdict": "accept" if shown["status"] == "completed" else "retry"}
            for shown in facts["subtasks"]
        ]
        return {"verdicts": verdicts, "complete": False}

    models = FakeModels(plan(ask("a", "look", n=1), ask("b", "measure", n=2)), review=always_again)
    world = open_world(models, [bench.look, bench.measure], limits=Limits(max_steps=10))
    run_id = await world.start()
    world.toolbox._tools.pop("measure")
    state = await world.drive(run_id)

    settled = [event for event in await world.events(StepSettled) if event.attempt.startswith("wo-001.1/")]
    assert len(settled) == 1
    assert len(state.orders) == 1
    (gap,) = state.finished.gaps
    assert gap.class_ is FailureClass.UNAVAILABLE
    assert state.status is RunStatus.PARTIAL


async def test_an_order_does_not_change_while_it_is_carried_out(open_world: Any):
    """Seen: the plan was edited in place by whoever failed, so that nobody knew what had been asked."""
    bench = Bench()

    def again(request: Any, facts: dict[str, Any]) -> dict[str, Any]:
        return {"verdicts": [{"subtask": facts["subtasks"][0]["subtask"], "verdict": "retry"}], "complete": False}

    models = FakeModels(plan(ask("a", "flaky", n=1)), review=[again, judged])
    world = open_world(models, [bench.flaky(3, retries=2)])
    await world.run()
    document = await world.document()

    first, second = document["work_orders"]
    assert first["subtasks"] == [{"name": "a", "args": {"n": 1}, "tool": "flaky"}]
    assert second == {
        "work_order_id": "wo-002",
        "goal": "all of it",
        "repairs": "wo-001",
        "subtasks": [{"name": "a", "args": {"n": 1}, "tool": "flaky", "repairs_subtask": "wo-001.0"}],
    }
    assert document["work_states"][0]["subtask_state"]["0"]["status"] == "failed"
    assert document["work_state"]["completed"] is True
