"""Each test is a fault seen in the systems Leadhand comes from, and shows that it does not happen here."""

from __future__ import annotations

from typing import Any

from engine.fakes import FakeModels
from engine.tools import Bench
from engine.worlds import ask, plan

from leadhand.core.errors import FailureClass
from leadhand.core.events import StepSettled
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus


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
