"""What all tests share: rewritten assertions of the shared modules, and worlds to carry runs out in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

pytest.register_assert_rewrite("domain.histories", "domain.invariants", "engine.fakes", "engine.worlds")


@pytest.fixture
async def open_world() -> AsyncIterator[Callable[..., Any]]:
    """Opens worlds (see ``engine/worlds.py``); all are closed after the test."""
    from engine.worlds import World

    opened: list[World] = []

    def open_(*args: Any, **kwargs: Any) -> World:
        opened.append(World(*args, **kwargs))
        return opened[-1]

    yield open_
    for world in opened:
        await world.aclose()
