"""API keys: what is stored of them, and that a revoked key stays revoked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from leadhand.domain.access import ApiKey, Scope
from leadhand.domain.errors import UsageError
from leadhand.ports import KeyStore

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)


def api_key(key_id: str = "0a1b2c3d", **more: Any) -> ApiKey:
    """A stored key."""
    return ApiKey.model_validate(
        {
            "key_id": key_id,
            "name": "Ann's laptop; DROP TABLE 'keys' %s ?",
            "prefix": "lh_1a2b3c",
            "digest": f"digest of {key_id}",
            "scopes": (Scope.READ, Scope.APPROVE),
            "created_at": NOON,
            **more,
        }
    )


class KeyStoreContract:
    """The contract of a :class:`~leadhand.ports.KeyStore`. Override ``store``."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def store(self) -> KeyStore:
        """A store on an empty database."""
        raise NotImplementedError("override the fixture `store`")

    async def test_a_key_is_kept_as_it_was_given_and_found_by_its_digest(self, store: KeyStore) -> None:
        assert isinstance(store, KeyStore)
        assert await store.keys() == []
        used = api_key("1", last_used_at=NOON, revoked_at=NOON, scopes=tuple(Scope))
        await store.add_key(api_key())
        await store.add_key(used)
        assert await store.key_of("digest of 0a1b2c3d") == api_key()
        assert await store.key_of("digest of 1") == used, "revoked ones too"
        assert await store.key_of("digest of") is None
        assert await store.key_of("") is None

    async def test_keys_are_listed_newest_first(self, store: KeyStore) -> None:
        for key_id, minutes in (("c", 1), ("a", 2), ("d", 0), ("b", 1)):
            await store.add_key(api_key(key_id, created_at=NOON + timedelta(minutes=minutes)))
        assert [key.key_id for key in await store.keys()] == ["a", "b", "c", "d"]

    @pytest.mark.parametrize("same", [{"key_id": "0a1b2c3d"}, {"digest": "digest of 0a1b2c3d"}], ids=["id", "digest"])
    async def test_a_key_is_added_once(self, store: KeyStore, same: dict[str, str]) -> None:
        await store.add_key(api_key())
        with pytest.raises(UsageError, match="already exists"):
            await store.add_key(api_key(**{"key_id": "other", "digest": "another", **same}, name="Bob"))
        assert await store.keys() == [api_key()]

    async def test_a_key_that_is_revoked_stays_so(self, store: KeyStore) -> None:
        await store.add_key(api_key())
        await store.add_key(api_key("other"))
        before = datetime.now(UTC)
        revoked = await store.revoke_key("0a1b2c3d")
        assert revoked.revoked_at is not None
        assert before <= revoked.revoked_at <= datetime.now(UTC)
        assert revoked == api_key(revoked_at=revoked.revoked_at)
        assert await store.revoke_key("0a1b2c3d") == revoked
        assert await store.key_of("digest of 0a1b2c3d") == revoked
        assert await store.key_of("digest of other") == api_key("other")

    async def test_revoking_a_key_that_is_not_there_is_an_error_of_usage(self, store: KeyStore) -> None:
        with pytest.raises(UsageError, match="there is no key nowhere") as error:
            await store.revoke_key("nowhere")
        assert "leadhand keys list" in error.value.how

    async def test_the_last_use_of_a_key_is_the_latest(self, store: KeyStore) -> None:
        await store.add_key(api_key())
        later = NOON + timedelta(seconds=1)
        for at, last in ((NOON, NOON), (later, later), (NOON, later)):
            await store.used_key("0a1b2c3d", at)
            assert await store.keys() == [api_key(last_used_at=last)]
        await store.used_key("nowhere", later)
        assert await store.keys() == [api_key(last_used_at=later)]


class SharedKeyStoreContract(KeyStoreContract):
    """The contract for several processes on one database. Override ``store`` and ``second_store``."""

    @pytest.fixture
    def second_store(self) -> KeyStore:
        """Another store on the same database, as another process would open it."""
        raise NotImplementedError("override the fixture `second_store`")

    async def test_a_key_that_one_process_revokes_opens_nothing_in_another(
        self, store: KeyStore, second_store: KeyStore
    ) -> None:
        await store.add_key(api_key())
        assert await second_store.key_of("digest of 0a1b2c3d") == api_key()
        revoked = await second_store.revoke_key("0a1b2c3d")
        assert await store.key_of("digest of 0a1b2c3d") == revoked
