"""A judge can be right: its requests show what refutes a lie beside the claim, and what it marks is in the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadhand.flows.facts import FRAME, tokens

from .lies import NAMES, Lie, Truthful, lying, shows
from .runs import Played, play
from .scenes import SCENES
from .small import WINDOW, Small, sampled


async def judged(name: str, home: Path, **more: Any) -> tuple[Played, Truthful]:
    lie = lying(name)
    judge = Truthful(lie.lies)
    return await play(SCENES[name], home, judge, text=lie.text, value=lie.value, **more), judge


def _quote(lie: Lie, played: Played) -> str | None:
    """What a mark quotes: words of the evidence, but not of calls."""
    shown = [facts for brief in played.asked for facts in brief["evidence"].values()]
    return lie.datum if lie.datum and shows(shown, lie.datum) else None


def test_there_are_enough_lies() -> None:
    assert sum(len(lying(name).lies) for name in NAMES) >= 75


@pytest.mark.parametrize("name", sampled(NAMES, 3))
async def test_a_judge_sees_what_refutes_a_lie_and_its_marks_are_in_the_document(name: str, tmp_path: Path) -> None:
    played, judge = await judged(name, tmp_path)
    lies = lying(name).lies
    assert judge.beside == set(lies)
    assert played.answer.text == played.scene.delivered(played.text), "the text is delivered as it is"
    marks = {doubt["part"]: (doubt["verdict"], doubt["why"], doubt["quote"]) for doubt in played.evidence["doubts"]}
    assert marks == {
        each.part: (
            "unconfirmed" if each.is_invention else "contradicted",
            f"Not so: {each.part}",
            _quote(each, played),
        )
        for each in lies
    }
    assert played.answer.status.value == ("succeeded" if all(each.is_invention for each in lies) else "partial")
    assert played.writings == 1
    assert played.corrections == (0 if name == "hail" else 2 if any(each.path for each in lies) else 1)


@pytest.mark.parametrize("name", ["weather and route", "three printers", "mail", "memo", "decks", "research", "report"])
async def test_a_writer_that_corrects_its_lies_once_succeeds(name: str, tmp_path: Path) -> None:
    played, _ = await judged(name, tmp_path, corrected=SCENES[name].text)
    assert played.answer.text == played.scene.delivered(SCENES[name].text)
    assert played.answer.status.value == "succeeded"
    assert (played.writings, played.corrections, played.evidence["doubts"]) == (1, 1, [])


@pytest.mark.parametrize("name", ["three printers", "regions", "report", "memo", "decks"])
async def test_a_lie_is_refuted_also_if_the_evidence_is_larger_than_the_window(name: str, tmp_path: Path) -> None:
    played, judge = await judged(name, tmp_path, scripted=Small, review_model="small")
    assert judge.beside == set(lying(name).lies)
    assert len(played.asked) > 2
    assert max(map(tokens, played.asked)) <= WINDOW - 2_000 - FRAME, "all requests fit"
    assert played.answer.status.value == "partial"
