"""The JSON object in an answer is found however the model wrapped it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.models.answers import decode_object


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '  {"a": 1}\n',
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1}```',
        'Sure! Here it is: {"a": 1} Let me know.',
        '[{"a": 1}]',
        'A set {of words} and then {"a": 1}',
    ],
)
def test_finds_the_object(text: str) -> None:
    assert decode_object(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "no", "[1, 2]", "3", '{"a": ', "{" * 100_000, "[" * 100_000, "null"])
def test_finds_nothing_where_there_is_nothing(text: str) -> None:
    assert decode_object(text) is None


WHOLE = json.dumps({"goal": "all", "subtasks": [{"name": f"check_{n}", "args": {"n": n}} for n in range(60)]})


@pytest.mark.parametrize("end", [20, 60, 200, len(WHOLE) // 2, len(WHOLE) - 1])
@pytest.mark.parametrize("before", ["", "```json\n", "Here is the plan: "])
def test_an_object_inside_one_that_was_cut_is_not_taken_for_it(end: int, before: str) -> None:
    assert decode_object(before + WHOLE[:end]) is None


def test_an_object_inside_a_malformed_one_is_not_taken_for_it() -> None:
    assert decode_object(WHOLE.replace('"subtasks": [', '"subtasks" = [')) is None


@given(
    st.dictionaries(st.text(), st.text() | st.integers() | st.none()),
    st.text(alphabet=st.characters(exclude_characters="{[")),
)
def test_words_around_it_do_not_matter(value: dict[str, object], words: str) -> None:
    assert decode_object(f"{words}\n{json.dumps(value)}\n{words}") == value
