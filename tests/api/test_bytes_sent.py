"""What a large run sends to the model, beside the leanest of the measured systems: each worker gets its subtask."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

LEANEST = 110_274
"""Bytes of all requests of the leanest other system in the side-by-side job at N = 100, with two calls a worker."""


@pytest.fixture(scope="module")
def wire() -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "wire.py"))


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "times", "most_calls"), [("", 1.35, 103), ("asking", 2.4, 208)])
async def test_a_run_of_a_hundred_subtasks_sends_few_bytes_most_of_which_a_cache_can_reuse(
    wire: dict[str, Any], variant: str, times: float, most_calls: int
):
    bodies = await wire["requests_of"](100, variant)

    written = [wire["encode"](body) for body in bodies]
    assert len(written) <= most_calls
    assert sum(map(len, written)) <= times * LEANEST
    workers = [wire["encode"](body) for body in bodies if wire["worker_of"](body) == "work"]
    assert wire["prefix_share"](workers) >= 0.7
