"""The contract of every context store, held by SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from leadhand.ports import ContextStore
from leadhand.stores.opening import open_store
from leadhand.testing.store_contract import ContextStoreContract


class TestSqliteStore(ContextStoreContract):
    @pytest.fixture
    async def store(self, sqlite_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(sqlite_url)) as store:
            yield store

    @pytest.fixture
    async def second_store(self, store: ContextStore, sqlite_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(sqlite_url)) as store:
            yield store
