"""The stores under test: fixtures to override."""

from __future__ import annotations

import pytest

from leadhand.ports import ContextStore


class OneStore:
    """Tests of one store. Override ``store``."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def store(self) -> ContextStore:
        """A store on an empty database."""
        raise NotImplementedError("override the fixture `store`")


class TwoStores(OneStore):
    """Tests of two stores on one database. Override ``store`` and ``second_store``."""

    @pytest.fixture
    def second_store(self) -> ContextStore:
        """Another store on the same database, as another process would open it."""
        raise NotImplementedError("override the fixture `second_store`")
