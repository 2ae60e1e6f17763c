"""The figures, dates and times that a text states, in any usual notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTH_NAMES = (
    (
        "january jan januar janvier enero gennaio januari janeiro",
        "february feb februar février febrero febbraio februari",
    ),
    ("march mar märz mrz mars marzo maart março", "april apr avril abril aprile"),
    ("may mai mayo maggio mei maio", "june jun juni juin junio giugno junho"),
    ("july jul juli juillet julio luglio julho", "august aug août agosto augustus"),
    ("september sep sept septembre septiembre settembre setembro", "october oct okt oktober octobre octubre ottobre"),
    ("november nov novembre noviembre novembro", "december dec dez dezember décembre diciembre dicembre"),
)
MONTHS = {
    name: number
    for number, names in enumerate((names for pair in _MONTH_NAMES for names in pair), start=1)
    for name in names.split()
}
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_WORDS = {word: number for number, word in enumerate(_UNITS.split())} | {
    word: 10 * number
    for number, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_OTHER = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
FOREIGN_WORDS = {word: number for names in _OTHER for number, word in enumerate(names.split())}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SUFFIXES = _SCALES | {
    **dict.fromkeys(("k", "tausend", "mille", "mil"), 1_000),
    **dict.fromkeys(("m", "mio", "mn", "millions", "millionen", "millones"), 1e6),
    **dict.fromkeys(("bn", "b", "mrd", "billions", "milliarden", "milliards"), 1e9),
}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_TENS = "|".join(_WORDS)
_SCALE = "|".join(_SCALES)

# Most texts do not match most patterns, and a search for what each match contains is many times faster.
_DIGITS = re.compile(r"\d+")
_SLASHED = re.compile(r"\d[-/]\d")
_DATES = (
    (
        re.compile(r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?=\D|$)"),
        _SLASHED,
    ),
    (
        re.compile(
            r"(?<!\d)(?:(?P<d0>\d{1,2})(?:st|nd|rd|th|\.)?\s*(?:-|–|to|and|bis|und|au|al)\s*)?"
            r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.|er)?"
            rf"\s+(?:of\s+|de\s+)?(?P<n>{_MONTH})\b\.?(?:,?\s+(?:de\s+)?(?P<y>\d{{4}}))?",
            re.IGNORECASE,
        ),
        None,
    ),
    (
        re.compile(
            rf"\b(?P<n>{_MONTH})\b\.?\s+(?:(?P<d0>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:-|–|to|and)\s*)?(?P<d>\d{{1,2}})"
            r"(?:st|nd|rd|th)?\b(?![:.,]\d)(?:,?\s+(?P<y>\d{4}))?",
            re.IGNORECASE,
        ),
        None,
    ),
    (
        re.compile(r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}))?(?!\d)"),
        re.compile(r"\d\.\s?\d{1,2}\."),
    ),
    (
        re.compile(r"(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>\d{4})(?!\d)"),
        _SLASHED,
    ),
)
"""Dates in numbers, each with what a text has where it matches; None: the name of a month."""
_TIME = re.compile(
    r"(?<![\d:.])(?P<h>[01]?\d|2[0-4])(?:[:.](?P<m>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?:\s?(?P<p>[ap])\.?m\b\.?|\s?uhr\b)"
    r"|:(?P<m2>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?|\s?(?P<p2>[ap])\.?m\b\.?|\s?uhr\b|h(?P<m3>[0-5]\d))(?![\d:])",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d(?:[:.h]\d\d|\s?[ap]\.?m|\s?uhr)", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w.,])(?<!\w[-_/])"
    r"(?P<n>\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?(?:e[+-]?\d+)?)"
    r"(?P<o>st|nd|rd|th)?\b(?:[\s\u00a0-]?(?P<u>[%‰°][A-Za-z]?|[^\W\d_]+(?:/[^\W\d_]+)?|[€$£¥]))?"
    r"|(?<![\w.,])(?P<n2>\d+(?:[.,]\d+)?)(?P<u2>[^\W\d_]+(?:/[^\W\d_]+)?)",
    re.IGNORECASE,
)
_RANGE = re.compile(
    rf"[\d.,]+\s*(?:-|–|to|and|bis|und|à|et)\s*[\d.,]+\s*({'|'.join(sorted(_SUFFIXES, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
"""A range whose scale follows its end: between 1.2 and 1.3 million."""
_SPELLED = re.compile(
    rf"\b(?:{_TENS})(?:[\s-]+(?:and\s+)?(?:{_TENS}|{_SCALE}))*\b|\b(?:a\s)(?P<s>{_SCALE})\b", re.IGNORECASE
)
_CODE = re.compile(r"(?<![\w.])(?:[A-Za-z]+[-_]?(?=\d{3})\d\w*|\d+(?:\.\d+){2,})\b")
_CODED = re.compile(r"\d\d\d|\d\.\d+\.\d")
_LABELS = ["step", "day", "part", "option", "stage", "section", "level", "phase", "table", "figure", "tag", "schritt"]
_LABEL = re.compile(
    r"^\s*(?:[-*]\s*)?\(?\d{1,3}[.)]\s"
    rf"|\b(?:{'|'.join(_LABELS)})\s\d{{1,2}}\b"
    r"|\b24/7\b|\b24[\s-]h(?:ours?)?\b|\b[1-3]\s?[dD]\b",
    re.IGNORECASE | re.MULTILINE,
)
_LABELLED = re.compile(r"\d(?:[.)]\s|/7|[\s-]h|\s?d)", re.IGNORECASE)
_TIMESTAMP = re.compile(r"T(?=\d)")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER_WORDS = _WORDS.keys() | _SCALES.keys()


class Figure(NamedTuple):
    """A number as a text states it: what it may mean, each with the size of its last digit; and its unit."""

    text: str
    readings: tuple[tuple[float, float], ...]
    unit: str = ""
    at: int = 0


class Day(NamedTuple):
    """A date as a text states it; the year is None where none is stated."""

    text: str
    days: tuple[tuple[int, int], ...]
    year: int | None = None


class Stated(NamedTuple):
    """Everything of that kind in one text. ``codes`` are names with digits; ``times`` are minutes after midnight."""

    figures: list[Figure]
    days: list[Day]
    times: list[tuple[str, int]]
    codes: list[str]


def stated(text: str, *, labels: bool = False) -> Stated:
    """Read a text. Numbers of lists and headings state nothing, unless ``labels``."""
    text = _TIMESTAMP.sub(" ", text) if labels else text
    words = set(_LETTERS.findall(text.casefold()))
    if _DIGITS.search(text) is None:
        return Stated([] if words.isdisjoint(_NUMBER_WORDS) else list(_spelled(text)), [], [], [])
    labelled = not labels and (not words.isdisjoint(_LABELS) or _LABELLED.search(text))
    rest = _LABEL.sub(_blank, text) if labelled else text
    days: list[Day] = []

    def take(found: re.Match[str]) -> str:
        day = _day(found)
        if day is None:
            return found[0]
        days.append(day)
        return _blank(found)

    months = not words.isdisjoint(MONTHS)
    for pattern, hint in _DATES:
        if months if hint is None else hint.search(rest):
            rest = pattern.sub(take, rest)
    clock: list[re.Match[str]] = []
    if _CLOCK.search(rest):
        rest = _taken(_TIME, rest, clock)
    times = [(found[0].strip(), _minutes(found)) for found in clock]
    codes: list[re.Match[str]] = []
    if _CODED.search(rest):
        rest = _taken(_CODE, rest, codes)
    figures = list(_numbers(rest))
    if not words.isdisjoint(_NUMBER_WORDS):
        figures += _spelled(rest)
    return Stated(sorted(figures, key=lambda figure: figure.at), days, times, [code[0] for code in codes])


def _taken(pattern: re.Pattern[str], text: str, found: list[re.Match[str]]) -> str:
    """Add every match to ``found``, and return the text with blanks instead."""

    def take(match: re.Match[str]) -> str:
        found.append(match)
        return _blank(match)

    return pattern.sub(take, text)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _day(found: re.Match[str]) -> Day | None:
    parts = found.groupdict()
    year = int(parts["y"]) if parts.get("y") else None
    if parts.get("a"):
        a, b = int(parts["a"]), int(parts["b"])
        pairs = [(a, b), (b, a)]
    else:
        month = MONTHS.get(parts["n"].casefold(), 0) if parts.get("n") else int(parts["m"])
        pairs = [(month, int(parts["d"]))] + ([(month, int(parts["d0"]))] if parts.get("d0") else [])
    sound = tuple((month, day) for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31)
    return Day(found[0].strip(), sound, year) if sound else None


def _minutes(found: re.Match[str]) -> int:
    hour = int(found["h"])
    half = (found["p"] or found["p2"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour % 24 * 60 + int(found["m"] or found["m2"] or found["m3"] or 0)


def _numbers(text: str) -> Iterator[Figure]:
    end = 0
    for digits in _DIGITS.finditer(text):  # a number begins with its first digit
        found = _NUMBER.match(text, digits.start()) if digits.start() >= end else None
        if found is None:
            continue
        end = found.end()
        number, unit = found["n"] or found["n2"], (found["u"] or found["u2"] or "").lower()
        if found["o"]:
            continue
        further = None if unit in _SUFFIXES else _RANGE.match(text, found.start())
        scale = _SUFFIXES.get(further[1].lower() if further is not None else unit, 1)
        # "5 m" is five metres as often as five million
        scales = (1, scale) if unit in ("m", "b", "k", "mil", "mille") else (scale,)
        readings = tuple((value * by, step * by) for value, step in _readings(number) for by in scales)
        written = found[0].strip() if unit in _SUFFIXES or not unit.isalpha() else number
        yield Figure(written, readings, unit or _currency(text, found.start()), found.start())


def _currency(text: str, at: int) -> str:
    """Return the sign of a currency before a number, or ""."""
    while at and text[at - 1].isspace():
        at -= 1
    return text[at - 1] if at and text[at - 1] in "€$£¥" else ""


def _readings(number: str) -> list[tuple[float, float]]:
    """What a number may mean, and the size of its last digit: points and commas part thousands, or decimals."""
    if number.isdecimal():
        return [(float(number), 1.0)]
    if re.search(r"e[+-]?\d", number, re.IGNORECASE):
        return [(float(number.replace(",", ".")), abs(float(number.replace(",", "."))) * 1e-6)]
    marks = re.sub(r"\d", "", number)
    plain = re.sub(r"\D", "", number)
    whole = (float(plain), 1.0)
    decimals = len(number) - 1 - max(number.rfind("."), number.rfind(","))
    fraction = (float(plain) / 10**decimals, 10.0**-decimals)
    if len(marks) == 1:
        if marks not in ".,":
            return [whole]
        return [whole, fraction] if decimals == 3 and len(plain) < 7 else [fraction]
    return [whole] if marks[0] == marks[-1] else [fraction]


def _spelled(text: str) -> Iterator[Figure]:
    for found in _SPELLED.finditer(text):
        whole = part = 0.0
        size = 1.0
        for word in re.findall(r"[a-z]+", found[0].lower()):
            if word in _SCALES:
                size = _SCALES[word]
                part = max(part, 1) * size
                if size > 100:
                    whole, part = whole + part, 0.0
            elif word in _WORDS:
                part += _WORDS[word]
        yield Figure(found[0], ((whole + part, 1.0),), "word", found.start())
