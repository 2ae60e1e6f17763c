"""What the tests of stores share: SQL past the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Statements = Callable[..., list[tuple[object, ...]]]


@pytest.fixture
def run_sql(request: pytest.FixtureRequest) -> Statements:
    """Run a statement past the store: ``run_sql(url, sql, *parameters)``."""

    def run(url: str, sql: str, *parameters: object) -> list[tuple[object, ...]]:
        from leadhand.stores.opening import database_at

        connection = database_at(url).connect()
        try:
            return connection.execute(sql, parameters)
        finally:
            connection.close()

    return run
