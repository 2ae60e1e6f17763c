"""The elements of a list are found while its text is written: each once, when it is complete, in any pieces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.engine.session.drafts import Written

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text('ab"\\{}[],: \n€𝄞é', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", 'b"', "list"]), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["goal", "lis", 'a"list', "list", "\\", "more"])


def pieces(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[one:other] for one, other in pairwise(edges)]


def found(*written: str) -> list[Any]:
    elements = Written("list")
    return [element for piece in written for element in elements.take(piece)[0]]


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.lists(VALUES, max_size=5) | VALUES,
    st.sampled_from([None, 2]),
    st.booleans(),
    st.sampled_from(["", "```json\n", "Sure [see below]: "]),
    st.lists(st.integers(0, 10_000), max_size=30),
)
def test_any_pieces_of_any_object_give_the_elements_of_the_whole(
    other: dict[str, Any], wanted: Any, indent: int | None, ascii_: bool, prefix: str, cuts: list[int]
):
    document = {**other, "list": wanted, "after": [1, {"list": [2]}]}
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_)

    assert found(*pieces(prefix + text, cuts)) == (wanted if isinstance(wanted, list) else [])


@given(st.lists(VALUES, max_size=5), st.integers(0, 500), st.text('"{}[],: \\x', max_size=5))
def test_a_text_that_is_cut_or_spoilt_gives_only_complete_elements(wanted: list[Any], cut: int, junk: str):
    text = json.dumps({"goal": "it", "list": wanted})
    kept = text[: cut % len(text)]

    cut_off = found(*kept)
    assert cut_off == wanted[: len(cut_off)]
    spoilt = found(*kept, *junk, *text[cut % len(text) :])
    assert spoilt[: len(cut_off)] == cut_off


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ('{"list": [{"a": 1}', [{"a": 1}]),
        ('{"list": [{"a": 1}, {"a": 2', [{"a": 1}]),
        ('{"list": [1, 2', [1]),
        ('{"list": [nonsense, 2]}', []),
        ('{"goal": "\\"list\\": [1]", "list": [2]}', [2]),
        ('{"goal": "it"} {"list": [1]}', []),
        ('{"of": {"list": [1]}}', []),
        ('{"list": {"0": 1}} {"x": [1]}', []),
        ('["list", [1]]', []),
        ('5" or 6": {"list": [1]}', [1]),
        ('{"list": {"0": 1}}', []),
        ("[" * 5_000, []),
        ('{"list": [' + "[" * 20_000 + "]" * 20_000 + "]}", []),
        ("no JSON", []),
    ],
)
def test_what_is_an_element(text: str, elements: list[Any]):
    assert found(text) == elements
    assert found(*text[:2_000]) == elements[: len(found(text[:2_000]))]
