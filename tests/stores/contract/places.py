"""Queues for the places of a limit that processes share."""

from __future__ import annotations

import asyncio

from leadhand.ports import DatabaseStore

from .samples import Contract


class PlaceStoreContract(Contract):
    """The places of a :class:`~leadhand.ports.DatabaseStore`. Provide ``store`` and ``second_store``."""

    async def test_the_first_tickets_hold_the_places(self, store: DatabaseStore, second_store: DatabaseStore) -> None:
        mine = await store.queue_up("x", 2, want=[0])
        its = await second_store.queue_up("x", 2, want=[0] * 3)
        assert (len(mine.held), len(its.held), its.in_use, its.waiting) == (1, 1, 2, 2)
        assert await store.places("x", 2) == mine.__class__(held=mine.held, in_use=2, waiting=2)
        assert (await store.queue_up("another", 2, want=[0])).in_use == 1

    async def test_a_place_that_is_given_back_goes_to_the_next_ticket(
        self, store: DatabaseStore, second_store: DatabaseStore
    ) -> None:
        (ticket,) = (await store.queue_up("x", 1, want=[0])).held
        assert not (await second_store.queue_up("x", 1, want=[0])).held
        again = await store.queue_up("x", 1, want=[0], done=[ticket])  # at the end of the queue
        assert (again.held, again.in_use, again.waiting) == (frozenset(), 1, 1)
        assert len((await second_store.places("x", 1)).held) == 1

    async def test_the_highest_priority_gets_the_next_place(
        self, store: DatabaseStore, second_store: DatabaseStore
    ) -> None:
        (ticket,) = (await store.queue_up("x", 1, want=[-100])).held
        low = await store.queue_up("x", 1, want=[0, 0], held=[ticket])
        assert (low.held, low.waiting) == ({ticket}, 2), "a place that is held is not taken away"
        high = await second_store.queue_up("x", 1, want=[10, 100])
        assert (high.held, high.in_use, high.waiting) == (frozenset(), 1, 4)
        await store.queue_up("x", 1, want=[0, 0, 10], done=[ticket])
        for priorities in ([10, 100], [10]):  # of two with the same priority, the first
            (its,) = (await second_store.places("x", 1)).held
            assert not (await store.places("x", 1)).held
            assert (await second_store.queue_up("x", 1, want=priorities[:-1], held=[its])).held == {its}
            await second_store.queue_up("x", 1, want=priorities[:-1], done=[its])
        assert not (await second_store.places("x", 1)).held
        for want in ([0, 0], [0], []):
            (mine,) = (await store.places("x", 1)).held
            await store.queue_up("x", 1, want=want, done=[mine])
        assert (await store.places("x", 1)).in_use == 0

    async def test_tickets_of_a_priority_that_is_no_longer_wanted_are_removed(
        self, store: DatabaseStore, second_store: DatabaseStore
    ) -> None:
        (ticket,) = (await second_store.queue_up("x", 1, want=[0])).held
        assert (await store.queue_up("x", 1, want=[0, 7, 7])).waiting == 3
        assert (await second_store.queue_up("x", 1, want=[5], held=[ticket])).waiting == 4
        assert (await store.queue_up("x", 1, want=[0, 3])).waiting == 3
        await second_store.queue_up("x", 1, want=[5], done=[ticket])
        assert len((await second_store.places("x", 1)).held) == 1, "5 comes before 3"

    async def test_queueing_up_twice_does_no_more_than_once(self, store: DatabaseStore) -> None:
        """The answer to a commit may be lost, and then the same is written again."""
        first = await store.queue_up("x", 2, want=[0] * 3)
        assert await store.queue_up("x", 2, want=[0] * 3) == first
        assert (len(first.held), first.in_use, first.waiting) == (2, 2, 1)
        done = sorted(first.held)[:1]
        for _ in range(2):
            now = await store.queue_up("x", 2, want=[0], held=first.held - {*done}, done=done)
            assert (len(now.held), now.in_use, now.waiting) == (2, 2, 0)

    async def test_tickets_that_are_no_longer_wanted_are_taken_from_the_end(self, store: DatabaseStore) -> None:
        first = await store.queue_up("x", 1, want=[0] * 4)
        assert (first.in_use, first.waiting) == (1, 3)
        less = await store.queue_up("x", 1, want=[0], held=first.held)
        assert (less.held, less.waiting) == (first.held, 1)
        nothing = await store.queue_up("x", 1, want=[], done=sorted(first.held))
        assert (nothing.in_use, nothing.waiting) == (0, 0)

    async def test_tickets_of_a_store_that_was_closed_are_removed(
        self, store: DatabaseStore, second_store: DatabaseStore
    ) -> None:
        await second_store.queue_up("x", 1, want=[0] * 2)
        await second_store.aclose()  # type: ignore[attr-defined] # every store has it
        async with asyncio.timeout(30):
            while not (await store.queue_up("x", 1, want=[0])).held:  # noqa: ASYNC110 (another process closed it)
                await asyncio.sleep(0.05)
        assert (await store.places("x", 1)).waiting == 0
