"""``--option NAME=VALUE``: JSON where it is JSON, else text."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.cli.options import flow_options


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ([], {}),
        (["max_revisions=2", "review=false"], {"max_revisions": 2, "review": False}),
        (["max-revisions=2"], {"max_revisions": 2}),
        (["tone=formal", 'title="42"', "note="], {"tone": "formal", "title": "42", "note": ""}),
        (['topics=["a", "b"]', 'limits={"depth": 1.5}'], {"topics": ["a", "b"], "limits": {"depth": 1.5}}),
        (["where=a=b", "level=NaN", "deep=" + "[" * 100_000], {"where": "a=b", "level": "NaN", "deep": "[" * 100_000}),
    ],
)
def test_a_value_is_json_or_else_text(given: list[str], options: dict[str, Any]) -> None:
    assert flow_options(given) == options
