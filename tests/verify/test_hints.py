"""Hints are for the judge alone: they decide nothing, and nobody else sees one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from leadhand import Leadhand
from leadhand.app.export import Format, export
from leadhand.verify import judge

from .judges import Fickle
from .lies import Truthful, lying
from .runs import Played, play
from .scenes import HONEST, LYING, SCENES
from .small import sampled

HINT = "not_literal"
FORMATS: tuple[Format, ...] = ("jsonl", "json", "md", "html")
VOLATILE = r"run_\w+|\d{4}-\d\d-\d\dT[\d:.]+\w+|\be-\d+"
JUDGED = [name for name in (*HONEST, *LYING) if getattr(SCENES[name], "work", True)]


def normal(played: Played) -> str:
    return re.sub(VOLATILE, "…", json.dumps(played.answer.document, ensure_ascii=False, separators=(",", ":")))


def hints_in(played: Played) -> list[list[str]]:
    return [each[HINT] for brief in played.asked for each in brief["claims"] if HINT in each]


async def told(name: str, home: Path) -> Played:
    """Play a scene with its lies, or with a judge that contradicts once."""
    try:
        lie = lying(name)
    except KeyError:
        return await play(SCENES[name], home, Fickle(), max_workers=1)
    return await play(SCENES[name], home, Truthful(lie.lies), text=lie.text, value=lie.value, max_workers=1)


@pytest.mark.parametrize("name", sampled(JUDGED))
async def test_without_hints_runs_end_as_with_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_hints = await told(name, tmp_path / "with")
    monkeypatch.setattr(judge, "hints_of", lambda claim, texts: [])
    without = await told(name, tmp_path / "without")
    assert hints_in(without) == []
    assert normal(without) == normal(with_hints)
    assert HINT not in normal(with_hints)


async def test_nobody_but_the_judge_sees_a_hint(tmp_path: Path) -> None:
    seen: list[str] = []

    async def look(lead: Leadhand, played: Played) -> None:
        runtime, run_id = await lead.runtime(), played.answer.run_id
        seen.extend(entry.model_dump_json() for entry in await runtime.store.read(run_id))
        seen.extend([(await export(runtime, run_id, json.dumps, format=each))[0] for each in FORMATS])
        seen.extend([str(played.answer), json.dumps(played.answer.document)])

    played = await play(HONEST["two printers"], tmp_path, Fickle(), after=look)
    assert hints_in(played)
    assert not [each for each in seen if re.search(rf'{HINT}\\*":', each)], "the instructions of judges explain them"
