"""What a large run sends to the model, beside the leanest of the measured systems: each worker gets its subtask."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

LEANEST = 110_274
"""Bytes of all requests of the leanest other system in the side-by-side job at N = 100, which judges no answer."""


@pytest.fixture(scope="module")
def wire() -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "wire.py"))


def is_judge(body: dict[str, Any]) -> bool:
    """Whether a request asks for the judgement of the answer."""
    return body.get("response_format", {}).get("json_schema", {}).get("name") == "judge"


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "times", "most_calls"), [("", 1.15, 103), ("asking", 2.2, 208)])
async def test_a_run_of_a_hundred_subtasks_sends_few_bytes_most_of_which_a_cache_can_reuse(
    wire: dict[str, Any], variant: str, times: float, most_calls: int
):
    bodies = await wire["requests_of"](100, variant)

    written = [wire["encode"](body) for body in bodies]
    assert len(written) <= most_calls
    judged = sum(len(each) for each, body in zip(written, bodies, strict=True) if is_judge(body))
    assert 0 < sum(map(len, written)) - judged <= times * LEANEST
    workers = [wire["encode"](body) for body in bodies if wire["worker_of"](body) == "work"]
    assert wire["prefix_share"](workers) >= 0.7
