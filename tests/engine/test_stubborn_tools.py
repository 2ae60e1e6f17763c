"""Tools that will not stop, services that will not answer, code that breaks: bounded, and told where."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import pytest

from engine.fakes import FakeModels, calls
from engine.tools import Bench
from engine.worlds import ask, plan
from leadhand.app.clock import SystemClock
from leadhand.domain.errors import FailureClass, ToolError
from leadhand.domain.events import ToolCallReturned
from leadhand.domain.limits import Limits
from leadhand.tools.decorator import tool

GIVE_UP = calls(("give_up", {"reason": "it does not work"}))


@pytest.mark.parametrize("then", ["answers late", "goes on for ever"])
async def test_a_tool_that_swallows_its_cancellation_is_abandoned_and_what_it_says_late_does_not_count(
    open_world: Any, then: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("leadhand.engine.tool_calls.CLEARING_UP_S", 0.02)
    over = asyncio.Event()

    @tool(retries=0, timeout=0.02)
    async def stubborn() -> str:
        """Never let go."""
        try:
            await over.wait()
        except asyncio.CancelledError:
            if then == "goes on for ever":
                await over.wait()
        return "late"

    world = open_world(FakeModels(plan(ask("a", "stubborn")), work=GIVE_UP), [stubborn], clock=SystemClock())
    await world.run()
    over.set()

    (returned,) = await world.events(ToolCallReturned)
    assert (returned.ok, returned.failure.type, returned.raw) == (False, "timeout", None)


async def test_a_service_that_wants_to_be_left_alone_beyond_the_run_s_time_is_not_asked_again(open_world: Any):
    """Neither by a retry nor by a repair order: the run's time is what ended it."""
    bench = Bench()
    busy = ToolError("busy", type="http_429", class_=FailureClass.RATE_LIMITED, retry_after_s=30)
    world = open_world(
        FakeModels(plan(ask("a", "broken"))), [bench.broken(busy, retries=5)], limits=Limits(timeout_s=75)
    )
    state = await world.run()

    assert world.clock.slept == [30.0, 30.0]
    assert bench.counts["broken"] == 3
    (gap,) = state.finished.gaps
    assert gap.class_ is FailureClass.EXHAUSTED
    assert "--timeout" in gap.next_action


async def test_a_tool_that_never_lets_go_does_not_keep_its_process_alive(open_world: Any, monkeypatch: Any):
    monkeypatch.setattr("leadhand.engine.tool_calls.CLEARING_UP_S", 0.02)
    left: list[str] = []

    @tool(retries=0, timeout=0.02)
    async def deaf() -> str:
        """Listen to nobody."""
        try:
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(600)
        finally:
            left.append("it is over")

    world = open_world(FakeModels(plan(ask("a", "deaf")), work=GIVE_UP), [deaf], clock=SystemClock())
    await world.run()

    assert left == ["it is over"]
    await asyncio.sleep(0)
    assert not [task for task in asyncio.all_tasks() if "_without_exit" in repr(task)]


async def test_the_failure_of_a_tool_says_where_in_its_code(open_world: Any, caplog: pytest.LogCaptureFixture):
    @tool(retries=0)
    async def odd() -> str:
        """Break."""
        raise ValueError("boom")

    world = open_world(FakeModels(plan(ask("a", "odd")), work=GIVE_UP), [odd])
    with caplog.at_level("DEBUG", "leadhand.tools"):
        await world.run()

    (returned,) = await world.events(ToolCallReturned)
    assert re.fullmatch(r"odd raised ValueError: boom \(test_stubborn_tools.py:\d+\)", returned.failure.message)
    assert "leadhand tools call odd" in returned.failure.next_action
    (record,) = caplog.records
    assert record.exc_info
