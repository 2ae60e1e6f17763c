"""Sentences of Markdown: where they end, what they are part of, and that no word of a draft is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadhand.flows.report.sentences import Kind, sentences_of


def texts(draft: str) -> list[str]:
    return [each.text for each in sentences_of(draft)]


@pytest.mark.parametrize(
    "draft",
    [
        "Use a small unit, e.g. a split one. It needs approx. 3.5 kW.",
        "Dr. Keller measured it. She was in Graz.",
        "J. P. Morgan invested. The bank was first.",
        "Es braucht z. B. einen Puffer. Der kostet ca. 900 €.",
        "Am 3. März 2024 begann es. Im 19. Jahrhundert nicht.",
        "Selon Mme. Roche, c'est cher. Le prix est de 12,5 %.",
        "El Sr. Gil lo confirmó. Cuesta aprox. 900 €.",
        "It costs 30 %. [p3] It pays off. [p4, p5]",
        "It costs 30 %.[p3] It pays off.",
        "“It is cheap. It is quiet.” That is all.",
        "Is it loud? No!",
        "The rest … is missing. It ends here...",
        "See fig. 3 for more. The answer is no.",
        "It is 60 m. Nobody measured it.",
        "They met in the U.S. They agreed.",
        "¿Cuánto cuesta? Mucho.",
        "(It was cold.) It was wet.",
        "**It was cold.** It was wet.",
        "[p3] reports 30 %. [p4] reports 40 %.",
        "Version 2.10.3 is out. It works.",
    ],
)
def test_two_sentences_are_two(draft: str):
    assert len(texts(draft)) == 2, texts(draft)


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before():
    assert texts("It is 30 %. [p3] It pays. [p4][p5]") == ["It is 30 %. [p3]", "It pays. [p4][p5]"]
    assert texts("It is 30 %. [p3] says that it pays.") == ["It is 30 %.", "[p3] says that it pays."]


def test_the_parts_of_markdown_are_told_apart():
    draft = (
        "# Title\n\nOne. Two\nlines.\n\n- item one. More.\n  goes on\n- item b\n\n1. third\n\n| a | b |\n|---|---|\n"
        "| 1. | 2 |\n\n> quoted. Twice.\n\n```\ncode. code.\n```\n\nUnder\n=====\n\n---\n\n[^1]: Note.\n"
    )
    found = [(each.kind.value, each.text) for each in sentences_of(draft)]
    assert found == [
        ("heading", "Title"),
        ("text", "One."),
        ("text", "Two\nlines."),
        ("item", "item one."),
        ("item", "More.\n  goes on"),
        ("item", "item b"),
        ("item", "third"),
        ("header", "| a | b |"),
        ("row", "| 1. | 2 |"),
        ("text", "quoted."),
        ("text", "Twice."),
        ("code", "```\ncode. code.\n```"),
        ("heading", "Under"),
        ("footnote", "[^1]: Note."),
    ]


def test_lines_and_offsets_are_those_of_the_draft():
    draft = "# A\n\nOne. Two.\nThree.\n\n- four\n"
    for each in sentences_of(draft):
        assert draft[each.offset : each.offset + len(each.text)] == each.text
        assert draft[: each.offset].count("\n") + 1 == each.line


PIECES = [*'ab1.!? \n|-#>*_`[](){}“”"«»:…。=~^p3', "[p3] ", "\n\n", "|---|\n", "```\n", "- ", "1. "]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


@given(MARKDOWN)
@settings(max_examples=150, deadline=None)
def test_no_word_of_a_draft_is_lost_or_told_twice(draft: str):
    found = sentences_of(draft)
    ends = 0
    for each in found:
        assert draft[each.offset : each.offset + len(each.text)] == each.text
        assert each.offset >= ends
        ends = each.offset + len(each.text)
    kept = re.findall(r"[abp]", "".join(each.text for each in found))
    assert kept == re.findall(r"[abp]", draft)
    assert all(each.kind in Kind for each in found)
