"""A driver whose attempts another process carries out, on the same database, and that process dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.fakes import FakeModels
from engine.test_run_control import Gate
from engine.tools import Bench
from engine.worlds import PATIENCE_S, World, ask, plan
from leadhand.core.errors import INTERRUPTED
from leadhand.core.events import AttemptReturned, AttemptStarted, RunRequested
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.forking import fork
from leadhand.ports import Work
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore

STEP = "wo-001.1"
"""The step that waits at the gate."""


class Elsewhere:
    """Has another process carry out everything until it is ``dead``. When only the step at the gate is left, each look
    at who is alive is preceded by ``look``.
    """

    def __init__(
        self, host: str, here: LocalDispatcher, other: LocalDispatcher, look: Callable[[], Awaitable[None]]
    ) -> None:
        self._host = host
        self._here = here
        self._other = other
        self._look = look
        self.dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._here, name)

    check_s = 0.01

    def start(self, run_id: str, works: Sequence[Work]) -> None:
        (self._here if self.dead else self._other).start(run_id, works)

    async def carried_out(self, state: RunState, *, taking_over: bool) -> Collection[str]:
        waiting, other = state.steps.get(STEP), state.steps.get("wo-001.0")
        if waiting is not None and is_running(waiting.attempt) and other is not None and other.data is not None:
            await self._look()
        running = [each for key in state.live if (each := state.steps[key].attempt) is not None and is_running(each)]
        return [each.attempt for each in running if not self.dead or each.host == self._host]


def is_running(attempt: Any) -> bool:
    return attempt is not None and attempt.status is AttemptStatus.RUNNING


class Site:
    """Two processes on one database: this one drives, the other one works. One of two subtasks waits at a gate."""

    def __init__(self, open_world: Any, here: SqlContextStore, there: SqlContextStore) -> None:
        self.bench, self.gate = Bench(), Gate()
        models = FakeModels(plan(ask("a", "look", n=1), ask("b", "wait", n=2)))
        tools = [self.bench.look, self.gate.tool]
        self.world: World = open_world(models, tools, store=here)
        self.there: World = open_world(models, tools, store=there)

    def dispatcher(self, look: Callable[[], Awaitable[None]]) -> Elsewhere:
        return Elsewhere(self.world.store.host, self.world.dispatcher, self.there.dispatcher, look)

    async def lost(self) -> list[str]:
        return [each.failure.type for each in await self.world.events(AttemptReturned) if each.lost and each.failure]


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[list[SqlContextStore]]:
    stores = [await open_store(str(tmp_path / "runs.db")) for _ in range(2)]
    yield stores
    for store in stores:
        await store.aclose()


@pytest.fixture
def site(stores: list[SqlContextStore], open_world: Any) -> Site:
    return Site(open_world, *stores)


async def nothing() -> None:
    pass


def open_gate_of(site: Site) -> Callable[[], Awaitable[None]]:
    async def open_gate() -> None:
        site.gate.open.set()

    return open_gate


async def drive(site: Site, dispatcher: Elsewhere, run_id: str) -> RunState:
    async with asyncio.timeout(PATIENCE_S):
        return await site.world.drive(run_id, dispatcher=dispatcher)


async def test_what_a_process_finished_before_it_died_counts_although_it_was_not_read_yet(site: Site) -> None:
    async def finish() -> None:
        site.gate.open.set()
        await site.there.until(lambda state: not is_running(state.steps[STEP].attempt))  # its end is committed
        dispatcher.dead = True

    dispatcher = site.dispatcher(finish)
    state = await drive(site, dispatcher, await site.world.start())
    assert state.status is RunStatus.SUCCEEDED
    assert site.gate.made == [2], "finished work was done again"
    assert await site.lost() == []


async def test_what_a_process_had_begun_when_it_died_is_done_again(site: Site) -> None:
    async def die() -> None:
        if not dispatcher.dead:
            dispatcher.dead = True
            await site.there.dispatcher.aclose()
            site.gate.open.set()

    dispatcher = site.dispatcher(die)
    state = await drive(site, dispatcher, await site.world.start())
    assert state.status is RunStatus.SUCCEEDED
    assert (site.bench.made, site.gate.made) == ([("look", 1)], [2, 2])
    assert await site.lost() == ["process_died"]
    hosts = [each.host for each in await site.world.events(AttemptStarted) if each.attempt.startswith(STEP)]
    assert hosts == [site.there.store.host, site.world.store.host]


async def test_what_a_living_process_carries_out_is_not_begun_again_when_the_driver_dies(site: Site) -> None:
    dispatcher, run_id = site.dispatcher(nothing), await site.world.start()
    driving = asyncio.ensure_future(drive(site, dispatcher, run_id))
    await site.world.until(lambda state: STEP in state.steps and site.gate.made == [2])
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    await site.world.store.release(run_id, 1)
    await site.world.store.claim(run_id)
    state = await drive(site, site.dispatcher(open_gate_of(site)), run_id)
    assert state.status is RunStatus.SUCCEEDED
    assert (site.bench.made, site.gate.made) == ([("look", 1)], [2])


async def test_nothing_of_a_run_that_was_paused_runs_on_when_it_is_resumed(site: Site) -> None:
    """The process that carries it out may be alive, but it stops, or has stopped, because of the pause."""
    dispatcher, run_id = site.dispatcher(nothing), await site.world.start()
    driving = asyncio.ensure_future(drive(site, dispatcher, run_id))
    await site.world.until(lambda state: STEP in state.steps and site.gate.made == [2])
    await site.world.append(run_id, RunRequested(what="pause", by="me"))
    state = await driving
    assert (state.status, is_running(state.steps[STEP].attempt)) == (RunStatus.PAUSED, True)
    await site.world.append(run_id, RunRequested(what="resume", by="me"))
    site.there.dispatcher.withdraw(run_id, f"{STEP}/a1")
    site.gate.open.set()
    await site.world.store.claim(run_id)
    state = await drive(site, dispatcher, run_id)
    assert state.status is RunStatus.SUCCEEDED
    assert site.gate.made == [2, 2]
    assert await site.lost() == [INTERRUPTED]


async def test_a_fork_does_again_what_a_living_process_carries_out_in_its_first_run(site: Site) -> None:
    dispatcher, run_id = site.dispatcher(open_gate_of(site)), await site.world.start()
    driving = asyncio.ensure_future(drive(site, site.dispatcher(nothing), run_id))
    await site.world.until(lambda state: STEP in state.steps and site.gate.made == [2])
    await fork(site.world.store, run_id, (await site.world.state()).seq, "fork")
    state = await drive(site, dispatcher, "fork")
    await driving
    assert state.status is RunStatus.SUCCEEDED
    assert site.gate.made == [2, 2]
