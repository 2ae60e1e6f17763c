"""A cluster of real processes for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from crashes.restarting import Server, own_server

from cluster.machines import Cluster


@pytest.fixture
def cluster(postgres_tables_url: str, tmp_path: Path) -> Cluster:
    return Cluster(postgres_tables_url, tmp_path)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of PostgreSQL of its own, so that no other test loses its connections."""
    with own_server() as server:
        yield server
