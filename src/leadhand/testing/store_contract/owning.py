"""Owning a run: one process drives it, under an epoch."""

from __future__ import annotations

import asyncio

import pytest

from leadhand.domain.errors import RunOwned, UsageError
from leadhand.domain.events import RunClaimed, RunFinished, RunReopened
from leadhand.domain.run import RunStatus
from leadhand.ports import ContextStore

from .fixtures import OneStore, TwoStores
from .samples import pauses, started


class OwningContract(OneStore):
    """A run is claimed, driven and released."""

    async def test_a_run_that_is_driven_cannot_be_claimed_again(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        with pytest.raises(RunOwned, match=store.host):
            await store.claim("run-1")  # not even by its owner: one controller is enough
        assert len(await store.read("run-1")) == 1

    async def test_a_claim_is_written_down_under_the_new_epoch(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert (await store.run("run-1")).owner is None
        assert (await store.run("run-1")).epoch == 1
        assert await store.claim("run-1") == 2
        entry = (await store.read("run-1"))[-1]
        assert (entry.seq, entry.epoch, entry.event) == (2, 2, RunClaimed(owner=store.host))
        listing = await store.run("run-1")
        assert (listing.owner, listing.epoch, listing.head_seq) == (store.host, 2, 2)

    async def test_a_release_under_an_old_epoch_does_nothing(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert await store.claim("run-1") == 2
        await store.release("run-1", 1)
        assert (await store.run("run-1")).owner == store.host

    async def test_a_finished_run_cannot_be_claimed(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [RunFinished(status=RunStatus.PARTIAL, answer="so far")], epoch=1)
        await store.release("run-1", 1)
        with pytest.raises(UsageError, match="run-1 is finished"):
            await store.claim("run-1")

    async def test_a_finished_run_can_be_claimed_in_order_to_reopen_it(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [RunFinished(status=RunStatus.PARTIAL, answer="so far")], epoch=1)
        await store.release("run-1", 1)
        assert await store.claim("run-1", ended=True) == 2
        await store.append("run-1", [RunReopened(by="me")], epoch=2)
        listing = await store.run("run-1")
        assert (listing.status, listing.finished_at, listing.owner) == (RunStatus.RUNNING, None, store.host)


class SharedOwningContract(TwoStores):
    """Of all processes, one drives a run at a time."""

    async def test_a_run_whose_owner_lives_cannot_be_claimed(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        with pytest.raises(RunOwned, match=store.host):
            await second_store.claim("run-1")
        with pytest.raises(RunOwned, match=store.host):
            await store.claim("run-1")  # not even by itself: one controller is enough
        assert len(await store.read("run-1")) == 1
        assert (await second_store.run("run-1")).owner == store.host

    async def test_a_run_goes_over_to_whoever_claims_it(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert (await store.run("run-1")).owner is None
        assert (await store.run("run-1")).epoch == 1
        assert await second_store.claim("run-1") == 2
        entry = (await store.read("run-1"))[-1]
        assert (entry.seq, entry.epoch, entry.event) == (2, 2, RunClaimed(owner=second_store.host))
        listing = await store.run("run-1")
        assert (listing.owner, listing.epoch, listing.head_seq) == (second_store.host, 2, 2)

    async def test_of_two_who_claim_at_once_one_succeeds(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        outcomes = await asyncio.gather(store.claim("run-1"), second_store.claim("run-1"), return_exceptions=True)
        assert sorted(map(str, map(type, outcomes))) == sorted(map(str, [int, RunOwned]))

    async def test_releasing_a_run_of_another_does_nothing(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await second_store.release("run-1", 1)
        assert (await store.run("run-1")).owner == store.host
        await store.release("run-1", 1)
        await second_store.claim("run-1")
        await store.release("run-1", 1)
        await second_store.release("run-1", 1)
        assert (await store.run("run-1")).owner == second_store.host

    async def test_closing_commits_what_is_under_way_and_lets_go_of_every_run(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.create("run-2", started())
        call = store.append("run-1", pauses("last words"))
        await store.aclose()
        await store.aclose()
        (entry,) = await call
        assert (await second_store.read("run-1"))[-1] == entry
        for run_id in ("run-1", "run-2"):
            assert (await second_store.run(run_id)).owner is None
            assert await second_store.claim(run_id) == 2
