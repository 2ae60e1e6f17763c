"""JSON values at the doors: nested and large within limits, and nothing that JSON does not have."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.core.tool import ToolSpec
from leadhand.core.value import DEEPEST, LARGEST, TOO_DEEP, json_problem


def nested(levels: int, inner: Any = 0) -> Any:
    """A value of this many levels, lists and objects in turn."""
    for level in range(levels):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


@pytest.mark.parametrize("inner", [0, "[[[{{{" * 50, [], [{}] * 200])
def test_a_value_may_be_nested_as_deeply_as_the_limit_and_no_deeper(inner: Any) -> None:
    levels = DEEPEST - (isinstance(inner, list) + bool(inner and isinstance(inner, list)))
    assert json_problem(nested(levels, inner)) == ""
    assert json_problem(nested(levels + 1, inner)) == TOO_DEEP


@pytest.mark.parametrize("levels", [200, 240, 254, 300, 900, 100_000])
def test_however_deep_a_value_is_the_reason_is_the_same(levels: int) -> None:
    assert json_problem(nested(levels)) == TOO_DEEP


def test_a_wide_value_is_not_a_deep_one() -> None:
    assert json_problem([[{"a": number}] for number in range(10_000)]) == ""


def test_a_large_value_is_refused_with_its_size_and_the_limit() -> None:
    assert json_problem("x" * (LARGEST - 2)) == ""
    assert all(f"{each:,}" in json_problem(["x" * LARGEST]) for each in (LARGEST + 4, LARGEST))


def test_what_json_does_not_have_is_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (float("nan"), float("inf"), object(), {1, 2}, b"x", 10**5_000, cycle):
        assert json_problem(value)


def test_what_a_value_keeps_beside_its_fields_is_no_field_of_it():
    tool = ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}})
    fields = dict(tool)
    assert tool.size > 0
    assert dict(tool) == fields
