"""Artifacts by digest: the contract for each store of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from memory_store import MemoryArtifacts
from stores.contract import ArtifactStoreContract

from leadhand.ports import ArtifactStore
from leadhand.stores.opening import open_store


class TestMemoryArtifacts(ArtifactStoreContract):
    @pytest.fixture
    def artifacts(self) -> ArtifactStore:
        return MemoryArtifacts()


class TestArtifactsOfADatabase(ArtifactStoreContract):
    @pytest.fixture
    async def artifacts(self, url: str) -> AsyncIterator[ArtifactStore]:
        async with aclosing(await open_store(url)) as store:
            yield store.artifacts


async def test_every_process_on_a_database_reads_what_another_has_put(url: str) -> None:
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as second:
        assert await second.artifacts.get(await store.artifacts.put(b"shared")) == b"shared"
