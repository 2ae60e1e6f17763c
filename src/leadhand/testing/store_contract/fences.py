"""Fences: decisions of a process that lost its run, and calls of attempts that are over, are refused."""

from __future__ import annotations

import asyncio

import pytest

from leadhand.domain.errors import Fenced
from leadhand.domain.events import AnyEvent, AttemptSettled, CancelRequested, ToolCallBegan
from leadhand.domain.tool import Effect
from leadhand.ports import ContextStore, StaleAttempt

from .fixtures import OneStore, TwoStores
from .samples import ATTEMPT, lost, pauses, reasons, started


class FencesContract(OneStore):
    """Decisions and calls that come too late are refused."""

    async def test_a_decision_under_another_epoch_is_refused(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert await store.claim("run-1") == 2
        with pytest.raises(Fenced, match="run-1"):
            await store.append("run-1", pauses("stale"), epoch=1)
        await store.append("run-1", pauses("mine"), epoch=2)
        assert reasons(await store.read("run-1")) == ["mine"]

    async def test_observations_and_requests_pass_whoever_owns_the_run(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        await store.claim("run-1")
        (entry,) = await store.append("run-1", [CancelRequested(by="a person")])
        assert entry.epoch == 2

    @pytest.mark.parametrize(
        "ended", [AttemptSettled(attempt=ATTEMPT, ok=True, final=True), lost()], ids=lambda e: e.type
    )
    async def test_a_once_call_of_an_attempt_that_is_over_does_not_begin(
        self, store: ContextStore, ended: AnyEvent
    ) -> None:
        await store.create("run-1", started())
        call = ToolCallBegan(attempt=ATTEMPT, call_id="c", tool="book", args={}, effect=Effect.ONCE)
        other = call.evolve(attempt="wo-001.0/a2")
        await store.append("run-1", [call], current=ATTEMPT)
        outcomes = await asyncio.gather(
            store.append("run-1", [ended]),
            store.append("run-1", [call], current=ATTEMPT),  # in the same moment
            store.append("run-1", [other], current=other.attempt),
            return_exceptions=True,
        )
        assert isinstance(outcomes[1], StaleAttempt)
        with pytest.raises(StaleAttempt):
            await store.append("run-1", [call], current=ATTEMPT)  # and ever after
        await store.append("run-1", [call])  # only those who ask for the fence are fenced
        assert [entry.event for entry in await store.read("run-1", after=1)] == [call, ended, other, call]


class SharedFencesContract(TwoStores):
    """Fences hold between processes."""

    async def test_a_decision_under_the_epoch_of_a_former_owner_is_refused(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert await second_store.claim("run-1") == 2
        with pytest.raises(Fenced, match="run-1"):
            await store.append("run-1", pauses("stale"), epoch=1)
        await second_store.append("run-1", pauses("mine"), epoch=2)
        assert reasons(await store.read("run-1")) == ["mine"]

    async def test_an_attempt_is_over_for_every_process(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        call = ToolCallBegan(attempt=ATTEMPT, call_id="c", tool="book", args={}, effect=Effect.ONCE)
        await store.append("run-1", [lost()])
        with pytest.raises(StaleAttempt):
            await second_store.append("run-1", [call], current=ATTEMPT)
