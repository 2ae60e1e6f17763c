"""Nothing is overspent: what a call may cost is reserved before it, and no number of workers gets past the limit."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from core.invariants import reserved_total

from engine.fakes import NOON, FakeModels, FixedClock, down
from engine.tools import Bench
from engine.worlds import World, ask, plan
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.budget import Account
from leadhand.core.errors import Failure, FailureClass
from leadhand.core.events import ModelCallBegan, ModelCallReturned, RunRequested, RunStarted
from leadhand.core.evolve import apply_entry, draft, replay
from leadhand.core.limits import NANO, NOTHING, Limits, Money, SharedBudget, Usage
from leadhand.core.run import RunStatus
from leadhand.engine.forking import fork
from leadhand.ports import FormRefused, ModelError
from leadhand.ports.models import ModelProfile

PRICED = ModelProfile(name="fake", input_nanousd=1, output_nanousd=10)
FREE = ModelProfile(name="fake", free=True)
WORKERS = 20


def many(count: int = WORKERS) -> dict[str, Any]:
    """A plan whose every subtask needs a model."""
    return plan(*(ask(f"s{number}", "measure", n=number) for number in range(count)))


async def a_moment(_request: Any) -> None:
    await asyncio.sleep(0.002)


async def most_spent(world: World, run_id: str = "run_1") -> Money:
    """The most that was spent and held at any moment, kind by kind."""
    entries = await world.entries(run_id)
    peaks: dict[str, int] = {"requests": 0, "tokens": 0, "nanousd": 0}
    state = draft(replay(run_id, entries[:1]))
    for entry in entries[1:]:
        apply_entry(state, entry)
        sum_ = state.spent + reserved_total(state)
        peaks = {kind: max(peak, getattr(sum_, kind)) for kind, peak in peaks.items()}
    return Money(**peaks)


@pytest.mark.parametrize(
    ("limits", "held_back", "profile"),
    [
        ({"max_requests": 12}, Money(requests=1), FREE),
        ({"max_tokens": 40_000}, Money(tokens=8_000), PRICED),
        ({"budget": 2e-4}, Money(nanousd=40_000), PRICED),
        (
            {"max_requests": 14, "max_tokens": 90_000, "budget": 4e-4},
            Money(requests=1, tokens=8_000, nanousd=40_000),
            PRICED,
        ),
    ],
    ids=["requests", "tokens", "money", "all three"],
)
async def test_twenty_workers_at_once_never_get_past_a_limit_and_the_run_still_answers(
    open_world: Any, limits: dict[str, int], held_back: Money, profile: ModelProfile
):
    bench = Bench()
    # A provider that writes as much as it may.
    models = FakeModels(many(), profile=profile, usage=Usage(input_tokens=500, output_tokens=2_000), hold=a_moment)
    world = open_world(
        models,
        [bench.measure],
        worker_calls="always",
        limits=Limits(**limits),
        held_back=held_back,
        clock=SystemClock(),
    )
    state = await world.run()

    peak = await most_spent(world)
    assert peak.fits(state.definition.limits.ceiling), f"{peak} of {limits}"
    assert state.finished.answer.strip()
    assert state.status is RunStatus.PARTIAL
    done = [subtask for subtask in state.steps.values() if subtask.counts and subtask.data is not None]
    assert 0 < len(done) < WORKERS, "the limit bound nobody, or everybody"
    exhausted = [gap for gap in state.finished.gaps if gap.class_ is FailureClass.EXHAUSTED and gap.step]
    assert len(exhausted) == WORKERS - len(done)
    assert all(gap.next_action for gap in exhausted)


async def test_a_call_waits_for_what_a_call_of_another_process_has_reserved(open_world: Any):
    models = FakeModels(many(1), profile=PRICED, usage=Usage(input_tokens=5, output_tokens=5))
    world = open_world(models, [Bench().measure], limits=Limits(max_tokens=40_000), clock=SystemClock())
    run_id = await world.start()
    call = {"attempt": "other/a1", "call_id": "other/t1", "model": "fake"}
    await world.store.append(run_id, [ModelCallBegan(**call, reserved=Money(tokens=36_000), kept=Money())])
    driving = world.driving(run_id)
    await asyncio.sleep(0.3)
    assert not models.asked
    await world.store.append(run_id, [ModelCallReturned(**call, usage=Usage(input_tokens=5, nanousd=0))])
    state = await driving

    assert state.status is RunStatus.SUCCEEDED
    assert (await most_spent(world)).tokens <= 40_000


async def test_what_is_held_back_for_the_answer_is_there_whatever_the_workers_spend(open_world: Any):
    models = FakeModels(many(4), review=down(), hold=a_moment)
    world = open_world(
        models, [Bench().measure], worker_calls="always", limits=Limits(max_requests=4), held_back=Money(requests=1)
    )
    state = await world.run()

    assert len(models.requests("compose")) == 1, "the workers spent what was held back"
    assert len(models.asked) == 4
    assert state.finished.failure is None


async def test_unknown_usage_is_settled_at_what_was_reserved(open_world: Any):
    models = FakeModels(down("cut off", "transient"), profile=PRICED)
    for answer in models._answers.values():
        answer[0] = down("cut off", "unavailable")
    models._answers["plan"][0].usage = None
    world = open_world(models, [Bench().measure], worker_calls="always")
    state = await world.run()

    (began,) = await world.events(ModelCallBegan)
    (returned,) = await world.events(ModelCallReturned)
    assert returned.usage is None
    assert state.spent == began.reserved
    assert reserved_total(state) == Money()


@pytest.mark.parametrize(
    "usage", [Usage(), Usage(input_tokens=100), Usage(output_tokens=20)], ids=["none", "in", "out"]
)
async def test_tokens_that_a_custom_model_does_not_count_are_settled_at_what_was_reserved(
    open_world: Any, usage: Usage
):
    models = FakeModels(plan(ask("a", "look", n=1)), profile=PRICED, usage=usage)
    world = open_world(models, [Bench().look])
    state = await world.run()

    reserved = [event.reserved for event in await world.events(ModelCallBegan)]
    assert [event.usage for event in await world.events(ModelCallReturned)] == [None] * len(reserved)
    assert state.spent.nanousd == sum(each.nanousd for each in reserved) > 0


async def test_a_reservation_covers_all_that_is_sent_and_all_that_may_be_answered(open_world: Any):
    models = FakeModels(many(1), profile=PRICED)
    world = open_world(models, [Bench().measure], worker_calls="always", limits=Limits(max_output_tokens=1_234))
    await world.run()

    for request, began in zip(models.asked, await world.events(ModelCallBegan), strict=True):
        sent = sum(len(message.model_dump_json().encode()) for message in request.messages)
        assert request.max_tokens == 1_234
        assert began.reserved.tokens >= 1_234 + sum(len(getattr(m, "text", "").encode()) for m in request.messages)
        assert began.reserved.tokens <= 1_234 + 3 * sent + 20_000
        assert began.reserved.nanousd >= 10 * 1_234


async def test_what_calls_cost_is_counted_by_the_price_that_is_known(open_world: Any):
    profile = PRICED.evolve(input_nanousd=4, cached_nanousd=1, cache_write_nanousd=5)
    used = Usage(input_tokens=100, cached_tokens=30, cache_write_tokens=50, output_tokens=20)
    world = open_world(FakeModels(plan(ask("a", "look", n=1)), profile=profile, usage=used), [Bench().look])
    state = await world.run()
    document = await world.document()

    cost = 2 * (20 * 4 + 30 * 1 + 50 * 5 + 20 * 10)
    assert state.spent == Money(requests=2, tokens=240, nanousd=cost)
    tokens = {"input_tokens": 200, "cached_tokens": 60, "cache_write_tokens": 100, "output_tokens": 40}
    assert document["usage"] == {"requests": 2, **tokens, "cost_usd": cost / 1e9}


@pytest.mark.parametrize(("profile", "cost"), [(PRICED, 300 / 1e9), (FREE, 0.0)])
async def test_an_answer_that_cannot_be_used_has_its_price_too(open_world: Any, profile: ModelProfile, cost: float):
    cut = Failure.of("the answer was cut", "cut_answer", FailureClass.INVALID)
    models = FakeModels(ModelError(cut, Usage(input_tokens=100, output_tokens=20)), profile=profile)
    world = open_world(models, [Bench().look], limits=Limits(max_requests=1))
    await world.run()

    assert (await world.document())["usage"]["cost_usd"] == cost


async def test_a_price_nobody_knows_makes_the_cost_unknown_and_not_nothing(open_world: Any):
    models = FakeModels(
        plan(ask("a", "look", n=1)), profile=ModelProfile(name="fake"), usage=Usage(input_tokens=100, output_tokens=20)
    )
    world = open_world(models, [Bench().look])
    await world.run()

    assert (await world.document())["usage"]["cost_usd"] is None


async def test_limits_hold_across_a_take_over(open_world: Any):
    all_asked = asyncio.Event()

    async def answers_six(request: Any) -> None:
        number = [asked is request for asked in models.asked].index(True)
        if number == WORKERS:
            all_asked.set()
        if number > 6:
            await asyncio.Event().wait()

    models = FakeModels(many(), hold=answers_six)
    world = open_world(
        models, [Bench().measure], worker_calls="always", limits=Limits(max_requests=24), held_back=Money(requests=1)
    )
    run_id = await world.start()
    driving = world.driving(run_id)
    await asyncio.wait_for(all_asked.wait(), 60)
    driving.cancel()
    models._hold = None
    state = await world.take_over(run_id)

    assert len(models.asked) <= 24
    assert (await most_spent(world)).requests <= 24
    assert state.status is RunStatus.PARTIAL
    done = [subtask for subtask in state.steps.values() if subtask.counts and subtask.data is not None]
    assert len(done) == 6 + 2, "what was left was not used, or what was lost was given back"


async def test_a_finished_run_holds_no_reservation_and_says_what_its_calls_may_have_cost(open_world: Any):

    async def never(request: Any) -> None:
        if request.output is None:
            await asyncio.Event().wait()

    models = FakeModels(many(3), profile=PRICED, hold=never)
    world = open_world(models, [Bench().measure], worker_calls="always")
    run_id = await world.start()
    driving = world.driving(run_id)
    await world.until(lambda state: len(state.reserved) == 3)
    await world.append(run_id, RunRequested(what="cancel", by="me"))
    state = await driving

    assert reserved_total(state) == Money(), "money is held for calls nobody will make"
    assert state.spent.requests == 4, "calls that went out are not counted"


async def test_fifty_workers_against_a_budget_for_twenty_spend_no_more_and_none_is_starved_by_what_comes_back(
    open_world: Any,
):
    """Each call reserves some thirty times what it comes to use; what it does not use goes to the next."""
    used = Usage(input_tokens=500, output_tokens=20)
    budget = 20 * (500 + 20 * 10) + 60_000
    models = FakeModels(many(50), profile=PRICED, usage=used, hold=a_moment)
    limits = Limits(budget=budget / NANO, max_workers=50)
    world = open_world(models, [Bench().measure], worker_calls="always", limits=limits, held_back=Money(nanousd=30_000))
    state = await world.run()

    assert (await most_spent(world)).nanousd <= budget
    done = [subtask for subtask in state.steps.values() if subtask.counts and subtask.data is not None]
    assert 20 <= len(done) < 50
    assert state.status is RunStatus.PARTIAL
    assert len(state.finished.gaps) >= 50 - len(done)
    assert {gap.class_ for gap in state.finished.gaps} <= {FailureClass.EXHAUSTED, FailureClass.INSUFFICIENT}
    assert state.finished.answer.strip()


@pytest.mark.parametrize("refused", [1, 2])
async def test_both_forms_of_a_request_have_a_reservation_of_their_own(open_world: Any, refused: int):
    refusal = FormRefused(Failure.of("no schemas", "http_400", FailureClass.INVALID), Usage(nanousd=0))
    models = FakeModels(plan(ask("a")), work=[*[refusal] * refused, "done"], profile=PRICED)
    world = open_world(models, [Bench().look], limits=Limits(max_repairs=0, max_steps=1))
    state = await world.run()

    events = [entry.event for entry in await world.entries() if getattr(entry.event, "attempt", "") == "wo-001.0/a1"]
    began = [event for event in events if isinstance(event, ModelCallBegan)]
    returned = [event for event in events if isinstance(event, ModelCallReturned)]
    assert len(models.requests("work")) == len(began) == len(returned) == 2
    assert all(event.reserved.requests == 1 and event.reserved.nanousd for event in began)
    assert [event.failure is None for event in returned] == [False, refused < 2]
    assert state.spent.requests == len(models.asked), "each was counted"
    assert reserved_total(state) == Money()


async def test_reasoning_has_room_beside_the_answer_and_is_reserved(open_world: Any):
    profile = PRICED.evolve(reasons=True, window=40_000)
    models = FakeModels(plan(ask("a")), profile=profile)
    world = open_world(models, [Bench().look], limits=Limits(max_output_tokens=1_000))
    await world.run()

    began = [entry.event for entry in await world.entries() if isinstance(entry.event, ModelCallBegan)]
    assert {request.max_tokens for request in models.asked} == {1_000 + 40_000 // 8}
    assert all(event.reserved.tokens > 6_000 for event in began)


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
        models, [Bench().measure], worker_calls="always", budgets=[one_call], clock=clock, limits=Limits(timeout=None)
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
