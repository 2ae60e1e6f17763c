"""The contract of every context store, held by PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from leadhand.ports import ContextStore
from leadhand.stores.opening import open_store
from leadhand.testing.store_contract import ContextStoreContract


class TestPostgresStore(ContextStoreContract):
    @pytest.fixture
    async def store(self, postgres_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(postgres_url)) as store:
            yield store

    @pytest.fixture
    async def second_store(self, store: ContextStore, postgres_url: str) -> AsyncIterator[ContextStore]:
        async with aclosing(await open_store(postgres_url)) as store:
            yield store
