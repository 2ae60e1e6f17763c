"""What the tests of crashes share: helpers whose assertions are told in full."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crashes.restarting import Server, own_server

pytest.register_assert_rewrite("crashes.stories", "crashes.killing")


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of PostgreSQL of its own, so that no other test loses its connections."""
    with own_server() as server:
        yield server
