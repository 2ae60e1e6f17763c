"""People step in: subtasks done again, left out or answered by hand, before and after the end; runs forked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

from engine.fakes import FakeModels, calls
from engine.test_run_control import Gate
from engine.tools import Bench, refusal
from engine.worlds import PATIENCE_S, World, ask, plan
from leadhand.core.errors import INTERRUPTED, FailureClass, UsageError
from leadhand.core.events import (
    AttemptReturned,
    AttemptStarted,
    OrderIssued,
    RequestDecided,
    RunRequested,
    StepRequested,
    ToolCallBegan,
)
from leadhand.core.limits import Limits
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.core.tool import ToolReturn
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.forking import done_after, fork
from leadhand.ports import Work
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore
from leadhand.tools.decorator import tool

GIVE_UP = calls(("give_up", {"reason": "it is not to be"}))


class Shop:
    """A tool that works for some numbers only; which ones can change."""

    def __init__(self, *works: int) -> None:
        self.works = set(works)
        self.asked: list[int] = []

    @property
    def tool(self) -> Any:
        @tool(retries=0)
        async def shop(n: int) -> Any:
            """Ask a shop."""
            self.asked.append(n)
            if n not in self.works:
                raise refusal("closed", FailureClass.UNAVAILABLE)
            return ToolReturn(raw=n, summary=f"got {n}")

        return shop


async def wish(world: World, *events: Any) -> Any:
    """What becomes of a run that is over when people want something of it."""
    await world.append("run_1", *events)
    await world.store.claim("run_1", ended=True)
    return await world.drive("run_1")


async def test_data_that_a_person_supplies_is_the_value_of_a_subtask_that_expects_an_object(open_world: Any):
    shop = Shop(2)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    chain = plan(
        {**ask("a", "shop", n=1), "expected_output": schema},
        {**ask("b", "shop", n={"$result": {"subtask": "0", "path": "/value/n"}}), "needs": [0]},
    )
    world = open_world(FakeModels(chain, work=GIVE_UP), [shop.tool])
    await world.run()
    await wish(world, StepRequested(what="supply", by="Ann", steps=("wo-001.0",), summary="it is two", raw={"n": 2}))

    assert shop.asked == [1, 2]


async def test_a_retry_by_a_person_is_no_order_of_the_lead(open_world: Any):
    shop = Shop()
    world = open_world(FakeModels(plan(ask("a", "shop", n=1)), work=GIVE_UP), [shop.tool], limits=Limits(max_steps=1))
    await world.run()
    for _ in range(3):
        state = await wish(world, StepRequested(what="retry", by="me"))
    assert shop.asked == [1, 1, 1, 1]
    assert len(await world.events(OrderIssued)) == 1
    assert state.finished.number == 4


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (StepRequested(what="retry", by="me", steps=("wo-001.9",)), "wo-001.9"),
        (StepRequested(what="retry", by="me", steps=("what",)), "what"),
        (StepRequested(what="retry", by="me", steps=("wo-001.0",)), "wo-001.0"),
        (StepRequested(what="retry", by="me", args={"n": 1}), ""),
        (StepRequested(what="skip", by="me", steps=("wo-001.0",)), "wo-001.0 is completed"),
        (StepRequested(what="skip", by="me", steps=("wo-001.7",)), "wo-001.7"),
        (StepRequested(what="supply", by="me", steps=("wo-001.0",), summary="no"), "wo-001.0"),
    ],
)
async def test_what_cannot_be_granted_is_declined_with_the_reason_and_changes_nothing(
    open_world: Any, asked: Any, named: str
):
    shop = Shop(1)
    world = open_world(FakeModels(plan(ask("a", "shop", n=1), ask("b", "shop", n=2)), work=GIVE_UP), [shop.tool])
    before = await world.run()
    state = await wish(world, asked)

    (declined,) = await world.events(RequestDecided)
    assert named in declined.declined
    assert state.finished == before.finished
    assert shop.asked == [1, 2]


async def test_a_fork_goes_on_from_the_cut_by_itself_and_leaves_the_first_run_alone(open_world: Any):
    shop = Shop(1)
    world = open_world(FakeModels(plan(ask("a", "shop", n=1), ask("b", "shop", n=2)), work=GIVE_UP), [shop.tool])
    first = await world.run()
    entries = await world.entries()
    ordered = next(entry.seq for entry in entries if isinstance(entry.event, OrderIssued))
    shop.works.add(2)
    await fork(world.store, "run_1", ordered, "fork_1")
    state = await world.drive("fork_1")

    assert state.status is RunStatus.SUCCEEDED
    assert shop.asked == [1, 2, 1, 2]
    assert len(world.models.requests("plan")) == 1, "the plan was there"
    assert (await world.document("fork_1"))["forked_from"] == {"run_id": "run_1", "seq": ordered}
    assert await world.entries() == entries
    assert first.status is RunStatus.PARTIAL


async def test_every_event_before_the_end_can_be_forked_at(open_world: Any):
    world = open_world(FakeModels(plan(ask("a", "look", n=1), ask("b", "look", n=2))), [Bench().look])
    state = await world.run()
    for at in range(1, state.seq):
        await fork(world.store, "run_1", at, f"fork_{at}")
        assert (await world.drive(f"fork_{at}")).finished.answer == state.finished.answer, at
        lost = [each for each in await world.events(AttemptReturned, f"fork_{at}") if each.lost]
        assert {event.failure.type for event in lost} <= {"interrupted"}, "nothing died"
    for at in (0, state.seq, state.seq + 5):
        with refused(UsageError, at):
            await fork(world.store, "run_1", at, "never")


async def test_what_cannot_be_taken_back_after_the_cut_is_listed(open_world: Any):
    bench = Bench()
    models = FakeModels(plan(ask("pay", "send", amount=5), ask("a", "look", n=1)))
    world = open_world(models, [bench.send(approval="auto"), bench.look])
    await world.run()
    entries = await world.entries()
    began = next(e.seq for e in entries if isinstance(e.event, ToolCallBegan) and e.event.tool == "send")

    assert [(done.seq, done.tool, done.args) for done in done_after(entries, 1)] == [(began, "send", {"amount": 5})]
    assert done_after(entries, began) == []


async def test_what_may_have_been_done_is_done_again_only_if_that_is_confirmed(open_world: Any):
    bench = Bench()
    tool_ = bench.hanging(effect="once", approval="auto", timeout=0.02)
    world = open_world(FakeModels(plan(ask("pay", "hanging"), ask("a", "look", n=1))), [tool_, bench.look])
    assert (await world.run()).status is RunStatus.WAITING
    await world.append("run_1", StepRequested(what="skip", by="me", steps=("wo-001.0",), reason="never mind"))
    await world.store.claim("run_1")
    left = await world.drive("run_1")
    assert left.finished.gaps[0].class_ is FailureClass.REJECTED
    assert left.steps["wo-001.0"].acted

    for asked in (StepRequested(what="retry", by="me"), StepRequested(what="retry", by="me", steps=("wo-001.0",))):
        await wish(world, asked)
        await world.store.release("run_1", (await world.store.run("run_1")).epoch)
    assert bench.counts["hanging"] == 1
    assert all("may have made" in event.declined for event in await world.events(RequestDecided))
    await wish(world, StepRequested(what="retry", by="me", confirmed=True))
    assert bench.counts["hanging"] == 2


async def test_a_call_that_did_not_happen_is_not_listed_before_a_fork(open_world: Any):
    bench = Bench()
    tool_ = bench.hanging(effect="once", approval="auto", timeout=0.02)
    world = open_world(FakeModels(plan(ask("pay", "hanging"))), [tool_])
    await world.run()
    assert len(done_after(await world.entries(), 1)) == 1
    await world.says(happened=False)
    assert done_after(await world.entries(), 1) == []


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


async def test_a_subtask_is_done_again_with_other_arguments(open_world: Any):
    shop = Shop(5)
    world = open_world(FakeModels(plan(ask("a", "shop", n=1)), work=GIVE_UP), [shop.tool])
    await world.run()
    state = await wish(world, StepRequested(what="retry", by="me", steps=("wo-001.0",), args={"n": 5}))

    assert state.status is RunStatus.SUCCEEDED
    assert shop.asked == [1, 5]
    assert state.steps["wo-001.0"].subtask.args == {"n": 5}
    assert state.orders["wo-001"].order.subtasks[0].args == {"n": 1}, "an order changed after it was issued"
