"""A report that is longer than one reply of its model is asked for again in fewer words."""

from __future__ import annotations

from pathlib import Path

from leadhand import RunStatus

from .reports import SOUND, TOPIC, cut, in_turn, lead, model, report

BEGINNING, _, _ = SOUND.partition("## Costs")


def test_a_draft_that_was_cut_off_is_written_again_in_fewer_words(home: Path) -> None:
    scripted = model(writer=in_turn(cut(f"{BEGINNING}and so on.\nand so o"), SOUND))
    answer = report(home, scripted)

    assert answer.status is RunStatus.SUCCEEDED
    assert answer.document["task"]["drafts"][0]["text"] == SOUND
    writing = [each for each in scripted.requests if each.worker == "writer"]
    assert len(writing) == 2
    assert "666 words" in str(writing[-1].messages)


def test_the_word_in_which_a_draft_was_cut_off_is_not_shown(home: Path) -> None:
    pieces: list[str] = []
    scripted = model(writer=in_turn(cut(f"{BEGINNING}## Costs\n\nThe key is sk-abcdefgh"), SOUND))
    lead(home, scripted, on_text=lambda *said: pieces.append(said[2])).run_sync(TOPIC, flow="report")
    shown = "".join(pieces)
    assert "The key is " in shown
    assert "sk-abc" not in shown, "it may be the first part of a secret"


def test_a_draft_that_never_ends_fails_with_what_helps(home: Path) -> None:
    answer = report(home, model(writer=lambda _: cut("A part of it.\n" * 3)))

    assert answer.status is RunStatus.PARTIAL, "the research is usable"
    failed = next(each for each in answer.document["steps"] if each["id"] == "draft-1")["failure"]
    assert (failed["type"], "max_output_tokens" in failed["next_action"]) == ("cut_answer", True)


def test_other_answers_that_were_cut_off_do_not_count_as_whole(home: Path) -> None:
    answer = report(home, model(planner=cut("The plan is")))

    assert answer.status is RunStatus.FAILED
    assert "max_output_tokens" in answer.document["steps"][0]["failure"]["next_action"]
