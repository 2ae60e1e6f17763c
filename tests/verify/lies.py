"""The lies of ``lies.toml``, and a judge that marks them by what its requests show."""

from __future__ import annotations

import copy
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from leadhand.core.value import compact_json
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import brief_of

from .scenes import SCENES
from .transcripts import reply


class Lie(NamedTuple):
    """What an answer says, and ``datum``: the words of the evidence or of a call that refute it.

    ``path`` is the place of a typed value. An action has no words that refute it: no call did it. An invention is
    neither shown nor refuted.
    """

    part: str
    datum: str = ""
    path: str = ""
    is_invention: bool = False


class Lying(NamedTuple):
    """An answer with lies, and its typed value."""

    text: str
    value: Any
    lies: list[Lie]


@cache
def _corpus() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "lies.toml").read_text("utf-8"))


NAMES = list(_corpus())


@cache
def lying(name: str) -> Lying:
    """Return the answer of a scene with all its lies."""
    scene, given = SCENES[name], _corpus()[name]
    text, lies = scene.text, [Lie(part, datum) for _, part, datum in given.get("lies", ())]
    for honest, part, _ in given.get("lies", ()):
        assert honest in text, (name, honest)
        text = text.replace(honest, part, 1) if honest else text if part in text else f"{text}\n\n{part}"
    actions, inventions = given.get("actions", []), given.get("inventions", [])
    for part in [*actions, *inventions]:
        text = text if part in text else f"{text}\n\n{part}"
    lies += [Lie(part) for part in actions] + [Lie(part, is_invention=True) for part in inventions]
    shape = getattr(scene, "shape", 0)
    value = copy.deepcopy(reply(shape)) if shape else None
    for path, leaf, datum in given.get("values", ()):
        *places, last = (int(each) if each.isdigit() else each for each in path[1:].split("/"))
        holder = value
        for place in places:
            holder = holder[place]
        holder[last] = leaf
        lies.append(Lie(leaf if isinstance(leaf, str) else compact_json(leaf), datum, path))
    return Lying(text, value, lies)


class Truthful:
    """A judge that knows the lies, and marks each with what its own requests show.

    ``beside`` are the lies that were shown together with what refutes them: with the datum, or for an action with the
    calls that were made.
    """

    def __init__(self, lies: list[Lie]) -> None:
        self._lies = lies
        self.beside: set[Lie] = set()

    def __call__(self, request: ModelRequest) -> Any:
        brief = brief_of(request)
        found = [self._judged(each, brief) for each in brief["claims"]]
        verdicts = {str(claim["n"]): verdict for claim, (verdict, _) in zip(brief["claims"], found, strict=True)}
        return {"verdicts": verdicts, "doubts": [doubt for _, doubt in found if doubt], "missing": []}

    def _judged(self, claim: dict[str, Any], brief: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        own = (each for each in self._lies if each.part in claim["text"] and each.path == claim.get("path", ""))
        lie = next(own, None)
        if lie is None:
            return "confirmed", {}
        doubt = {"claim": claim["n"], "part": lie.part, "why": f"Not so: {lie.part}"}
        if lie.is_invention:
            self.beside.add(lie)
            return "unconfirmed", doubt
        key = next((key for key, facts in brief["evidence"].items() if shows(facts, lie.datum)), "")
        if lie.datum and key:
            self.beside.add(lie)
            return "contradicted", {**doubt, "evidence": key, "quote": lie.datum}
        if not lie.datum or shows(brief["calls"], lie.datum):
            self.beside.add(lie)
            return "contradicted", {**doubt, "action": True}
        return "unconfirmed", doubt


def shows(value: Any, words: str) -> bool:
    """Whether JSON holds some words, in itself or in a text."""
    if words in compact_json(value):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(shows(part, words) for part in parts) or (isinstance(value, str) and words in value)
