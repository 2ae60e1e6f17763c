"""True, distorted and invented citations: sources and sentences as data, and how the checks of reports judge them.

A file of ``cases/`` has sources, each with one passage, and sentences about them. ``@`` begins a source (name, title,
address, date), ``+`` is a true sentence, ``-`` a false one with its class. ``[*]`` cites the passage of the source.
``benchmarks/citations.py`` prints the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from leadhand.domain.passages import Passage, digest_of
from leadhand.flows.report.citations import Status, check
from leadhand.flows.report.words import Words

CASES = Path(__file__).parent / "cases"
SETS = {
    "known": "known",
    "second": "second set",
    "held_out": "held out",
    "other_author": "another author",
    "other_author_held_out": "another author, held out",
}
"""The files of cases with their titles in the tables."""
FILES = tuple(SETS)
SIZES = (2, 150)
PAIR = 2
"""Sources of a draft that stands beside more and more sources that it does not cite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A sentence about a source. ``kind`` is the class of a false one, "" of a true one."""

    source: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    case: Case
    refused: bool
    why: str


def read(file: str) -> tuple[dict[str, Passage], list[Case]]:
    """The passages by the names of their sources, and the sentences about them."""
    passages: dict[str, Passage] = {}
    cases: list[Case] = []
    for block in re.split(r"^@ ", (CASES / f"{file}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *lines = block.strip().split("\n")
        name, title, url, published = (part.strip() for part in head.split(" | "))
        first = next(number for number, line in enumerate(lines) if line[:2] in ("+ ", "- "))
        text = "\n".join(lines[:first])
        source = digest_of(text)
        passages[name] = Passage(id=f"{source}.1", text=text, title=title, url=url, source=source, published=published)
        for line in filter(None, lines[first:]):
            kind, _, said = line[2:].partition(" | ") if line[0] == "-" else ("", "", line[2:])
            assert said, line
            cases.append(Case(source=name, kind=kind, text=said))
    return passages, cases


def others(passages: dict[str, Passage]) -> list[Passage]:
    """Sources that no sentence cites: the same passages with other figures, and with other figures again."""
    found: list[Passage] = []
    for shift in (3, 5, 1):
        for passage in passages.values():
            text = re.sub(r"[1-8]", lambda digit, shift=shift: str((int(digit[0]) + shift) % 8 + 1), passage.text)
            source = digest_of(text)
            found.append(Passage(id=f"{source}.1", text=text, title="Another year", url=passage.url, source=source))
    return found


def judged(cases: Sequence[Case], passages: dict[str, Passage], further: Sequence[Passage]) -> list[Verdict]:
    """Check one draft with all these sentences, in turn as paragraphs and as list items."""
    keys = {name: f"p{3 * number + 1}" for number, name in enumerate(passages)}
    numbered = {keys[name]: passage for name, passage in passages.items()}
    free = (f"p{number}" for number in range(1, 1_000) if f"p{number}" not in numbered)
    numbered |= dict(zip(free, further, strict=False))
    lines = ["# Report", "", "This report sums up what was found.", ""]
    places: list[int] = []
    for number, case in enumerate(cases):
        text = case.text.replace("*", keys[case.source])
        if number % 3 == 1:  # the citation behind the full stop
            text = re.sub(r"\s*((?:\[[^\]]*\])+)\.?$", r". \1", text)
        lines += [f"- {text}" if number % 4 == 2 else text]
        places.append(len(lines))
        lines.append("")
    found = check("\n".join(lines), numbered)
    verdicts: list[Verdict] = []
    for case, line in zip(cases, places, strict=True):
        bad = [each for each in found if each.line == line and each.status is Status.UNSUPPORTED]
        verdicts.append(Verdict(case, bool(bad), "; ".join(problem for each in bad for problem in each.problems)))
    return verdicts


@lru_cache
def beside(file: str, size: int) -> list[Verdict]:
    """Judge drafts about two sources each, among ``size`` sources."""
    passages, cases = read(file)
    more = others(passages)
    names = sorted(passages, key=lambda name: Words(passages[name].text).language)  # a draft has one language
    found: list[Verdict] = []
    for at in range(0, len(names), PAIR):
        pair = {name: passages[name] for name in names[at : at + PAIR]}
        rest = [passage for name, passage in passages.items() if name not in pair]
        about = [case for case in cases if case.source in pair]
        found += judged(about, pair, [*rest, *more][: size - len(pair)])
    return found


@lru_cache
def citing_all(file: str, size: int) -> list[Verdict]:
    """Judge one draft that cites ``size`` sources: those of the file, and again with other figures.

    A true sentence with figures is false beside the same passage with other figures.
    """
    passages, cases = read(file)
    twins = dict(zip((f"other {name}" for name in passages), others(passages), strict=False))
    chosen = dict(list({**passages, **twins, **_third(passages)}.items())[:size])
    moved = [
        Case(source=name, kind="another source", text=case.text)
        for name in chosen
        for case in [next(each for each in cases if each.source == name.rpartition(" ")[2] and _figures(each))]
        if name not in passages
    ]
    return judged([*(case for case in cases if case.source in chosen), *moved], chosen, [])


def _third(passages: dict[str, Passage]) -> dict[str, Passage]:
    again = others(passages)[len(passages) :]
    return dict(zip((f"third {name}" for name in passages), again, strict=False))


def _figures(case: Case) -> bool:
    return not case.kind and len(re.findall(r"\d", case.text)) >= 2


def shares(verdicts: Sequence[Verdict]) -> tuple[int, int, int, int]:
    """False sentences and how many of them are caught; true ones and how many of them are refused."""
    false = [each for each in verdicts if each.case.kind]
    true = [each for each in verdicts if not each.case.kind]
    return len(false), sum(each.refused for each in false), len(true), sum(each.refused for each in true)


def tables() -> str:
    """The tables of the documentation, in Markdown."""
    lines = [
        f"| false sentences | {' | '.join(f'{SETS[file]}: cases | caught' for file in FILES)} |",
        f"|---|{'---:|' * 2 * len(FILES)}",
    ]
    judged_of = [beside(file, SIZES[0]) for file in FILES]
    kinds = dict.fromkeys(each.case.kind for found in judged_of for each in found if each.case.kind)
    for kind in kinds:
        row = [shares([each for each in found if each.case.kind == kind])[:2] for found in judged_of]
        lines.append(f"| {kind} | {' | '.join(str(number) for pair in row for number in pair)} |")
    lines += ["", *_sizes()]
    return "\n".join(lines)


def _sizes() -> Iterator[str]:
    few, many = SIZES
    yield "| sentences | sources | false ones caught | true ones refused |"
    yield "|---|---|---:|---:|"
    for file, title in SETS.items():
        yield _row(title, str(few), beside(file, few))
    yield _row(SETS["known"], f"{many}, of which a draft cites {PAIR}", beside("known", many))
    yield _row(SETS["known"], f"{many}, of which a draft cites all", citing_all("known", many))


def _row(title: str, sources: str, verdicts: Sequence[Verdict]) -> str:
    return f"| {title} | {sources} | {' | '.join(_cells(verdicts))} |"


def _cells(verdicts: Sequence[Verdict]) -> Iterator[str]:
    false, caught, true, refused = shares(verdicts)
    yield f"{caught} of {false} ({100 * caught / false:.1f} %)"
    yield f"{refused} of {true} ({100 * refused / true:.1f} %)"
