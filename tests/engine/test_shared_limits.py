"""Limits at once and rates of tools, models and steps: they bind, waiting costs nothing, and the log says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from memory_store import MemoryStore

from engine.fakes import FakeModels
from engine.worlds import World, ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.cli.terminal.progress import Progress
from leadhand.core.errors import StoreError
from leadhand.core.events import (
    NoteEmitted,
    RunRequested,
    ToolCallBegan,
    ToolCallReturned,
)
from leadhand.core.limits import Concurrency, Limits, SharedLimit
from leadhand.core.run import RunStatus
from leadhand.engine.calls import limiter, permits
from leadhand.engine.calls.limiter import Limiter
from leadhand.stores.opening import open_store
from leadhand.tools.decorator import tool
from leadhand.tools.tool import Tool


class Counted:
    """A tool that counts its calls at once; it returns once it ``may``."""

    def __init__(self, seconds: float = 0.0, **policy: Any) -> None:
        self.now = self.most = self.made = 0
        self.may = asyncio.Event()
        self.may.set()
        self.began_at: list[float] = []
        self._seconds, self._policy = seconds, policy

    @property
    def tool(self) -> Tool[..., Any]:
        async def count(n: int) -> str:
            """Count."""
            self.began_at.append(time.monotonic())
            self.now, self.made = self.now + 1, self.made + 1
            self.most = max(self.most, self.now)
            try:
                await self.may.wait()
                await asyncio.sleep(self._seconds)
            finally:
                self.now -= 1
            return f"counted {n}"

        return tool(**self._policy)(count)


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, sqlite_url: str) -> AsyncIterator[Any]:
    """Stores without and with queues that processes share."""
    kept = MemoryStore(SystemClock()) if request.param == "memory" else await open_store(sqlite_url)
    async with aclosing(kept):
        yield kept


def counting(count: int) -> FakeModels:
    return FakeModels(plan(*(ask(f"s{n}", "count", n=n) for n in range(count))))


async def test_calls_of_a_tool_are_never_more_at_once_than_it_allows(store: Any, open_world: Any):
    counted = Counted(0.001, concurrency=3)
    world = open_world(counting(60), [counted.tool], clock=SystemClock(), store=store)
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    assert (counted.made, counted.most) == (60, 3)


async def test_two_runs_share_the_limit_of_a_tool(store: Any, open_world: Any):
    counted = Counted(0.001, concurrency=2)
    world: World = open_world(counting(20), [counted.tool], clock=SystemClock(), store=store)
    runs = [world.driving(await world.start()) for _ in range(2)]
    assert [state.status for state in await asyncio.gather(*runs)] == [RunStatus.SUCCEEDED] * 2
    assert (counted.made, counted.most) == (40, 2)


async def test_waiting_for_a_place_counts_against_no_timeout_and_takes_no_slot(store: Any, open_world: Any):
    counted = Counted(0.2, concurrency=1, timeout=5.0)
    limits = Limits(attempt_timeout=0.6, max_workers=2, max_retries=0)
    world = open_world(counting(6), [counted.tool], clock=SystemClock(), store=store, limits=limits)
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED, "1.2 s of calls one after another, and 0.6 s for an attempt"
    assert (counted.made, counted.most) == (6, 1)


async def test_cancelling_a_run_ends_its_waits_and_frees_its_places(store: Any, open_world: Any):
    counted = Counted(concurrency=2)
    counted.may.clear()
    world: World = open_world(counting(10), [counted.tool], clock=SystemClock(), store=store)
    first = await world.start()
    driving = world.driving(first)
    while counted.now < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await world.append(first, RunRequested(what="cancel", by="me"))
    assert (await driving).status is RunStatus.CANCELLED
    assert counted.made == 2, "no call that waited was made"

    counted.may.set()
    second = await world.drive(await world.start())
    assert second.status is RunStatus.SUCCEEDED
    assert counted.most == 2


async def test_a_call_that_waits_has_not_begun(store: Any, open_world: Any):
    counted = Counted(concurrency=1)
    counted.may.clear()
    world: World = open_world(counting(3), [counted.tool], clock=SystemClock(), store=store)
    driving = world.driving(await world.start())
    while counted.now < 1:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)
    assert len(await world.events(ToolCallBegan)) == 1
    counted.may.set()
    await driving
    began = [each for each in await world.entries() if isinstance(each.event, ToolCallBegan | ToolCallReturned)]
    assert [each.event.type for each in began] == ["tool_call_began", "tool_call_returned"] * 3


async def test_a_call_that_asks_as_the_last_one_of_its_run_ends_is_not_forgotten(store: Any):
    limit, limits, order = SharedLimit(scope="the model `fake`", most=1), Limiter(store, SystemClock()), list[str]()

    async def use(run_id: str) -> None:
        async with limits.permit(limit, run_id):
            order.append(run_id)

    async with asyncio.timeout(10):
        async with limits.permit(limit, "run-1"):
            other = asyncio.create_task(use("run-2"))
            while not limits._queues[limit.scope].waits:  # noqa: ASYNC110
                await asyncio.sleep(0)
            second = asyncio.create_task(use("run-1"))
            await asyncio.sleep(0)  # it has asked, and does not queue yet
        await asyncio.gather(other, second)
    assert order == ["run-2", "run-1"]
    assert not limits._queues[limit.scope]._runs, "a run that is over is still remembered"
    await limits.aclose()


async def test_a_wait_for_a_place_is_shown_until_nobody_waits(
    store: Any, open_world: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(permits, "ANNOUNCED_S", 0.02)
    counted = Counted(concurrency=1)
    counted.may.clear()
    world: World = open_world(counting(4), [counted.tool], clock=SystemClock(), store=store)
    driving = world.driving(await world.start())
    while not await world.events(NoteEmitted):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    (noted,) = await world.events(NoteEmitted)
    assert all(each in noted.message for each in ("`count`", "all 1"))
    assert shown(await world.entries()) == [noted.message]
    counted.may.set()
    await driving
    notes = await world.events(NoteEmitted)
    assert "`count`" in notes[-1].message
    assert len(notes) <= 5
    assert shown(await world.entries()) == []


async def test_a_wait_for_a_rate_says_what_the_rate_is(store: Any, open_world: Any):
    counted = Counted(rate="10/min")
    world: World = open_world(counting(4), [counted.tool], clock=SystemClock(), store=store)
    driving = world.driving(await world.start())
    while not await world.events(NoteEmitted):  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    driving.cancel()
    noted = (await world.events(NoteEmitted))[0]
    assert noted.message.startswith("waiting for the rate limit of the tool `count` (10/min): ")


def shown(entries: Any) -> list[str]:
    """What the run view says that the run waits for."""
    progress = Progress()
    for entry in entries:
        progress.take(entry)
    return [wait["text"] for wait in progress.view["run"]["waits"].values()]


async def test_calls_of_a_model_are_never_more_at_once_than_the_project_allows(store: Any, open_world: Any):
    models = FakeModels(plan(*(ask(f"s{n}", "measure", n=n) for n in range(12))))

    @tool
    async def measure(n: int) -> dict[str, int]:
        """Measure."""
        return {"n": n}

    world = open_world(models, [measure], clock=SystemClock(), store=store, concurrency=Concurrency(models={"fake": 2}))
    state = await world.run()
    assert state.status is RunStatus.SUCCEEDED
    assert 0 < models.most_at_once <= 2


@pytest.mark.slow
async def test_steps_of_a_key_are_never_more_at_once_than_it_allows(store: Any, open_world: Any):
    """Those of several runs together, and each within its own limit of workers."""
    counted = Counted(0.005)
    shared = Concurrency(steps=(SharedLimit(scope="the key `k`", most=3), SharedLimit(scope="all", most=50)))
    world: World = open_world(
        counting(15), [counted.tool], clock=SystemClock(), store=store, concurrency=shared, limits=Limits(max_workers=2)
    )
    runs = [world.driving(await world.start()) for _ in range(3)]
    assert [state.status for state in await asyncio.gather(*runs)] == [RunStatus.SUCCEEDED] * 3
    assert (counted.made, counted.most) == (45, 3)


async def test_calls_begin_no_faster_than_the_rate_of_their_tool(store: Any, open_world: Any):
    counted = Counted(rate="50/s")
    world = open_world(counting(20), [counted.tool], clock=SystemClock(), store=store)
    state = await world.run()

    assert state.status is RunStatus.SUCCEEDED
    # A call may come late, but none early: the last begins 0.38 s after the first was allowed to.
    assert counted.began_at[-1] - counted.began_at[0] >= 0.38 * 0.7
    assert counted.began_at[19] - counted.began_at[9] >= 0.2 * 0.5


async def test_a_cancelled_run_leaves_the_rate_of_its_tool_to_others(store: Any, open_world: Any):
    """What waits has reserved at most the next call, and not one for each that waits."""
    counted = Counted(rate="10/s")
    # Not sound: a model call may be cancelled between its reservation and its request, which counts in full.
    world: World = open_world(counting(30), [counted.tool], clock=SystemClock(), store=store, sound=False)
    first = await world.start()
    driving = world.driving(first)
    while counted.made < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    await world.append(first, RunRequested(what="cancel", by="me"))
    await driving
    assert await store.pass_gate("rate of the tool count", 0.0) < 0.35


@pytest.mark.parametrize("answer_lost", [False, True])
async def test_places_that_a_failing_store_keeps_are_given_back_later(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, answer_lost: bool
):
    """Nobody asks for a place again: without the next try, other processes would wait for this one until it ends."""
    monkeypatch.setattr(limiter, "RETRY_S", 0.05)
    limit = SharedLimit(scope="the tool `count`", most=1)
    async with aclosing(await open_store(sqlite_url)) as store:
        limits, works, failures = Limiter(store, SystemClock()), store.share, 0

        async def held() -> int:
            ((count,),) = await store._rows("SELECT coalesce(sum(held), 0) FROM places")
            return count

        async def fails(*args: Any, **more: Any) -> None:
            nonlocal failures
            if answer_lost:
                await works(*args, **more)
            failures += 1
            if failures == 2:
                monkeypatch.setattr(store, "share", works)
            raise StoreError("the database does not answer", "check it")

        if answer_lost:
            monkeypatch.setattr(store, "share", fails)
            with pytest.raises(StoreError):
                async with limits.permit(limit, "run-1"):
                    pass
        else:
            async with limits.permit(limit, "run-1"):
                monkeypatch.setattr(store, "share", fails)
        async with asyncio.timeout(10):
            while failures < 2 or await held():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            async with limits.permit(limit, "run-2"):
                assert await held() == 1
        await limits.aclose()
