"""A call that failed for good is a result: its model sees it, and the attempt goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench, refusal
from engine.worlds import ask, plan
from leadhand.core.conversation import ToolMessage
from leadhand.core.errors import FailureClass
from leadhand.core.events import ToolCallBegan
from leadhand.core.limits import Limits
from leadhand.core.run import RunStatus
from leadhand.engine.forking import fork
from leadhand.ports.models import ModelRequest

DOWN = refusal("the line is dead", FailureClass.TRANSIENT)


def told(request: ModelRequest) -> list[Any]:
    """What the calls of a conversation were answered with."""
    return [json.loads(message.content) for message in request.messages if isinstance(message, ToolMessage)]


def asks_another(request: ModelRequest, facts: dict[str, Any]) -> Any:
    """Try a tool that is down beside one that works, then take a third one."""
    match len(told(request)):
        case 0:
            return calls(("flaky", {"n": 1}), ("look", {"n": 1}))
        case 2:
            return calls(("look", {"n": 2}))
        case _:
            return "saw 1 and saw 2"


async def test_a_service_that_says_how_long_to_wait_is_believed(open_world: Any):
    error = refusal("come back later", FailureClass.TRANSIENT)
    error.failure = error.failure.evolve(retry_after_s=42.0)
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=[calls(("flaky", {"n": 1})), "saw 1 at last"])
    world = open_world(models, [bench.flaky(1, error)])
    await world.run()

    assert world.clock.slept == [42.0]


async def test_a_call_that_could_only_be_made_again_too_late_is_shown_at_once(open_world: Any):
    error = refusal("come back tomorrow", FailureClass.TRANSIENT)
    error.failure = error.failure.evolve(retry_after_s=86_400.0)
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=asks_another)
    world = open_world(models, [bench.flaky(9, error), bench.look], limits=Limits(timeout_s=60))
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert bench.counts == {"flaky": 1, "look": 2}


@pytest.mark.parametrize("cut", range(4, 24))
async def test_from_wherever_the_process_ended_nothing_is_tried_more_often(open_world: Any, cut: int):
    bench = Bench()
    models = FakeModels(plan(ask("a")), work=asks_another)
    world = open_world(models, [bench.flaky(9, DOWN, retries=2), bench.look])
    whole = await world.run()
    entries = await world.entries()
    assert cut < len(entries)
    kept = entries[:cut]
    before = [entry.event for entry in kept if isinstance(entry.event, ToolCallBegan)]
    ended = {event.call_id for event in await world.events(ToolCallBegan)}
    bench.made.clear()
    await fork(world.store, "run_1", cut, "fork_1")
    again = await world.drive("fork_1")

    assert again.steps["wo-001.0"].data.summary == whole.steps["wo-001.0"].data.summary
    assert {event.call_id for event in await world.events(ToolCallBegan, "fork_1")} == ended
    under_way = 1  # a call that had begun may be made once more
    for name, most in (("flaky", 3), ("look", 2)):
        assert bench.counts[name] + sum(event.tool == name for event in before) <= most + under_way
    seen = told(models.requests("work")[-1])
    assert [each.get("isError", False) for each in seen] == [True, False, False]
