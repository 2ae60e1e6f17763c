"""The allowance: what calls reserve, what settles it, and that no ceiling is exceeded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from leadhand.core.errors import BudgetRefused
from leadhand.core.events import AnyEvent, AttemptParked, AttemptReturned, RunChanged
from leadhand.core.limits import Limits, Money, Usage
from leadhand.core.work_result import ResultData
from leadhand.ports import ContextStore

from .samples import (
    ATTEMPT,
    UNLIMITED,
    Contract,
    began,
    fits,
    lost,
    returned,
    started,
    tokens,
    tokens_at_most,
    tokens_left,
)


class AllowanceContract(Contract):
    """A call fits the ceilings of its run and of each scope that it names, and no run spends more than it may."""

    @pytest.mark.parametrize("kind", ["requests", "tokens", "nanousd"])
    async def test_a_reservation_that_does_not_fit_is_refused(self, store: ContextStore, kind: str) -> None:
        limits = Limits(max_requests=100, max_tokens=100, budget=1e-07)
        await store.create("run-1", started(limits=limits))
        await store.append("run-1", [began("c1", Money(**{kind: 60}))])
        assert not await fits(store, "run-1", Money(**{kind: 41}))
        assert await fits(store, "run-1", Money(**{kind: 40}))

    async def test_a_call_leaves_what_is_kept_for_the_steps_after_it(self, store: ContextStore) -> None:
        limits = Limits(budget=None, max_tokens=100, max_requests=10)
        await store.create("run-1", started(limits=limits))
        assert await tokens_left(store, "run-1", kept=tokens(30)) == 70
        assert await tokens_left(store, "run-1") == 100
        part = Money(requests=1, tokens=15)
        assert not await fits(store, "run-1", Money(requests=8, tokens=1), kept=Money(requests=3, tokens=30))
        await store.append("run-1", [began("c1", Money(requests=9, tokens=85), kept=part)])
        with pytest.raises(BudgetRefused, match="kept for the steps after it"):
            await store.append("run-1", [began("c2", tokens(1), kept=part)])
        await store.append("run-1", [began("c2", part)])

    async def test_changed_limits_hold_from_then_on(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(90))])
        more = Limits(budget=7e-08, max_tokens=200)
        await store.append("run-1", [RunChanged(limits=more)])
        assert await tokens_left(store, "run-1") == 110
        assert await fits(store, "run-1", Money(nanousd=70))
        assert not await fits(store, "run-1", Money(nanousd=71))
        await store.append("run-1", [RunChanged(limits=UNLIMITED)])
        assert await fits(store, "run-1", tokens(10**9))

    async def test_a_price_that_is_unknown_counts_as_it_was_reserved(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget=1e-07, max_tokens=100)))
        await store.append("run-1", [began("c1", Money(tokens=60, nanousd=60))])
        await store.append("run-1", [returned("c1", Usage(input_tokens=10, nanousd=None))])
        assert await fits(store, "run-1", Money(nanousd=40, tokens=90))
        assert not await fits(store, "run-1", Money(nanousd=41))
        assert (await store.run("run-1")).unpriced

    async def test_runs_that_share_a_budget_stay_below_it_together(self, store: ContextStore) -> None:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started())
        await store.append("run-1", [began("c1", tokens(60), shared={"key a": tokens_at_most(100)})])
        over = began("c1", tokens(41), shared={"key b": tokens_at_most(100), "key a": tokens_at_most(100)})
        with pytest.raises(BudgetRefused) as refused:
            await store.append("run-2", [over])
        assert (refused.value.scope, refused.value.shared) == ("key a", True)
        await store.append("run-2", [began("c2", tokens(100), shared={"key b": tokens_at_most(100)})])
        await store.append("run-2", [began("c3", tokens(40), shared={"key a": tokens_at_most(100)})])
        await store.append("run-1", [returned("c1", Usage(input_tokens=10))])
        await store.append("run-2", [began("c4", tokens(50), shared={"key a": tokens_at_most(100)})])
        with pytest.raises(BudgetRefused):
            await store.append("run-1", [began("c2", tokens(1), shared={"key a": tokens_at_most(100)})])
        await store.append("run-1", [began("c3", tokens(1), shared={"key a": tokens_at_most(101)})])

    async def test_what_is_reserved_from_a_shared_budget_and_never_settled_counts_in_full(
        self, store: ContextStore
    ) -> None:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started())
        await store.append("run-1", [began("c1", tokens(60), shared={"key a": tokens_at_most(100)})])
        await store.append("run-1", [lost()])
        with pytest.raises(BudgetRefused):
            await store.append("run-2", [began("c1", tokens(41), shared={"key a": tokens_at_most(100)})])
        await store.append("run-2", [began("c1", tokens(40), shared={"key a": tokens_at_most(100)})])

    @pytest.mark.parametrize(
        "over",
        [
            AttemptReturned(attempt=ATTEMPT, data=ResultData(summary="s")),
            AttemptParked(attempt=ATTEMPT, open_calls=()),
            lost(),
        ],
        ids=lambda event: event.type,
    )
    async def test_an_attempt_that_is_over_settles_its_open_calls_in_full(
        self, store: ContextStore, over: AnyEvent
    ) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(30)), began("c2", tokens(30))])
        await store.append("run-1", [began("c3", tokens(30), attempt="wo-001.0/a2")])
        await store.append("run-1", [returned("c1", Usage(input_tokens=10))])
        await store.append("run-1", [over])
        assert await tokens_left(store, "run-1") == 30
        late = [returned("c2", Usage(input_tokens=1)), returned("c1", Usage(input_tokens=1))]
        await store.append("run-1", late)  # counted in full before, so they change nothing
        assert await tokens_left(store, "run-1") == 30
        await store.append("run-1", [returned("c3", Usage(requests=1), attempt="wo-001.0/a2")])
        assert await tokens_left(store, "run-1") == 60

    async def test_a_provider_that_reports_more_than_was_reserved_is_believed(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(10))])
        await store.append("run-1", [returned("c1", Usage(input_tokens=90))])
        assert await tokens_left(store, "run-1") == 10

    async def test_a_reservation_must_fit_every_scope(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        inner = {"wo-001.0": tokens_at_most(80), "wo-001.0/sub/1": tokens_at_most(30)}
        await store.append("run-1", [began("c1", tokens(20), within=inner)])
        assert await tokens_left(store, "run-1", within=inner) == 10
        assert await tokens_left(store, "run-1", within={"wo-001.0": tokens_at_most(80)}) == 60
        assert await tokens_left(store, "run-1", within={"wo-001.1": tokens_at_most(70)}) == 70
        assert await tokens_left(store, "run-1") == 80

    async def test_the_refusal_names_the_scope_without_room(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        scopes = {"wo-001.0": tokens_at_most(80), "wo-001.0/sub/1": tokens_at_most(30)}
        with pytest.raises(BudgetRefused, match=r"the step wo-001\.0/sub/1 has 30 left") as refused:
            await store.append("run-1", [began("c1", tokens(40), within=scopes)])
        assert refused.value.scope == "wo-001.0/sub/1"
        with pytest.raises(BudgetRefused, match="tokens, and the run has 100 left") as refused:
            await store.append("run-1", [began("c1", tokens(101), within=scopes)])
        assert refused.value.scope == ""

    async def test_a_refused_call_may_fit_once_open_calls_are_over_unless_it_is_too_large(
        self, store: ContextStore
    ) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        inner = {"wo-001.0": tokens_at_most(80)}
        await store.append("run-1", [began("c1", tokens(60), within=inner)])

        async def may_fit(amount: int, **more: Any) -> bool:
            with pytest.raises(BudgetRefused) as refused:
                await store.append("run-1", [began("c2", tokens(amount), **more)])
            return refused.value.may_fit

        assert await may_fit(41)
        assert not await may_fit(101)
        assert await may_fit(80, within=inner)
        assert not await may_fit(71, kept=tokens(30))
        await store.append("run-1", [returned("c1", None)])
        assert not await may_fit(41)

    @pytest.mark.parametrize(
        ("settled_by", "left"),
        [
            (returned("c1", Usage(input_tokens=4, output_tokens=6)), 90),
            (returned("c1", None), 40),
            (AttemptParked(attempt=ATTEMPT, open_calls=()), 40),
            (lost(), 40),
        ],
        ids=["usage", "unknown", "parked", "lost"],
    )
    async def test_a_reservation_is_settled_in_every_scope(
        self, store: ContextStore, settled_by: AnyEvent, left: int
    ) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=500)))
        scopes = {"a": tokens_at_most(100), "b": tokens_at_most(100)}
        await store.append("run-1", [began("c1", tokens(60), within=scopes)])
        await store.append("run-1", [settled_by])
        for scope, ceiling in scopes.items():
            assert await tokens_left(store, "run-1", within={scope: ceiling}) == left

    async def test_scopes_of_one_name_in_two_runs_are_two(self, store: ContextStore) -> None:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started(limits=UNLIMITED))
        await store.append("run-1", [began("c1", tokens(60), within={"a": tokens_at_most(100)})])
        assert await tokens_left(store, "run-2", within={"a": tokens_at_most(100)}) == 100


class SharedAllowanceContract(Contract):
    """A run has one allowance, whichever process spends it."""

    async def test_all_processes_together_stay_below_the_ceiling(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started(limits=Limits(budget=None, max_tokens=100)))
        outcomes = await asyncio.gather(
            *(each.append("run-1", [began(f"{n}", tokens(9))]) for n in range(20) for each in (store, second_store)),
            return_exceptions=True,
        )
        assert sum(isinstance(outcome, list) for outcome in outcomes) == 11
        assert sum(isinstance(outcome, BudgetRefused) for outcome in outcomes) == 29

    async def test_runs_of_two_processes_stay_below_a_budget_that_they_share(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        stores = (store, second_store)
        for number in range(20):
            await stores[number % 2].create(f"run-{number}", started())
        call = began("c1", tokens(9), shared={"key a": tokens_at_most(100), "key b": tokens_at_most(1_000)})
        outcomes = await asyncio.gather(
            *(stores[number % 2].append(f"run-{number}", [call]) for number in range(20)), return_exceptions=True
        )
        assert sum(isinstance(outcome, BudgetRefused) for outcome in outcomes) == 9
        assert sum(isinstance(outcome, list) for outcome in outcomes) == 11
