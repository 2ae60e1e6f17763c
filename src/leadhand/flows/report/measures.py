"""Figures with their units: whether passages hold a figure as a sentence states it, rounded, converted or computed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from leadhand.domain.computed import derived
from leadhand.domain.explaining import COMPUTED, HEDGE
from leadhand.domain.figures import FOREIGN_WORDS, Figure, readable, stated

from .vocabulary import FRACTIONS, NUMBERS, REST, SCALES, UNITS

_TEMPERATURES = ("celsius", "fahrenheit", "degrees")
_TOKEN = re.compile(r"[\s\u00a0-]*([%‰°][A-Za-z]?|[^\W\d_]+[²³23]?(?:/[^\W\d_]+[²³23]?)?|[€$£¥])")
_SIGN_BEFORE = re.compile(r"(€|\$|£|¥|\bEUR|\bUSD|\bGBP|\bCHF)\s*$", re.IGNORECASE)
_MILLION = re.compile(r"\b(?:eine?|une?|un) mill(?:ion|ón)\b", re.IGNORECASE)
_CUBIC = re.compile(r"[\s\u00a0]*(?:cubic met|mètres? cubes?|metros? cúbicos?)", re.IGNORECASE)
_DIGITS = re.compile(r"[\d.,'’\u00a0\u202f ]*\d")
_SQUARE = re.compile(r"[\s\u00a0]*(?:square (?:met|m)|sq\.? ?m|mètres? carrés?|metros? cuadrados?)", re.IGNORECASE)
_TO_NEXT = re.compile(
    r"\s*(?:%|°C?|[€$£])?\s*(?:-|–|to|bis|bis zu|and|und|à|et|a|y|or|oder|ou)\s*(?:about |bis |[€$£]\s?)?(?=\d)",
    re.IGNORECASE,
)
_CENT = re.compile(r"[\s\u00a0]+(?:per cent|pour cent|por ciento|por cien|v\. ?H\.)", re.IGNORECASE)
_OUT_OF = re.compile(
    r"\b(\d{1,4}|[^\W\d_]{2,8}) (?:in|out of|of|of the|von|sur|de cada) (\d{1,4}|[^\W\d_]{2,8})\b", re.IGNORECASE
)
_ONE_UNIT = re.compile(
    r"\b(?:an?|one|eine?[mnrs]?|une?|una?)\s+(hour|day|week|month|year|stunde|tag|woche|monat|jahr|heure|jour|semaine|mois|"
    r"année|hora|día|mes|año)\b",
    re.IGNORECASE,
)
"""A passage that says "for a year" holds 12 months."""
_FEW = 12
_MOST_COMPUTED = 5
"""Figures of one kind in the cited passages up to which a sentence may compute with them."""


class Measure(NamedTuple):
    """A figure with what it measures ("" if its unit is unknown), and the size of the unit in the base unit."""

    text: str
    readings: tuple[tuple[float, float], ...]
    kind: str
    size: float
    at: int
    hedged: bool = False
    fraction: bool = False
    word: bool = False

    @property
    def year(self) -> bool:
        return not self.kind and len(self.text) == 4 and self.text.isdecimal() and 1500 <= int(self.text) <= 2100


def measures(text: str, language: str = "") -> list[Measure]:
    """Return the figures of a text with their units, in order. The first of a range has the unit of the second.

    The language says whether 4.250 are some four, or some four thousand.
    """
    text = readable(text)
    found: list[Measure] = []
    for figure in reversed(stated(text, labels=True).figures):
        kind, size = _unit(figure, text)
        end = figure.at + len(figure.text)
        if not kind and found and (gap := _TO_NEXT.match(text, end)) and gap.end() in (found[-1].at, found[-1].at - 1):
            kind, size = found[-1].kind, found[-1].size
        hedged = HEDGE.search(text[max(0, figure.at - 20) : figure.at]) is not None
        readings = figure.readings
        if language and len(readings) == 2 and (mark := re.search(r"(?<=\d)[.,](?=\d{3})", figure.text)):
            readings = readings[:1] if (mark[0] == ",") is (language == "en") else readings[1:]
        found.append(Measure(figure.text, readings, kind, size, figure.at, hedged, word=figure.unit == "word"))
    return found[::-1]


def fractions(text: str) -> list[Measure]:
    """Return the shares that a text states in words: a third, two thirds."""
    return [_fraction(match, share) for pattern, share in FRACTIONS for match in pattern.finditer(text)]


def without_fractions(text: str) -> str:
    """Return a text with blanks instead of shares in words."""
    for pattern, _ in FRACTIONS:
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text


def implied(text: str) -> list[Measure]:
    """Return what a passage holds besides its figures: one in five, a year, the time between two times or years."""
    found = fractions(text)
    for match in _OUT_OF.finditer(text):
        part, whole = (int(each) if each.isdecimal() else NUMBERS.get(each.casefold(), 0) for each in match.groups())
        if 0 < part < whole <= 1000:
            found.append(_fraction(match, 100 * part / whole))
    for match in _ONE_UNIT.finditer(text):
        kind, size = UNITS[match[1].casefold()]
        found.append(Measure(match[0], ((1.0, 1.0),), kind, size, match.start(), fraction=True))
    found += [Measure(match[0], ((1e6, 1.0),), "", 1.0, match.start()) for match in _MILLION.finditer(text)]
    words = set(re.findall(r"[^\W\d_]+", text.casefold()))
    found += [Measure(word, ((float(FOREIGN_WORDS[word]), 1.0),), "", 1.0, 0) for word in words & FOREIGN_WORDS.keys()]
    said = stated(text, labels=True)
    times = sorted({minutes for _, minutes in said.times})
    years = sorted({int(each.text) for each in measures(text) if each.year})
    for moments, size in ((times, 60.0), (years, 31557600.0)):
        for one, other in combinations(moments, 2) if len(moments) <= _MOST_COMPUTED else ():
            found.append(Measure("", ((float(other - one), 1.0),), "time", size, 0, fraction=True))
    return found


def _fraction(match: re.Match[str], share: float) -> Measure:
    return Measure(match[0], ((share, 1.0),), "share", 1.0, match.start(), hedged=True, fraction=True)


def _unit(figure: Figure, text: str) -> tuple[str, float]:
    """What a figure measures, by the words after it and the sign before it."""
    digits = _DIGITS.match(figure.text)
    at = figure.at + (digits.end() if digits is not None else len(figure.text))
    if _CENT.match(text, at):
        return UNITS["%"]
    if _SQUARE.match(text, at):
        return UNITS["m²"]
    if _CUBIC.match(text, at):
        return UNITS["m³"]
    for _ in range(4):
        token = _TOKEN.match(text, at)
        word = token[1].casefold() if token is not None else ""
        known = UNITS.get(word) or UNITS.get(word.partition("/")[0])
        if known is not None:
            return known
        if token is None or word not in SCALES:
            break
        at = token.end()
    before = _SIGN_BEFORE.search(text[max(0, figure.at - 6) : figure.at])
    return UNITS.get(figure.unit, ("", 1.0)) if before is None else UNITS[before[1].casefold()]


def unheld(said: Sequence[Measure], held: Sequence[Measure], text: str) -> list[str]:
    """Return the figures of a sentence, ``said``, that ``held``, the figures of its passages, do not explain.

    A share in words (half) is compared with shares alone, and not where the sentence has its figure, too.
    """
    known = [each for each in said if _held(each, held, text)]
    shares = any(each.kind == "share" for each in held) and not any(
        each.kind == "share" and not each.fraction for each in known
    )
    doubtful = [each for each in said if each not in known and (shares or not each.fraction)]
    return [each.text for each in doubtful if not _computed(each, known, held, text)]


def _held(one: Measure, held: Sequence[Measure], text: str) -> bool:
    small = not one.kind and all(value <= 3 for value, _ in one.readings[:1])
    return small or any(_alike(one, other, text) for other in held)


def alike(one: Measure, other: Measure) -> bool:
    """Whether two figures with units are the same one."""
    return _alike(one, other, "")


def _alike(one: Measure, other: Measure, text: str) -> bool:
    for value, step in one.readings:
        room = _room(one, value, step)
        for known, _ in other.readings:
            if any(abs(abs(each) - value) <= room + 1e-9 for each in _as(one, other, known, text)):
                return True
    return False


def _as(one: Measure, other: Measure, known: float, text: str) -> list[float]:
    """What a figure of a passage is in the unit of a figure of a sentence."""
    if one.year or other.year:
        return [] if one.kind else [known]
    if one.kind == other.kind == "share" and REST.search(text):
        return [known, 100 - known]
    if one.kind == other.kind and one.kind:
        return [known * other.size / one.size]
    if not one.kind or not other.kind:
        return [known, 100 * known] if one.kind == "share" and known <= 1 else [known]
    if one.kind in _TEMPERATURES and other.kind in _TEMPERATURES:
        both = {one.kind, other.kind}
        warmer = [] if both == {"celsius", "degrees"} else [known * 1.8 + 32, (known - 32) / 1.8]
        return [*warmer, *([known] if "degrees" in both else [])]
    return []


def _room(one: Measure, value: float, step: float) -> float:
    """How far from the figure a passage's may be: half of the last digit, or of the zeros of a large number."""
    if one.fraction:
        return 3.5
    if one.year:
        return 0.0
    room = step / 2
    whole = str(int(value / step))
    zeros = len(whole) - len(whole.rstrip("0"))
    if zeros and value / step >= 100:
        room = max(room, min(10**zeros * step / 2, value * 0.05))
    if one.hedged and (zeros or int(value / step) % 5 == 0):
        room = max(room, value * 0.1)
    return room


def _computed(one: Measure, known: Sequence[Measure], held: Sequence[Measure], text: str) -> bool:
    """Whether a figure follows from the figures beside it, or, where the sentence computes, from a few of a passage."""
    if one.year or one.fraction:
        return False
    value, step = one.readings[0]
    room = _room(one, value, step)
    beside = _amounts(known)[:8]
    worked = derived(beside, beside)
    rates = worked
    if COMPUTED.search(text) or (one.word and value <= _FEW):
        for kind in {each.kind for each in held}:
            pool = _amounts([each for each in held if each.kind == kind])
            if len(pool) <= _MOST_COMPUTED:
                made = derived([], pool)
                worked = [*worked, *(made if kind == one.kind or (kind, one.kind) == ("share", "points") else [])]
                rates = [*rates, *(made if kind != "share" or not one.kind else [])]
    if any(abs(number - value * one.size) <= room * one.size + 1e-9 for number in worked):
        return True
    if one.kind == "time" and any(each.year for each in known):
        years = [each.readings[0][0] for each in known if each.year]
        if any(abs(abs(first - other) - value * one.size / 31557600) < 1e-3 for first in years for other in years):
            return True
    scale = 100 if one.kind == "share" else 1
    return one.kind in ("share", "") and any(abs(number - value / scale) <= room / scale + 1e-9 for number in rates)


def _amounts(measured: Sequence[Measure]) -> list[float]:
    """The different amounts of figures in their base units, years apart."""
    return list(dict.fromkeys(each.readings[0][0] * each.size for each in measured if not each.year))
