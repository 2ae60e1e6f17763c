"""The cases of the benchmark of judges: texts with their evidence, and which of their claims are true."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from leadhand.core.errors import UsageError
from leadhand.core.work_result import Claim
from leadhand.flows.passages import Passage, passage_facts
from leadhand.verify.claims import claims_of, claims_of_value
from leadhand.verify.material import Material

FOLDER = Path(__file__).parent
FILES = (*sorted(FOLDER.glob("citations/*.txt")), *sorted(FOLDER.glob("*.yaml")))
TRUE = "true sentences"
OMITS = "leaves out a part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Something that a text says, true or false, and the numbers of the claims that say it."""

    kind: str
    false: bool
    claims: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A text to judge, with what it was written from. ``omits`` is whether it leaves out a part of the request; None if
    that is not counted.
    """

    corpus: str
    request: str
    claims: Sequence[Claim]
    material: Material
    statements: Sequence[Statement] = field(default_factory=list[Statement])
    omits: bool | None = None


def read(names: Iterable[str] = (), most: int | None = None) -> list[Draft]:
    """Return the drafts of some corpora, by their names or files; of each at most so many, from all of its parts.

    Raises UsageError for an unknown name.
    """
    known = {path.stem: path for path in FILES}
    found: list[Draft] = []
    for name in names or known:
        path = known.get(name, Path(name))
        if not path.is_file():
            raise UsageError(f"there are no cases {name!r}", f"Name some of {', '.join(known)}, or a file of your own.")
        try:
            drafts = [*(_of_sources if path.suffix == ".txt" else _of_scenes)(path)]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, yaml.YAMLError) as error:
            how = "Write it like benchmarks/judging/answers.yaml, or like citations/known.txt beside it."
            raise UsageError(f"cannot read the cases in {path}: {type(error).__name__}: {error}", how) from error
        found += drafts if most is None else drafts[:: max(-(-len(drafts) // most), 1)]
    return found


def _of_sources(path: Path) -> Iterator[Draft]:
    """Yield a draft for each pair of sources, with all sentences about them in random order."""
    blocks = re.split(r"^@ ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]
    for first in range(0, len(blocks), 2):
        passages: dict[str, Passage] = {}
        sentences: list[tuple[str, str]] = []
        for number, block in enumerate(blocks[first : first + 2], start=1):
            head, *lines = block.strip().split("\n")
            source, title, url, published = (part.strip() for part in head.split("|"))
            about = [line for line in lines if line[:2] in ("+ ", "- ")]
            text = "\n".join(lines[: lines.index(about[0])])
            passages[f"p{number}"] = Passage(id=source, text=text, title=title, url=url, published=published)
            for line in about:
                kind, _, said = line[2:].partition(" | ") if line[0] == "-" else (TRUE, "", line[2:])
                sentences.append((kind, said.replace("[*", f"[p{number}")))
        random.Random(f"{path.stem} {first}").shuffle(sentences)
        text, places = "", list[tuple[str, int, int]]()
        for kind, said in sentences:
            places.append((kind, len(text), len(text) + len(said)))
            text += f"{said}\n\n"
        claims = claims_of(text)
        yield Draft(
            corpus=path.stem,
            request=f"Report on: {'; '.join(each.title for each in passages.values())}",
            claims=claims,
            material=Material(
                evidence={name: passage_facts(each) for name, each in passages.items()},
                keys={name: (name,) for name in passages},
                addresses=frozenset(each.url for each in passages.values()),
            ),
            statements=[
                Statement(kind=kind, false=kind != TRUE, claims=_between(claims, start, end))
                for kind, start, end in places
            ],
        )


def _between(claims: Iterable[Claim], start: int, end: int) -> frozenset[int]:
    return frozenset(
        each.n for each in claims if each.start is not None and each.start < end and (each.end or 0) > start
    )


def _of_scenes(path: Path) -> Iterator[Draft]:
    """Yield a draft for each answer of each scene."""
    for scene in yaml.safe_load(path.read_text("utf-8")).values():
        sources: dict[str, Any] = scene.get("sources", {})
        material = Material(
            evidence=scene.get("evidence", {}),
            keys={id_: tuple(source["evidence"]) for id_, source in sources.items()},
            addresses=frozenset(source["url"] for source in sources.values()),
            calls=tuple(scene.get("calls", ())),
        )
        for group in ("honest", "lies", "omits"):
            for answer in scene.get(group, ()):
                claims = claims_of(answer["text"]) if "text" in answer else claims_of_value(answer["value"])
                yield Draft(
                    corpus=path.stem,
                    request=scene["request"],
                    claims=claims,
                    material=material,
                    statements=[*_statements(group, answer, claims)],
                    omits=None if group == "lies" else group == "omits",
                )


def _statements(group: str, answer: dict[str, Any], claims: Sequence[Claim]) -> Iterator[Statement]:
    """Yield the true claims of an honest answer, or the false ones of a lie; the others of a lie are not counted."""
    if group == "honest":
        yield from (Statement(kind=answer["kind"], false=False, claims=frozenset({each.n})) for each in claims)
        return
    seen: set[frozenset[int]] = set()
    for words in map(str, answer["wrong"] if group == "lies" else ()):
        saying = frozenset(each.n for each in claims if words in each.text)
        if not saying:
            raise UsageError(f"no claim says {words!r}: {claims}", "Correct `wrong`: it has words of the text.")
        if saying not in seen:
            seen.add(saying)
            yield Statement(kind=answer["kind"], false=True, claims=saying)
