"""A judge that is weak or hostile raises doubts; it fails no run, replaces no answer and has nothing written twice."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from leadhand.testing.scripted_model import fails

from .judges import GARBAGE, HOSTILE, Fickle, Judge, contradicts, mixed
from .runs import Played, play
from .scenes import HONEST, INCOMPLETE, SCENES
from .small import sampled

NAMES = [*HONEST, *INCOMPLETE]


async def unharmed(name: str, judge: Judge, home: Path) -> Played:
    """Play a scene with a judge, and check that its run ends as without it."""
    scene = SCENES[name]
    played = await play(scene, home, judge)
    assert played.answer.document["answer"] == scene.delivered(scene.text)
    assert played.answer.status.value == scene.status
    assert played.writings == 1
    assert played.evidence["contradicted"] == 0
    return played


@pytest.mark.parametrize("name", sampled(NAMES, 2))
async def test_a_judge_that_doubts_everything_and_proves_nothing_changes_no_run(name: str, tmp_path: Path) -> None:
    played = await unharmed(name, mixed, tmp_path)
    assert played.corrections == 0
    assert played.evidence["unconfirmed"] == len(played.evidence["doubts"])
    assert bool(played.evidence["doubts"]) is bool(played.asked)


@pytest.mark.parametrize(("name", "garbage"), [*zip(NAMES, cycle(GARBAGE), strict=False)])
async def test_a_judge_that_returns_garbage_changes_no_run(name: str, garbage: str, tmp_path: Path) -> None:
    played = await unharmed(name, GARBAGE[garbage], tmp_path)
    assert played.corrections == 0
    assert played.evidence["not_checked"] == len(played.answer.document["claims"])
    assert played.evidence["doubts"] == []


@pytest.mark.parametrize("name", sampled(NAMES, 2))
async def test_a_judge_that_contradicts_once_has_the_writer_asked_once(name: str, tmp_path: Path) -> None:
    played = await unharmed(name, Fickle(), tmp_path)
    parts = 2 if played.value is not None else 1
    assert played.corrections == (parts if played.asked else 0)
    assert played.evidence["doubts"] == []


@pytest.mark.slow
@pytest.mark.parametrize("judge", HOSTILE)
@pytest.mark.parametrize("name", NAMES)
async def test_no_hostile_judge_changes_a_run(name: str, judge: str, tmp_path: Path) -> None:
    assert (await unharmed(name, HOSTILE[judge], tmp_path)).corrections == 0


async def test_a_judge_that_is_unavailable_changes_no_run(tmp_path: Path) -> None:
    played = await unharmed("three printers", lambda _: fails("unavailable", "http_401", "no such key"), tmp_path)
    assert len(played.asked) == 1
    assert played.evidence["not_checked"] == len(played.answer.document["claims"])


async def test_a_judge_that_contradicts_twice_with_true_quotations_makes_a_run_partial(tmp_path: Path) -> None:
    played = await play(HONEST["three printers"], tmp_path, contradicts)
    assert (played.answer.status.value, played.answer.text) == ("partial", played.text)
    assert (played.writings, played.corrections, len(played.asked)) == (1, 1, 2)
    assert not any("doubts" in brief or "verdict" in str(brief["claims"]) for brief in played.asked)


async def test_a_contradiction_stays_a_doubt_if_the_second_judge_fails(tmp_path: Path) -> None:
    first = iter([contradicts])
    played = await unharmed("mail", lambda request: next(first, GARBAGE["a refusal"])(request), tmp_path)
    assert (played.corrections, played.evidence["unconfirmed"]) == (1, 1)
