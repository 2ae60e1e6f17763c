"""The places of a limit that processes share."""

from __future__ import annotations

import asyncio

from leadhand.stores.sql_store import SqlContextStore

from .samples import Contract


class PlaceStoreContract(Contract):
    """The places of a store in a database. Provide ``store`` and ``second_store``."""

    async def test_a_process_gets_the_places_that_are_free(
        self, store: SqlContextStore, second_store: SqlContextStore
    ) -> None:
        assert await store.share("x", 2, held=0, wanted=1) == 1
        assert await second_store.share("x", 2, held=0, wanted=3) == 1
        assert await store.share("x", 2, held=1, wanted=1) == 1
        assert await store.share("another", 2, held=0, wanted=1) == 1

    async def test_a_place_that_is_given_back_goes_to_the_process_that_waits(
        self, store: SqlContextStore, second_store: SqlContextStore
    ) -> None:
        assert await store.share("x", 1, held=0, wanted=1) == 1
        assert await second_store.share("x", 1, held=0, wanted=1) == 0
        assert await store.share("x", 1, held=0, wanted=1) == 0, "it is behind the other one"
        assert await second_store.share("x", 1, held=0, wanted=1) == 1
        assert await second_store.share("x", 1, held=0) == 0
        assert await store.share("x", 1, held=0, wanted=1) == 1

    async def test_asking_twice_does_no_more_than_once(self, store: SqlContextStore) -> None:
        """The answer to a commit may be lost, and then the same is written again."""
        for _ in range(2):
            assert await store.share("x", 2, held=0, wanted=3) == 2
        for _ in range(2):
            assert await store.share("x", 2, held=1, wanted=1) == 2
        for _ in range(2):
            assert await store.share("x", 2, held=0) == 0

    async def test_a_process_that_no_longer_waits_keeps_no_place_from_others(
        self, store: SqlContextStore, second_store: SqlContextStore
    ) -> None:
        assert await store.share("x", 1, held=0, wanted=1) == 1
        assert await second_store.share("x", 1, held=0, wanted=1) == 0
        assert await second_store.share("x", 1, held=0) == 0
        assert await store.share("x", 1, held=0, wanted=1) == 1

    async def test_the_places_of_a_store_that_was_closed_are_free(
        self, store: SqlContextStore, second_store: SqlContextStore
    ) -> None:
        assert await second_store.share("x", 1, held=0, wanted=2) == 1
        await second_store.aclose()  # type: ignore[attr-defined] # every store has it
        async with asyncio.timeout(30):
            while not await store.share("x", 1, held=0, wanted=1):  # noqa: ASYNC110 (another process closed it)
                await asyncio.sleep(0.05)
