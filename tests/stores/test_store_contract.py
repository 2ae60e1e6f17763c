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


class TestSqliteStore(ContextStoreContract, RecordContract, FileIndexContract, SearchIndexContract, PlaceStoreContract):
    @pytest.fixture
    async def store(self, sqlite_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(sqlite_url)) as store:
            yield store

    @pytest.fixture
    async def second_store(self, store: ContextStore, sqlite_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(sqlite_url)) as store:
            yield store


class TestPostgresStore(
    ContextStoreContract, RecordContract, FileIndexContract, SearchIndexContract, PlaceStoreContract
):
    @pytest.fixture
    async def store(self, postgres_tables_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(postgres_tables_url)) as store:
            yield store

    @pytest.fixture
    async def second_store(self, store: ContextStore, postgres_tables_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(postgres_tables_url)) as store:
            yield store
