"""A large order finds the subtasks that began before it without comparing each with each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from core.histories import definition

from flows.scripts import look
from leadhand.core.state import RunState
from leadhand.core.work_order import Subtask
from leadhand.flows.seam.orders import asked_order

COUNT = 300


@pytest.mark.parametrize(
    ("moved", "of_first"), [(0, "wo-001.0"), (1, "wo-001.1"), (COUNT, f"wo-001.{COUNT}")], ids=["same", "moved", "new"]
)
def test_a_large_order_compares_each_subtask_with_few(monkeypatch: pytest.MonkeyPatch, moved: int, of_first: str):
    begun = [Subtask.model_validate(look(f"look at {n}", n)) for n in range(COUNT)]
    steps = {
        f"wo-001.{n}": SimpleNamespace(is_early=True, subtask=each, name=each.name) for n, each in enumerate(begun)
    }
    state = cast("RunState", SimpleNamespace(definition=definition(), orders={}, steps=steps))
    compared: list[Any] = []
    equal = Subtask.__eq__
    monkeypatch.setattr(Subtask, "__eq__", lambda one, other: compared.append(other) or equal(one, other))

    order = asked_order(state, "all", [look(f"look at {n}", n) for n in range(moved, moved + COUNT)], None, {})

    assert order.subtask_keys[0] == of_first
    assert len({*order.subtask_keys}) == COUNT
    assert len(compared) <= 2 * COUNT
