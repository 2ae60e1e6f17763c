"""Which sentences of passages the rule-based model takes as an answer."""

from __future__ import annotations

from leadhand.domain.passages import Passage
from leadhand.flows.research.excerpts import choose

POND = Passage(
    id="aaaaaaaa.1",
    title="The garden",
    text="# Pond\nThe pond is 1.2 metres deep. Two frogs live in it. The pump costs about 118 euros a year.",
)
TREES = Passage(id="bbbbbbbb.1", title="The garden", text="Six apple trees were planted in 2009. They give apples.")
OTHER = Passage(id="cccccccc.1", title="Cars", text="A car costs more than 20,000 euros. A car needs a road.")


def said(question: str, *passages: Passage, about: str = "") -> list[str]:
    chosen = choose(question, passages or (POND, TREES, OTHER), about)
    return [sentence for excerpt in chosen.excerpts for sentence, _ in excerpt.sentences]


def test_the_sentences_with_the_words_of_the_question_are_taken() -> None:
    assert said("How deep is the pond?")[0] == "The pond is 1.2 metres deep."
    assert "A car needs a road." not in said("How deep is the pond?")


def test_a_sentence_is_understood_with_its_heading_and_brings_the_one_that_it_refers_to() -> None:
    assert said("What lives in the pond?", POND) == ["Two frogs live in it."]
    assert said("Do the trees give apples?", TREES) == ["Six apple trees were planted in 2009.", "They give apples."]


def test_a_sentence_that_refers_to_one_that_is_not_there_is_left_out() -> None:
    assert said("What gives apples?", TREES.evolve(text="They give apples.")) == []


def test_a_question_about_money_or_a_year_wants_a_sentence_that_states_it() -> None:
    assert said("How much does the pump of the pond cost?") == ["The pump costs about 118 euros a year."]
    assert said("When were the apple trees planted?")[0] == "Six apple trees were planted in 2009."


def test_what_answers_less_than_half_of_a_question_is_no_answer() -> None:
    assert said("Do frogs play chess against computers?") == []
    assert choose("Who is the king of France?", (POND, OTHER)).missing == ("king", "France")


def test_words_that_no_sentence_has_are_named() -> None:
    chosen = choose("How deep is the frozen pond?", (POND, TREES))
    assert chosen.excerpts
    assert chosen.missing == ("frozen",)


def test_the_question_around_a_part_decides_what_the_part_is_about() -> None:
    cost = "What does it cost?"
    assert said(cost, about="I look for a car")[0] == "A car costs more than 20,000 euros."
    assert said(cost, about="I look for a pump")[0] == "The pump costs about 118 euros a year."
    baths = POND.evolve(id="dddddddd.1", title="Baths", text="The bath of the house needs clean water every day.")
    kettles = POND.evolve(id="eeeeeeee.1", title="Tea", text="The kettle for the tea needs clean water.")
    for about, first in (("How do I make tea?", kettles), ("How do I run a bath?", baths)):
        assert said("What needs clean water?", baths, kettles, about=about)[0] == first.text


def test_a_definition_in_a_table_is_read_with_its_word() -> None:
    table = "| word | meaning |\n|---|---|\n| Fork | A new run with the log of another. | `fork` |"
    assert said("What is a fork?", POND.evolve(text=table)) == ["Fork: A new run with the log of another."]


def test_commands_answer_only_how_something_is_done() -> None:
    shell = POND.evolve(
        text="Export a run:\n\n```shell\nleadhand runs export run_1\n```\n\nAn export of a run is a file."
    )
    assert "`leadhand runs export run_1`." in said("How do I export a run?", shell)
    assert said("What is an export of a run?", shell) == ["An export of a run is a file."]
    assert said("Where does run_1 export?", shell) == []


def test_any_text_is_read() -> None:
    for text in ("", "|", "# ", "```shell\n", "- ", "| | |", "…" * 50, "\x00 . a.", "[](x)."):
        assert said("What is a run?", POND.evolve(text=text)) == []
