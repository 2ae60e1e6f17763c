"""The claims of an answer cover all of it, wherever it says something."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.value import compact_json
from leadhand.core.work_result import ClaimVerdict
from leadhand.verify.claims import citations_in, claims_of, claims_of_answer, claims_of_value
from leadhand.verify.judge import checked_reply

from .scenes import SCENES
from .texts import CITATIONS, documents, sentences

anything = st.text(st.characters(codec="utf-8", exclude_characters="`~"))
tangled = st.text(st.sampled_from("ab1 \n\r\t>-*+#|:[]().!\\<&_=0é😀字"))


def check_covered(text: str) -> None:
    claims = claims_of(text)
    assert [each.n for each in claims] == list(range(1, len(claims) + 1))
    left, end = text, 0
    for each in claims:
        assert each.start is not None
        assert each.end is not None
        assert end <= each.start < each.end, "claims are in order and do not overlap"
        assert text[each.start : each.end] == each.text == each.text.strip()
        end = each.end
        left = left[: each.start] + " " * len(each.text) + left[each.end :]
        left = left.replace(each.header, " " * len(each.header)) if each.header else left
    lost = [each for each in left if each.isalnum() or unicodedata.category(each) == "So"]
    assert not lost, "every letter, digit and symbol belongs to a claim"


@given(documents.filter(lambda text: "```markdown" not in text))
def test_claims_cover_a_document_and_are_where_they_say(text: str) -> None:
    check_covered(text)


@given(anything | tangled)
def test_claims_cover_any_text(text: str) -> None:
    check_covered(text)


@pytest.mark.parametrize("name", SCENES)
def test_claims_cover_the_answers_of_a_strong_model(name: str) -> None:
    check_covered(SCENES[name].text)


@given(documents)
def test_claims_are_those_of_the_text_in_a_fence_of_markdown(text: str) -> None:
    fence = "`" * 9
    within, alone = claims_of(f"{fence}markdown\n{text}\n{fence}"), claims_of(text)
    assert [(each.text, each.cites, each.header) for each in within] == [
        (each.text, each.cites, each.header) for each in alone
    ]


@given(st.lists(st.tuples(sentences, st.sampled_from([*CITATIONS])), min_size=1, max_size=5), sentences | st.just(""))
def test_a_claim_ends_with_its_citation(parts: list[tuple[str, str]], rest: str) -> None:
    text = " ".join([*(f"{says} {mark}." for says, mark in parts), *([rest] if rest else [])])
    cited = [(*CITATIONS[mark],) for _, mark in parts]
    assert [each.cites for each in claims_of(text)] == [*cited, *([()] if rest else [])]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("", []),
        ("…\n\n---", []),
        ("👍", ["👍"]),
        ("One [1][2]. Two.", ["One [1][2].", "Two."]),
        ("**Bold [1]**, and more", ["**Bold [1]**,", "and more"]),
        ("说一 [1]。说二", ["说一 [1]。", "说二"]),
        ("يقول [1]. ثم", ["يقول [1].", "ثم"]),
        ("[1] https://a.example/x [2]: https://b.example", ["[1] https://a.example/x [2]: https://b.example"]),
        ("Text.\n\n[1]: https://a.example\n[2]: <https://b.example>", None),
        ("| a [1] | b |\n|---|---|\n| 1 | 2 [2] |", ["| 1 | 2 [2] |"]),
        ("| a | b |\n|---|---|\n\nText.", ["| a | b |", "Text."]),
        ("- one\n- two\n\n  more\n1) x", ["one", "two", "more", "1) x"]),
        ("> quoted\n> twice", ["quoted\n> twice"]),
        ("Title\n---\n```py\nx[1] = 2\n```", ["Title", "x[1] = 2"]),
        ("a\rb", ["a\rb"]),
    ],
)
def test_claims_are_stretches_that_end_with_a_block_or_a_citation(text: str, claims: list[str] | None) -> None:
    expected = ["Text.", "[1]: https://a.example", "[2]: <https://b.example>"] if claims is None else claims
    assert [each.text for each in claims_of(text)] == expected


def test_a_row_with_its_header_is_one_claim_with_the_citations_of_both() -> None:
    first, second = claims_of("| a [3] | b |\n|---|---|\n| 1 [1] | 2 [p2] |\n| 3 | 4 |")
    assert (first.header, second.header) == ("| a [3] | b |",) * 2
    assert (first.cites, second.cites) == (("3", "1", "p2"), ("3",))
    (one,) = claims_of("| price in $ |\n|---|\n| 104.50 |")
    reply = {"verdicts": {"1": "contradicted"}, "doubts": [{"claim": 1, "part": "price in $", "evidence": "a"}]}
    reply["doubts"][0]["quote"] = "price in euros"
    found = checked_reply(reply, [one], {"a": {"returned": "The price in euros: 104.50"}}, "")
    assert found.verdicts[1] is ClaimVerdict.CONTRADICTED


# --- citations and what looks like them ------------------------------------------------------------------------------


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
    assert all(text[each.start] + text[each.end - 1] in ("[]", "()", "【】") for each in citations_in(text))


# --- typed answers ---------------------------------------------------------------------------------------------------

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)


def at(value: Any, path: str) -> Any:
    """The leaf at a JSON pointer."""
    for part in path.split("/")[1:] if path != "/" or isinstance(value, dict) else ():
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def leaves_in(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(leaves_in, value.values() if isinstance(value, dict) else value))
    return value is not None and value != ""


@given(values)
def test_each_leaf_of_a_typed_answer_is_a_claim_with_its_path(value: Any) -> None:
    claims = claims_of_value(value)
    assert len(claims) == leaves_in(value)
    for each in claims:
        leaf = at(value, each.path)
        assert each.text == (leaf if isinstance(leaf, str) else json.dumps(leaf))


@given(documents, values)
def test_a_text_and_a_value_are_numbered_together(text: str, value: Any) -> None:
    claims = claims_of_answer(text, value)
    assert [each.n for each in claims] == list(range(1, len(claims) + 1))
    assert claims_of_answer(compact_json(value), value) == claims_of_value(value) or value is None
