"""JSON values at the doors: nested and large within limits, and nothing that JSON does not have."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core.value import LARGEST, TOO_DEEP, json_problem


def nested(levels: int, inner: Any = 0) -> Any:
    """A value of this many levels, lists and objects in turn."""
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


@pytest.mark.parametrize("levels", [200, 240, 254, 300, 900, 100_000])
def test_however_deep_a_value_is_the_reason_is_the_same(levels: int) -> None:
    assert json_problem(nested(levels)) == TOO_DEEP


def test_a_large_value_is_refused_with_its_size_and_the_limit() -> None:
    assert json_problem("x" * (LARGEST - 2)) == ""
    assert all(f"{each:,}" in json_problem(["x" * LARGEST]) for each in (LARGEST + 4, LARGEST))


def test_what_json_does_not_have_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (float("nan"), float("inf"), object(), {1, 2}, b"x", 10**5_000, cycle):
        assert json_problem(value)
