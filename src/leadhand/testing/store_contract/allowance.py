"""The allowance: what calls reserve, what settles it, and that nobody spends beyond the ceiling."""

from __future__ import annotations

import asyncio

import pytest

from leadhand.domain.events import AnyEvent, AttemptParked, AttemptReturned
from leadhand.domain.limits import Amount, Limits, Usage
from leadhand.domain.work_result import ResultData, WorkResult
from leadhand.ports import AllowanceRefused, ContextStore

from .fixtures import OneStore, TwoStores
from .samples import ATTEMPT, UNLIMITED, began, fits, lost, returned, started, tokens, tokens_left


class AllowanceContract(OneStore):
    """A run spends what it is allowed, and no more."""

    @pytest.mark.parametrize("kind", ["requests", "tokens", "nanousd"])
    async def test_a_reservation_that_does_not_fit_is_refused(self, store: ContextStore, kind: str) -> None:
        limits = Limits(max_requests=100, max_tokens=100, budget_nanousd=100)
        await store.create("run-1", started(limits=limits))
        await store.append("run-1", [began("c1", Amount.model_validate({kind: 60}))])
        assert not await fits(store, "run-1", Amount.model_validate({kind: 41}))
        assert await fits(store, "run-1", Amount.model_validate({kind: 40}))

    async def test_without_a_ceiling_everything_fits(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=UNLIMITED))
        assert await fits(store, "run-1", Amount(requests=10**9, tokens=10**15, nanousd=10**15))

    async def test_what_is_held_back_is_for_final_calls(self, store: ContextStore) -> None:
        limits = Limits(budget_nanousd=None, max_tokens=100)
        await store.create("run-1", started(limits=limits, held_back=Amount(tokens=30)))
        assert await tokens_left(store, "run-1") == 70
        assert await tokens_left(store, "run-1", final=True) == 100

    async def test_usage_settles_a_reservation(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(60)), began("c2", tokens(20))])
        assert await tokens_left(store, "run-1") == 20
        await store.append("run-1", [returned("c1", Usage(input_tokens=4, output_tokens=6))])
        assert await tokens_left(store, "run-1") == 70

    async def test_usage_that_is_unknown_settles_in_full(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(60))])
        await store.append("run-1", [returned("c1", None)])
        assert await tokens_left(store, "run-1") == 40

    async def test_a_price_that_is_unknown_counts_as_it_was_reserved(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=100, max_tokens=100)))
        await store.append("run-1", [began("c1", Amount(tokens=60, nanousd=60))])
        await store.append("run-1", [returned("c1", Usage(input_tokens=10, nanousd=None))])
        assert await fits(store, "run-1", Amount(nanousd=40, tokens=90))
        assert not await fits(store, "run-1", Amount(nanousd=41))

    @pytest.mark.parametrize(
        "over",
        [
            AttemptReturned(attempt=ATTEMPT, result=WorkResult(task_name="t", ok=True, data=ResultData(summary="s"))),
            AttemptParked(attempt=ATTEMPT, open_calls=()),
            lost(),
        ],
        ids=lambda event: event.type,
    )
    async def test_an_attempt_that_is_over_settles_its_open_calls_in_full(
        self, store: ContextStore, over: AnyEvent
    ) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
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

    async def test_a_call_begun_twice_counts_twice(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(30))])
        await store.append("run-1", [began("c1", tokens(20))])
        assert await tokens_left(store, "run-1") == 50
        await store.append("run-1", [returned("c1", Usage(input_tokens=0))])
        assert await tokens_left(store, "run-1") == 70

    async def test_a_provider_that_reports_more_than_was_reserved_is_believed(self, store: ContextStore) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        await store.append("run-1", [began("c1", tokens(10))])
        await store.append("run-1", [returned("c1", Usage(input_tokens=90))])
        assert await tokens_left(store, "run-1") == 10


class SharedAllowanceContract(TwoStores):
    """A run has one allowance, whoever spends it."""

    async def test_all_processes_together_stay_below_the_ceiling(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        outcomes = await asyncio.gather(
            *(each.append("run-1", [began(f"{n}", tokens(9))]) for n in range(20) for each in (store, second_store)),
            return_exceptions=True,
        )
        assert sum(isinstance(outcome, list) for outcome in outcomes) == 11
        assert sum(isinstance(outcome, AllowanceRefused) for outcome in outcomes) == 29
