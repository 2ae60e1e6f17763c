"""Figures with their units: whether passages hold a figure as a sentence states it, rounded, converted or computed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from leadhand.domain.explaining import COMPUTED, HEDGE
from leadhand.domain.figures import MONTHS, SPAN, Figure, readable, stated

from .numerals import NUMBERS, shares_in
from .vocabulary import OVER, PERIODS, REST, SCALES, UNDER, UNITS

_TEMPERATURES = ("celsius", "fahrenheit", "degrees")
_TOKEN = re.compile(r"[\s\u00a0-]*([%‰°][A-Za-z]?|[^\W\d_]+[²³23]?(?:/[^\W\d_]+[²³23]?)?|[€$£¥])")
_SIGN_BEFORE = re.compile(r"(€|\$|£|¥|\bEUR|\bUSD|\bGBP|\bCHF)\s*$", re.IGNORECASE)
_CUBIC = re.compile(r"[\s\u00a0]*(?:cubic met|mètres? cubes?|metros? cúbicos?)", re.IGNORECASE)
_DIGITS = re.compile(r"[\d.,'’\u00a0\u202f ]*\d")
_SQUARE = re.compile(r"[\s\u00a0]*(?:square (?:met|m)|sq\.? ?m|mètres? carrés?|metros? cuadrados?)", re.IGNORECASE)
_SQUARE_KM = re.compile(
    r"[\s\u00a0]*(?:square (?:kilomet|km)|sq\.? ?km|quadratkilomet|kilomètres? carrés?|kilómetros? cuadrados?)",
    re.IGNORECASE,
)
_SQUARE_MILES = re.compile(r"[\s\u00a0]*(?:square mi|sq\.? ?mi|quadratmeile)", re.IGNORECASE)
_TO_NEXT = re.compile(
    r"\s*(?:%|°C?|[€$£])?\s*(?:-|–|to|bis|bis zu|auf|and|und|à|et|a|y|or|oder|ou)\s*(?:about |bis |[€$£]\s?)?(?=\d)",
    re.IGNORECASE,
)
_CENT = re.compile(r"[\s\u00a0]+(?:per cent|pour cent|por ciento|por cien|v\. ?H\.)", re.IGNORECASE)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_FEW = rf"[1-9]|10|{'|'.join(NUMBERS)}|eines"
_IN_TEN = re.compile(rf"\b({_FEW})(?: [^\W\d_]+)? (?:in|out of|von|sur|de cada) ({_FEW})\b", re.IGNORECASE)
_RATE = re.compile(
    r"(?:\s+of)?(?:\s+[^\W\d_]+){0,3}?\s*(?:/|\b(?:per|a|an|pro|je|par|por|al|each|every|im|am|le|la)\s)\s*([^\W\d_]+)(?!\s+\d)",
    re.IGNORECASE,
)
"""What follows the figure of a rate: "trains per day", "Tonnen im Jahr"."""
_RATE_BEFORE = re.compile(
    r"\b(?:per|each|every|pro|je|jede[nrs]?|par|chaque|cada|al|por)\s+([^\W\d_]+)\b[^.;,\d]{0,60}$", re.IGNORECASE
)
"""What precedes the figure of a rate: "Pro Tag passieren 54 Schiffe"."""
_ALONE = re.compile(
    r"\s*(?:$|[.,;:)–—|](?!\d)|(?:in|on|for|per|a|by|from|to|and|im|auf|für|aus|je|und|en|par|pour|por|para|si|y|et"
    r"|more|less|fewer|mehr|weniger|de plus|de moins|más|menos)\b)",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"\b(?:each|every|per|apiece|average|mean|je|pro|jede\w*|durchschnitt\w*|chaque|chacun\w*|par|moyenne|cada|por|media|promedio)\b",
    re.IGNORECASE,
)
_POWERS = (
    (_CENT, "%"),
    (_SQUARE, "m²"),
    (_SQUARE_KM, "km²"),
    (_SQUARE_MILES, "sqmi"),
    (_CUBIC, "m³"),
)
"""Units of more than one word."""
_DECADE = re.compile(r"['’]?(?:s|er|ern)\b")
_CENTURY = re.compile(
    r"(?:st|nd|rd|th|\.|e)?\s+(?:century|centuries|jahrhundert\w*|siècle\w*)|(?<=\d)th-century", re.IGNORECASE
)
_BY = re.compile(r"\b(?:by|um|than|als)\b", re.IGNORECASE)
_BEYOND = 0.15
"""How far from "more than 40" and "less than 40" a figure may be: 46 and 34."""
_MOST_TOGETHER = 8
"""Figures of a sentence of a passage up to which a sentence may compute with two of them in any words."""


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
    bound: int = 0
    """1 for "more than" and the like, -1 for "less than"."""
    per: tuple[str, float] | None = None
    """The unit of a rate, and its size: a day, a kilogram."""
    alone: bool = False
    """Whether no word follows that could say what is counted: "26 minutes instead of 41"."""

    @property
    def year(self) -> bool:
        if self.kind or len(self.text) != 4 or not self.text.isdecimal():
            return False
        return 1500 <= int(self.text) <= 2100 or (1000 <= int(self.text) < 1500 and int(self.text) % 50 > 0)


@lru_cache(maxsize=1_024)
def measures(text: str, language: str = "") -> Sequence[Measure]:
    """Return the figures of a text with their units, in order. The first of a range has the unit of the second.

    The language says whether 4.250 are some four, or some four thousand.
    """
    text = readable(text)
    found: list[Measure] = []
    for figure in reversed(stated(text, labels=True).figures):
        kind, size = _unit(figure, text)
        end = figure.at + len(figure.text)
        if (
            not (kind or _YEAR.fullmatch(figure.text))
            and found
            and (gap := _TO_NEXT.match(text, end))
            and gap.end() in (found[-1].at, found[-1].at - 1)
        ):
            kind, size = found[-1].kind, found[-1].size
        hedged = HEDGE.search(text[max(0, figure.at - 20) : figure.at]) is not None
        readings = figure.readings
        if figure.text.isdecimal() and len(figure.text) == 4 and readings[0][0] >= 1e6:
            readings = ((float(figure.text), 1.0),)  # "in 2024, to 19 million": no 2024 million
        if language and len(readings) == 2 and (mark := re.search(r"(?<=\d)[.,](?=\d{3})", figure.text)):
            readings = readings[:1] if (mark[0] == ",") is (language == "en") else readings[1:]
        name = figure.text
        if name.isdecimal() and len(name) == 4 and _DECADE.match(text, end):
            name, kind, readings = f"{name}s", "", ((readings[0][0] + 4.5, 9.0),)
        elif name.isdecimal() and len(name) == 2 and (century := _CENTURY.match(text, end)):
            name, readings = f"{name}{century[0]}", ((readings[0][0] * 100 - 50, 100.0),)
        found.append(
            Measure(
                name,
                readings,
                kind,
                size,
                figure.at,
                hedged,
                word=figure.unit == "word",
                bound=_bound(text, figure.at),
                per=_rate(text, end) or _rate_before(text, figure.at),
                alone=_ALONE.match(text, end) is not None,
            )
        )
    return tuple(found[::-1])


def _bound(text: str, at: int) -> int:
    before = text[max(0, at - 30) : at]
    return 1 if OVER.search(before) else -1 if UNDER.search(before) else 0


def _rate(text: str, end: int) -> tuple[str, float] | None:
    match = _RATE.match(text, end)
    word = match[1].casefold() if match is not None else ""
    unit = ("time", PERIODS[word]) if word in PERIODS else UNITS.get(word)
    return unit if unit is not None and unit[0] in ("time", "mass", "energy", "volume") else None


def _rate_before(text: str, at: int) -> tuple[str, float] | None:
    match = _RATE_BEFORE.search(text[max(0, at - 90) : at])
    word = match[1].casefold() if match is not None else ""
    return ("time", PERIODS[word]) if word in PERIODS else None


@lru_cache(maxsize=1_024)
def fractions(text: str) -> Sequence[Measure]:
    """Return the shares that a text states in words: a third, two thirds."""
    said = list(shares_in(text))
    for match in _IN_TEN.finditer(text):
        part, whole = (NUMBERS.get(each.casefold()) or int(each if each.isdecimal() else 1) for each in match.groups())
        said += [(match, 100 * part / whole)] if part < whole else []
    return tuple(fraction(match, share) for match, share in said)


def without_fractions(text: str) -> str:
    """Return a text with blanks instead of shares in words."""
    text = _IN_TEN.sub(lambda match: " " * len(match[0]), text)
    for match, _ in shares_in(text):
        text = f"{text[: match.start()]}{' ' * len(match[0])}{text[match.end() :]}"
    return text


def is_part(figure: Measure, others: Sequence[Measure]) -> bool:
    """Whether a figure is a part of another one: the 44 of 1 h 44 min."""
    return any(figure.at in range(each.at, each.at + len(each.text)) for each in others if not each.text.isdecimal())


def months_in(text: str) -> dict[str, int]:
    """Return the names of months in a text with their numbers. "may" and "march" in small letters are verbs."""
    words = (word for word in re.findall(r"[^\W\d_]{3,}", text) if word not in ("may", "march", "mar"))
    return {word: MONTHS[word.casefold()] for word in words if word.casefold() in MONTHS}


def fraction(match: re.Match[str], share: float) -> Measure:
    bound = _bound(match.string, match.start())
    return Measure(match[0], ((share, 1.0),), "share", 1.0, match.start(), hedged=True, fraction=True, bound=bound)


def _unit(figure: Figure, text: str) -> tuple[str, float]:
    """What a figure measures, by the words after it and the sign before it."""
    if figure.unit == SPAN:
        return UNITS[SPAN]
    digits = _DIGITS.match(figure.text)
    at = figure.at + (digits.end() if digits is not None else len(figure.text))
    for pattern, unit in _POWERS:
        if pattern.match(text, at):
            return UNITS[unit]
    for _ in range(4):
        token = _TOKEN.match(text, at)
        word = token[1].casefold() if token is not None else ""
        known = UNITS.get(word) or UNITS.get(word.partition("/")[0])
        if known is not None:
            return known
        if token is None or word not in SCALES:
            break
        at = token.end() + text.startswith(".", token.end())  # 1,5 Mrd. Euro
    before = _SIGN_BEFORE.search(text[max(0, figure.at - 6) : figure.at])
    return UNITS.get(figure.unit, ("", 1.0)) if before is None else UNITS[before[1].casefold()]


def unheld(
    said: Sequence[Measure], held: Sequence[Measure], text: str, together: Sequence[Sequence[Measure]] = ()
) -> list[str]:
    """Return the figures of a sentence, ``said``, that ``held``, the figures of its passages, do not explain.

    A figure may follow from two that stand ``together`` in a sentence of a passage. A share in words (half) is compared
    with shares alone, and not where the sentence has its figure, too.
    """
    known = [each for each in said if _held(each, held, text)]
    said = [each for each in said if each in known or not is_part(each, known)]
    shares = any(each.kind == "share" for each in held) and not any(
        each.kind == "share" and not each.fraction for each in known
    )
    doubtful = [each for each in said if each not in known and (shares or not each.fraction)]
    pools = [pool for pool in (*together, known) if len(pool) <= _MOST_TOGETHER] if doubtful else []
    worked = [each for pool in pools for each in _from_few(pool, text)]
    return [each.text for each in doubtful if not any(_follows(each, number) for number in worked)]


class _Worked(NamedTuple):
    """What follows from two figures: an amount in the base unit of ``kind``, and how large the unit is."""

    kind: str
    amount: float
    size: float = 1.0


def _follows(one: Measure, worked: _Worked) -> bool:
    if one.year or (one.kind != worked.kind and (one.kind or not one.alone or worked.kind in ("share", "points"))):
        return False
    value, step = one.readings[0]
    return _fits(worked.amount / (one.size if one.kind else worked.size), one, value, step)


def _from_few(pool: Sequence[Measure], text: str) -> Iterator[_Worked]:
    """What follows from figures that stand together: a sum, and of two of them a difference, a share, a ratio."""
    for kind in {each.kind for each in pool} if COMPUTED.search(text) else ():
        alike = [each for each in pool if each.kind == kind and not each.year]
        if len(alike) > 2:
            yield _Worked(kind, sum(_amount(each, alike[0]) for each in alike), alike[0].size)
    for one, other in combinations([each for each in pool if not each.year and each.readings[0][0]], 2):
        first, second = _amount(one, other), _amount(other, one)
        if one.kind != other.kind and "share" in (one.kind, other.kind) and "time" not in (one.kind, other.kind):
            share, (whole, like) = (first, (second, other)) if one.kind == "share" else (second, (first, one))
            part = whole * share / 100
            yield from (_Worked(like.kind, part, like.size), _Worked(like.kind, whole - part, like.size))
        if {one.kind, other.kind} == {"share", "points"}:
            share, points = (first, second) if one.kind == "share" else (second, first)
            yield from (_Worked("share", share - points), _Worked("share", share + points))
        if one.kind != other.kind and "" in (one.kind, other.kind) and _EACH.search(text):
            yield (
                _Worked(one.kind, first / second, one.size)
                if one.kind
                else _Worked(other.kind, second / first, other.size)
            )
        if one.kind != other.kind:
            if other.kind or not other.alone:
                continue
            second *= one.size  # "26 minutes instead of 41"
        low, high = sorted((first, second))
        yield _Worked(one.kind, low + high, one.size)
        yield _Worked("points" if one.kind == "share" else one.kind, high - low, one.size)
        if abs(high / low - round(high / low)) <= high / low / 10 or high < 3 * low:
            yield _Worked("", high / low)
        if one.kind != "share" or _BY.search(text):  # a share of a share is the change of it
            yield from (_Worked("share", 100 * share) for share in (low / high, 1 - low / high, high / low - 1))


def _held(one: Measure, held: Sequence[Measure], text: str) -> bool:
    small = one.readings[0][0] in (0, 1, 2, 3) if not one.kind else one.word and one.readings[0][0] == 1
    return small or any(_alike(one, other, text) for other in held)


@lru_cache(maxsize=4_096)
def alike(one: Measure, other: Measure) -> bool:
    """Whether two figures with units are the same one."""
    return _alike(one, other, "")


def _alike(one: Measure, other: Measure, text: str) -> bool:
    for value, step in one.readings:
        for known, _ in other.readings:
            if any(_fits(abs(each), one, value, step) for each in _as(one, other, known, text)):
                return True
    return False


def _fits(known: float, one: Measure, value: float, step: float) -> bool:
    """Whether a figure is what a sentence says: rounded, about, more or less than ``value``."""
    room = _room(one, value, step) + 1e-9
    return abs(known - value) <= room or 0 < (known - value) * one.bound <= _BEYOND * value


def _as(one: Measure, other: Measure, known: float, text: str) -> list[float]:
    """What a figure of a passage is in the unit of a figure of a sentence."""
    if one.year or other.year:
        return [] if one.kind else [known]
    if not other.text and one.kind != "time":
        return []  # a span of time that nobody states
    if one.kind == other.kind == "share" and REST.search(text):
        return [known, 100 - known]
    if one.per and other.per and one.per[0] == other.per[0] and one.kind == other.kind:
        known *= one.per[1] / other.per[1]
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


def _amount(one: Measure, like: Measure) -> float:
    """A figure in its base unit; a rate for the time, mass or energy that another one is for."""
    rate = like.per[1] / one.per[1] if one.per and like.per and one.per[0] == like.per[0] else 1.0
    return one.readings[0][0] * one.size * rate
