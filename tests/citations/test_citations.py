"""Distorted and invented citations are caught and true ones are not refused: measured, with sentences as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.domain.passages import Passage
from leadhand.flows.report.citations import Statement, Status, check

from .suite import FILES, SIZES, beside, citing_all, read, shares, tables

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "false-citations.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
TEXT = (
    "An air-source heat pump costs between 27,000 and 40,000 euros. "
    "The subsidy is at most 21,000 euros, says Anna Keller."
)
PASSAGES = {
    "p1": Passage(id="0a1b2c3d.1", text=TEXT, title="Costs", url="https://costs.example/"),
    "p2": Passage(id="0a1b2c3d.2", text="Modern units emit 50 to 60 dB(A).", title="Noise"),
}


def statements(draft: str, given: str = "") -> list[Statement]:
    return check(draft, PASSAGES, given)


def statuses(draft: str, given: str = "") -> list[str]:
    return [each.status.value for each in statements(draft, given)]


def test_false_sentences_are_caught_and_true_ones_are_not_refused():
    false, caught, true, refused = shares(beside("known", SIZES[0]))
    assert caught >= 0.95 * false
    assert refused <= 0.02 * true


@pytest.mark.slow
def test_further_sources_change_nothing():
    few, many = (beside("known", size) for size in SIZES)
    assert [each.refused for each in few] == [each.refused for each in many]


@pytest.mark.slow
def test_a_draft_that_cites_150_sources_is_checked_as_well_as_one_that_cites_two():
    false, caught, true, refused = shares(citing_all("known", SIZES[-1]))
    assert caught >= 0.95 * false
    assert refused <= 0.02 * true


@pytest.mark.slow
def test_the_documented_shares_are_those_that_are_measured():
    documented = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert documented.strip() == tables().strip(), "run uv run python -m benchmarks.citations --write"


def test_the_sets_are_as_large_as_the_documentation_says():
    assert sum(len(read(file)[0]) for file in FILES) >= 60


def test_an_invented_citation_is_named():
    (found,) = statements("A heat pump costs 27,000 euros [p1, p9].")
    assert (found.status, found.passages) == (Status.UNSUPPORTED, ("p1",))
    assert "[p9]" in found.problems[0]


@pytest.mark.parametrize(
    "mark", ["[p1]", "[P1]", "[p1, p2]", "[p1][p2]", "[p1-p2]", "(p1)", "[0a1b2c3d.1]", "[p1 and p2]"]
)
def test_citations_are_read_in_usual_notations(mark: str):
    (found,) = statements(f"A heat pump costs 27,000 to 40,000 euros {mark}.")
    assert found.status is Status.SUPPORTED
    assert found.passages[0] == "p1"


def test_a_footnote_cites_what_its_definition_cites():
    found = statements("It costs 27,000 euros.[^a]\n\n[^a]: See [p1].")
    assert found[0].passages == ("p1",)


def test_the_last_citation_of_a_list_item_covers_the_item_and_that_of_a_paragraph_its_sentence():
    item = "- The subsidy is at most 21,000 euros. A unit costs at least 27,000 euros [p1]."
    assert statuses(item) == ["supported", "supported"]
    assert statuses("Noise costs 430 euros. A unit costs at least 27,000 euros [p1].") == ["unsupported", "supported"]


def test_the_rows_of_a_table_may_be_covered_by_the_sentence_before():
    rows = "| unit | euros |\n|---|---|\n| smallest | 27,000 |\n| largest | 90,000 |"
    assert statuses(f"These are the prices [p1]:\n\n{rows}") == [
        "supported",
        "own_reasoning",
        "supported",
        "unsupported",
    ]


def test_a_conclusion_may_repeat_what_is_supported():
    draft = "A heat pump costs at least 27,000 euros [p1].\n\nSo a heat pump for 27,000 euros is the cheapest."
    assert statuses(draft) == ["supported", "own_reasoning"]
    assert statuses("So a heat pump for 19,000 euros is the cheapest.") == ["unsupported"]


def test_headings_transitions_and_code_need_no_source():
    draft = "# Costs in 2024\n\nWhat does it cost?\n\nThis section compares three options.\n\n```\nx = 42\n```\n"
    assert set(statuses(draft)) == {"own_reasoning"}
    assert statuses("# Save 70 %") == ["unsupported"]


def test_what_was_asked_may_be_repeated():
    assert statuses("It concerns houses of 1978.", "Heat pumps for houses of 1978") == ["own_reasoning"]
    assert statuses("It concerns houses of 1978.") == ["unsupported"]


def test_an_empty_draft_has_no_statements():
    assert statuses("") == statuses(" \n\n---\n") == []


def test_a_draft_made_to_be_slow_is_checked_to_its_end():
    for piece in ("(", "[p1", "“", '"a', "| ", "*", "1. ", "a.b.", "[", "„x", "€ 1,", "- "):
        assert check(f"{piece * 500}\n\nIt costs 33 euros [p1].", PASSAGES)[-1].status is Status.UNSUPPORTED


def test_a_sentence_with_too_many_figures_to_compare_is_unsupported():
    assert statuses(f"It costs {', '.join(['27,000'] * 200)} euros [p1].") == ["unsupported"]


@pytest.mark.parametrize(
    ("text", "draft", "status"),
    [
        ("The council expects to save 740,000 euros a year.", "The council saved 740,000 euros a year", "unsupported"),
        ("The council expects to save 740,000 euros a year.", "The council hopes to save 740,000 euros", "supported"),
        ("Larvae drift for up to 300 days.", "Larvae drift for at least 300 days", "unsupported"),
        ("Larvae drift for up to 300 days.", "Larvae drift for at most 300 days", "supported"),
        ("The plane left the runway in wind.", "The plane left the runway because of ice", "unsupported"),
        ("Paid work is not included in these hours.", "These hours include paid work", "unsupported"),
        ("The refit cost 740,000 euros.", "The refit cost about three quarters of a million euros", "supported"),
    ],
)
def test_certainty_bounds_causes_and_numbers_in_words(text: str, draft: str, status: str):
    passage = Passage(id="0a1b2c3d.1", text=text, title="Report", url="https://report.example/")
    (found,) = check(f"{draft} [p1].", {"p1": passage})
    assert found.status.value == status, found.problems
