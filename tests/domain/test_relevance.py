"""Words and their stems: what two texts have in common."""

from __future__ import annotations

import pytest

from leadhand.domain.relevance import fits, is_among, stems, terms


def test_words_that_say_nothing_are_left_out() -> None:
    assert terms("How does Leadhand recover after a CRASH?") == ["leadhand", "recover", "crash"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("crashes", "crash"), ("resuming", "resume"), ("healthier", "health"), ("insulated", "insulation")],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    assert is_among(stems(one)[0], stems(other))
    assert is_among(stems(other)[0], stems(one))


def test_short_words_are_compared_as_a_whole() -> None:
    assert not is_among("run", {"runtime"})
    assert not is_among("port", {"portugal"})


def test_a_text_without_a_word_of_the_question_does_not_fit() -> None:
    fitting, other = fits(["The cost of walls.", "Somebody sang."], "What do walls cost?")
    assert fitting > other == 0
