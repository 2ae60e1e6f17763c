"""The transcripts of a strong model fit the tools that come with them, and the cases that were made of them."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.judging.cases import FOLDER

from leadhand.tools.tool import Tool

DATA = Path(__file__).parents[1] / "data" / "transcripts"
ROWS = [json.loads(line) for line in (DATA / "orders.jsonl").read_text("utf-8").splitlines()]


@cache
def tools() -> dict[str, Any]:
    """The functions of the transcripts' tools by name."""
    found: dict[str, Any] = {}
    for path in DATA.glob("*.py"):
        spec = importlib.util.spec_from_file_location(f"transcripts_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= {name: each for name, each in vars(module).items() if isinstance(each, Tool)}
    return found


@pytest.mark.parametrize("name", ["price_lookup", "stock_lookup", "sales_csv", "calendar_lookup", "find_contact"])
def test_a_tool_returns_what_the_transcripts_show(name: str) -> None:
    shown = 0
    for row in ROWS:
        calls = [call["function"] for each in row["messages"] for call in each.get("tool_calls") or ()]
        results = [json.loads(each["content"]) for each in row["messages"] if each["role"] == "tool"]
        for call, result in zip(calls, results, strict=False):
            if call["name"] == name:
                assert tools()[name](**json.loads(call["arguments"])) == result["raw"]
                shown += 1
    assert shown


def test_every_answer_among_the_cases_is_one_of_the_transcripts() -> None:
    replies = [row["reply"] for row in ROWS]
    written: list[Any] = [each.get("text") for each in replies] + [each.get("json") for each in replies]
    written += [each["answer"] for each in written if isinstance(each, dict) and "answer" in each]
    scenes = yaml.safe_load((FOLDER / "transcripts.yaml").read_text("utf-8")).values()
    answers = [each for scene in scenes for group in ("honest", "lies", "omits") for each in scene.get(group, ())]
    assert [each for each in answers if each.get("text", each.get("value")) not in written] == []
