"""Citations in texts, and what looks like them."""

import pytest

from leadhand.domain.citations import as_data, cited, named_sources, without_own_sources


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
    ],
)
def test_code_and_data_in_brackets_cite_nothing(text: str) -> None:
    assert cited(text) == set()
    assert as_data(text) == text


@pytest.mark.parametrize(
    "text",
    ["[source no. 9]", "[web:9]", "[ref - 9]", "[see also: 9]", "[**9**]", "[#9]", "[Note. 9]", "[items 9, no. 9]"],
)
def test_a_number_after_what_names_a_source_is_a_citation(text: str) -> None:
    assert cited(text) == {9}
    assert cited(as_data(text)) == set()


def test_a_list_of_headings_is_one_list() -> None:
    assert named_sources("- Sources\n" * 50) == ["Sources"] * 49
    assert named_sources("# Sources\n\n- Le Monde\n- Source: Le Soir") == ["Le Monde", "Source: Le Soir", "Le Soir"]


def test_headings_of_sources_without_sources_stay() -> None:
    """Also those of a text that is nothing else, which takes no more time for each of them."""
    text = "Sources http://a.example\n" * 20_000 + "\n" * 20_000 + "Sources:\n" * 20_000
    assert without_own_sources(text) == text
    assert without_own_sources("It rains.\n\nSources:\n\n- [1] http://a.example\n\nIt is cold.") == (
        "It rains.\n\nIt is cold."
    )


@pytest.mark.parametrize(
    "said", ["Sources: none", "**Sources:** None were used.", "Quellen: keine", "# References\n\n- N/A"]
)
def test_a_text_that_says_that_it_has_no_sources_names_none(said: str) -> None:
    assert named_sources(said) == []
    assert named_sources("Sources: None of the Above (a magazine)") == ["None of the Above (a magazine)"]
