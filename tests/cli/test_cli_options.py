"""``--option NAME=VALUE``: JSON where it is JSON, else text."""

from __future__ import annotations

from typing import Any

import pytest

from leadhand.cli.flag_values import flow_options
from leadhand.domain.errors import UsageError


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


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["max_revisions"], "invalid value for --option: 'max_revisions'"),
        (["=2"], "invalid value for --option: '=2'"),
        (["flow=report"], "invalid value for --option: 'flow=report'"),
        (["a b=2"], "invalid value for --option: 'a b=2'"),
        (["max_revisions=1", "max-revisions=2"], "--option names max_revisions twice"),
    ],
)
def test_what_is_not_a_name_and_a_value_is_refused(given: list[str], what: str) -> None:
    with pytest.raises(UsageError) as raised:
        flow_options(given)

    assert raised.value.what == what
    assert raised.value.how
