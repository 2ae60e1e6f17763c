"""Budgets that runs share: what is reserved from them, and what comes back, whatever happens to a run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.fakes import NOON, FakeModels, FixedClock
from engine.test_allowance import PRICED, a_moment, many
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.budget import Account
from leadhand.core.errors import FailureClass
from leadhand.core.events import ModelCallBegan, RunRequested, RunStarted
from leadhand.core.limits import NANO, NOTHING, Limits, Money, SharedBudget, Usage
from leadhand.core.run import RunStatus
from leadhand.engine.forking import fork

ALL = SharedBudget(scope="all runs", nanousd=400_000)
DAILY = ALL.evolve(daily=True)
SMALL = Usage(input_tokens=5, output_tokens=5)


def accounts(world: World) -> dict[str, Account]:
    return world.store.shared


async def spent(world: World, *runs: str) -> int:
    return sum([(await world.state(run_id)).spent.nanousd for run_id in runs])


async def test_calls_of_two_runs_wait_for_what_the_other_gives_back(open_world: Any) -> None:
    # Each call reserves some 25,000 nano-dollars, of which 20,000 are for its reply, and uses 55.
    models = FakeModels(many(), profile=PRICED, usage=SMALL, hold=a_moment)
    world = open_world(models, [Bench().measure], worker_calls="always", budgets=[ALL], clock=SystemClock())
    runs = [await world.start() for _ in range(2)]
    states = await asyncio.gather(*map(world.driving, runs))

    assert [state.status for state in states] == [RunStatus.SUCCEEDED, RunStatus.SUCCEEDED]
    assert 1 < models.most_at_once <= ALL.nanousd // 20_000 < len(models.asked)
    account = accounts(world)["all runs"]
    assert (account.spent.nanousd, account.reserved) == (await spent(world, *runs), NOTHING)


async def test_a_used_up_budget_does_not_wait_for_runs_that_do_not_share_it(open_world: Any) -> None:
    held = asyncio.Event()
    models = FakeModels(many(1), profile=PRICED, usage=SMALL, hold=lambda _request: held.wait())
    world = open_world(models, [Bench().measure], worker_calls="always")
    driving = world.driving(await world.start())
    await world.until(lambda _: models.asked)
    world.budgets = (ALL.evolve(nanousd=1),)

    state = await world.drive(await world.start())

    assert not driving.done()
    assert state.status is RunStatus.FAILED
    assert state.finished.failure.class_ is FailureClass.EXHAUSTED
    assert "$0 left" in state.finished.failure.message
    assert state.finished.failure.next_action
    held.set()
    await driving


async def whole(open_world: Any) -> World:
    models = FakeModels(plan(ask("a", "measure", n=1)), profile=PRICED, usage=SMALL)
    world = open_world(models, [Bench().measure], worker_calls="always", budgets=[ALL.evolve(nanousd=NANO)])
    await world.run()
    return world


@pytest.mark.parametrize("cancelled", [False, True], ids=["resumed", "cancelled"])
async def test_a_run_that_died_between_reserving_and_settling_keeps_nothing_reserved(
    open_world: Any, cancelled: bool
) -> None:
    entries = await (await whole(open_world)).entries()
    began = [entry.seq for entry in entries if isinstance(entry.event, ModelCallBegan)]
    assert len(began) >= 3
    for seq in began:
        world = open_world(FakeModels(many(1), profile=PRICED, usage=SMALL), [Bench().measure], worker_calls="always")
        first = entries[0].event
        assert isinstance(first, RunStarted)
        await world.store.create("run_1", first)
        await world.store.append("run_1", [entry.event for entry in entries[1:seq]])
        assert accounts(world)["all runs"].reserved != NOTHING
        if cancelled:
            await world.append("run_1", RunRequested(what="cancel"))

        await world.take_over("run_1")

        account, last = accounts(world)["all runs"], entries[seq - 1].event
        assert isinstance(last, ModelCallBegan)
        assert (account.spent.nanousd, account.reserved) == (await spent(world, "run_1"), NOTHING)
        assert account.spent.nanousd >= last.reserved.nanousd, "a call that may have been made counts in full"


async def test_a_day_ends_at_midnight_utc_and_a_call_over_midnight_counts_on_the_day_it_began(open_world: Any) -> None:
    clock = FixedClock(NOON.replace(hour=23, minute=59, second=59))

    async def to_the_next_day(_request: Any) -> None:
        clock.advance(86_400.0)

    one_call = DAILY.evolve(nanousd=30_000)  # one reservation of some 25,000
    models = FakeModels(
        plan(ask("a", "measure", n=1)), profile=PRICED, usage=Usage(input_tokens=5_000, output_tokens=50),
        hold=to_the_next_day,
    )  # fmt: skip
    world = open_world(
        models, [Bench().measure], worker_calls="always", budgets=[one_call], clock=clock, limits=Limits(timeout_s=None)
    )
    state = await world.run()

    days = accounts(world)
    assert state.status is RunStatus.SUCCEEDED
    assert state.status is RunStatus.SUCCEEDED
    assert f"all runs {NOON:%Y-%m-%d}" in days
    assert len(days) == len(models.asked) > 2
    assert {(account.spent, account.reserved) for account in days.values()} == {(Money(1, 5_050, 5_500), NOTHING)}


async def test_a_daily_budget_that_is_used_up_ends_the_run_on_that_day(open_world: Any) -> None:
    usage = Usage(input_tokens=10_000, output_tokens=2_000)
    models = FakeModels(plan(ask("a", "measure", n=1)), profile=PRICED, usage=usage)
    world = open_world(models, [Bench().measure], worker_calls="always", budgets=[DAILY.evolve(nanousd=50_000)])
    state = await world.run()

    assert len(models.asked) == 1
    assert all(each in str(state.finished) for each in (f"{NOON:%Y-%m-%d}", "$0.00002 left"))


async def test_a_fork_takes_nothing_again_of_what_its_first_run_took_from_a_shared_budget(open_world: Any) -> None:
    models = FakeModels(plan(ask("a", "measure", n=1)), profile=PRICED, usage=SMALL)
    world = open_world(models, [Bench().measure], worker_calls="always", budgets=[ALL])
    await world.run()
    before = accounts(world)["all runs"]
    await fork(world.store, "run_1", (await world.entries())[-2].seq, "fork_1")

    assert before.spent.nanousd == await spent(world, "run_1") == await spent(world, "fork_1") > 0
    assert accounts(world)["all runs"] == before
