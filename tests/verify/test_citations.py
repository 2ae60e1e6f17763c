"""Citations in texts, and what looks like them."""

import pytest

from leadhand.verify.claims import citations_in


def cited(text: str) -> list[str]:
    return [id_ for each in citations_in(text) for id_ in each.ids]


@pytest.mark.parametrize(
    "text",
    [
        "the last one, argv[-1]",
        "the first five, rows[:5], and every second one, rows[::2]",
        "for x in [-10, 10]",
        "the vector [0.5, -2]",
        "a threshold of [.5]",
        "at [10:30]",
        "node[x1]",
        "[v2] and [1.5]",
        "the list `[1, 2]`, and ```\nrows[3]\n```",
        "[2](https://example.org/two)",
        "[p2](https://example.org/two)",
    ],
)
def test_code_data_and_links_cite_nothing(text: str) -> None:
    assert cited(text) == []


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("It rains [2].", ["2"]),
        ("It rains [1, 3–5][^7].", ["1", "3", "4", "5", "7"]),
        ("It rains 【4†source】.", ["4"]),
        ("It rains [p3, p7] (p9).", ["p3", "p7", "p9"]),
        ("It rains [p3, 7].", ["p3", "p7"]),
        ("It rains [see p3–p5].", ["p3", "p4", "p5"]),
        ("It rains [3f9a1c20.1, memory/costs.md].", ["3f9a1c20.1", "memory/costs.md"]),
        ("It rains [1-9000].", ["1"]),
    ],
)
def test_citations_are_found_in_each_notation_that_models_use(text: str, ids: list[str]) -> None:
    assert cited(text) == ids


def test_a_citation_says_where_it_stands() -> None:
    text = "Rain [1] and wind [p2]."
    assert [text[each.start : each.end] for each in citations_in(text)] == ["[1]", "[p2]"]
