"""Settings of roles: stored as given, the latest of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from leadhand.domain.access import AgentSettings
from leadhand.ports import AgentStore

NOON = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)


def agent(name: str, **more: Any) -> AgentSettings:
    """Settings of a role."""
    return AgentSettings.model_validate({"name": name, "by": "Ann's laptop", "at": NOON, **more})


class AgentStoreContract:
    """The contract of an :class:`~leadhand.ports.AgentStore`. Override ``store``."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def store(self) -> AgentStore:
        """A store on an empty database."""
        raise NotImplementedError("override the fixture `store`")

    async def test_settings_of_roles_are_kept_as_they_were_given(self, store: AgentStore) -> None:
        assert isinstance(store, AgentStore)
        assert await store.agents() == []
        worker = agent("worker", model="openai:x", instructions="Say „%s“; DROP TABLE 'agents' ?\n" * 20)
        lead = agent("lead")
        await store.set_agent(worker)
        await store.set_agent(lead)
        assert await store.agents() == [lead, worker], "by name"

    async def test_the_latest_settings_of_a_role_are_the_ones_that_count(self, store: AgentStore) -> None:
        await store.set_agent(agent("lead", model="a"))
        await store.set_agent(agent("lead", instructions="b"))
        assert await store.agents() == [agent("lead", instructions="b")]

    async def test_settings_can_be_taken_back_and_that_is_no_error_twice(self, store: AgentStore) -> None:
        await store.set_agent(agent("lead", model="a"))
        await store.set_agent(agent("worker", model="a"))
        for _ in range(2):
            await store.unset_agent("lead")
        assert await store.agents() == [agent("worker", model="a")]
