"""Queues for the places of a limit that processes share."""

from __future__ import annotations

import asyncio

from leadhand.ports import PlaceStore

from .samples import Contract


class PlaceStoreContract(Contract):
    """The contract of :class:`~leadhand.ports.PlaceStore`. Provide ``store`` and ``second_store``, on one database."""

    async def test_the_first_tickets_hold_the_places(self, store: PlaceStore, second_store: PlaceStore) -> None:
        mine = await store.queue_up("x", 2, want=1)
        its = await second_store.queue_up("x", 2, want=3)
        assert (len(mine.held), len(its.held), its.in_use, its.waiting) == (1, 1, 2, 2)
        assert await store.places("x", 2) == mine.__class__(held=mine.held, in_use=2, waiting=2)
        assert (await store.queue_up("another", 2, want=1)).in_use == 1

    async def test_a_place_that_is_given_back_goes_to_the_next_ticket(
        self, store: PlaceStore, second_store: PlaceStore
    ) -> None:
        (ticket,) = (await store.queue_up("x", 1, want=1)).held
        assert not (await second_store.queue_up("x", 1, want=1)).held
        again = await store.queue_up("x", 1, want=1, done=[ticket])  # at the end of the queue
        assert (again.held, again.in_use, again.waiting) == (frozenset(), 1, 1)
        assert len((await second_store.places("x", 1)).held) == 1

    async def test_queueing_up_twice_does_no_more_than_once(self, store: PlaceStore) -> None:
        """The answer to a commit may be lost, and then the same is written again."""
        first = await store.queue_up("x", 2, want=3)
        assert await store.queue_up("x", 2, want=3) == first
        assert (len(first.held), first.in_use, first.waiting) == (2, 2, 1)
        done = sorted(first.held)[:1]
        for _ in range(2):
            now = await store.queue_up("x", 2, want=1, held=first.held - {*done}, done=done)
            assert (len(now.held), now.in_use, now.waiting) == (2, 2, 0)

    async def test_tickets_that_are_no_longer_wanted_are_taken_from_the_end(self, store: PlaceStore) -> None:
        first = await store.queue_up("x", 1, want=4)
        assert (first.in_use, first.waiting) == (1, 3)
        less = await store.queue_up("x", 1, want=1, held=first.held)
        assert (less.held, less.waiting) == (first.held, 1)
        nothing = await store.queue_up("x", 1, want=0, done=sorted(first.held))
        assert (nothing.in_use, nothing.waiting) == (0, 0)

    async def test_tickets_of_a_store_that_was_closed_are_removed(
        self, store: PlaceStore, second_store: PlaceStore
    ) -> None:
        await second_store.queue_up("x", 1, want=2)
        await second_store.aclose()  # type: ignore[attr-defined] # every store has it
        async with asyncio.timeout(30):
            while not (await store.queue_up("x", 1, want=1)).held:  # noqa: ASYNC110 (another process closed it)
                await asyncio.sleep(0.05)
        assert (await store.places("x", 1)).waiting == 0
