"""Passages: at most 700 characters, whole sentences, the same ids everywhere."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from leadhand.tools.web.passages import MOST_CHARS, best, passages, source_id
from leadhand.tools.web.text import normalized

SENTENCE = "The heat pump of house {} used 3,210.5 kWh in 2024, and nobody complained about the cold rooms. "


@given(st.text(alphabet=st.sampled_from("aä. \n#?!-1\t|`🙂。"), max_size=3000))
def test_every_text_is_cut_without_a_loss_and_within_the_limit(text: str) -> None:
    text = normalized(text)
    cut = passages(text)
    assert all(0 < len(passage) <= MOST_CHARS for passage in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())


def test_sentences_are_whole() -> None:
    text = "".join(SENTENCE.format(n) for n in range(40))
    for passage in passages(text):
        assert passage.startswith("The heat pump of house")
        assert passage.endswith("cold rooms.")


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    cut = passages("word " * 400)
    assert len(cut) == 3
    assert all(set(passage.split()) == {"word"} for passage in cut)


def test_a_heading_stays_with_the_text_below_it() -> None:
    text = "# Title\n\n## First\n\n" + SENTENCE * 6 + "\n\n## Second\n\nShort."
    cut = passages(normalized(text))
    assert cut[0].startswith("# Title\n## First\nThe heat pump")
    assert cut[-1] == "## Second\nShort."


def test_the_row_of_a_table_stays_whole() -> None:
    rows = [f"| Word {n} | It has a meaning. It also has a second one. | `module_{n}` |" for n in range(30)]
    text = "\n".join(["| word | meaning | module |", "|---|---|---|", *rows])
    assert [line for passage in passages(text) for line in passage.splitlines()][2:] == rows


def test_the_id_of_a_source_is_the_beginning_of_the_digest_of_its_text() -> None:
    assert source_id("Grüße") == hashlib.sha256("Grüße".encode()).hexdigest()[:8]


def test_the_best_passages_are_chosen_and_keep_their_order() -> None:
    cut = [f"Passage {n} is about something else." for n in range(30)]
    cut[7] = "Insulated cavity walls cost 20 euros."
    cut[21] = "The cost of insulation for a cavity wall has fallen."
    assert best(cut, "What does cavity wall insulation cost?", 2) == [7, 21]
    assert best(cut, "quantum physics", 3) == [0, 1, 2]
    assert best(cut[:2], "anything") == [0, 1]


def test_wrapped_lines_become_one_and_items_do_not() -> None:
    text = "One sentence that is\nwrapped.\n\n- first\n  goes on\n- second\n\x00\u200b\n```\nx = 1\ny = 2\n```"
    joined = "One sentence that is wrapped.\n\n- first goes on\n- second\n\n```\nx = 1\ny = 2\n```"
    assert normalized(text.replace("\n", "\r\n")) == joined
