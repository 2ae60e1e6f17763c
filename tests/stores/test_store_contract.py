"""The contract of every context store, held by each of ours: in memory, SQLite, PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from memory_store import MemoryStore
from stores.contract import (
    ContextStoreContract,
    FileIndexContract,
    OneStoreContract,
    PlaceStoreContract,
    RecordContract,
    SearchIndexContract,
)

from leadhand.app.runtime.clock import SystemClock
from leadhand.ports import ContextStore
from leadhand.stores.opening import open_store


class TestMemoryStore(OneStoreContract, FileIndexContract):
    """One process, so only what a store owes to one."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[ContextStore]:
        async with aclosing(MemoryStore(SystemClock())) as store:
            yield store

    @pytest.fixture
    def second_store(self, store: ContextStore) -> ContextStore:
        return store


class TestSqlStore(ContextStoreContract, RecordContract, FileIndexContract, SearchIndexContract, PlaceStoreContract):
    """SQLite and PostgreSQL in turn."""

    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(url)) as store:
            yield store

    @pytest.fixture
    async def second_store(self, store: ContextStore, url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(url)) as store:
            yield store
