"""The figures, dates and times that a text states, in any usual notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .text import late_pattern

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
    **dict.fromkeys(("тыс", "tys", "千"), 1_000),
    **dict.fromkeys(("万", "만"), 10_000),
    **dict.fromkeys(("億", "亿", "억"), 1e8),
    **dict.fromkeys(("млн", "mln"), 1e6),
    **dict.fromkeys(("bn", "b", "mrd", "billions", "milliarden", "milliards"), 1e9),
}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_WEEKDAY_NAMES = (
    "monday montag lundi lunes lunedì maandag segunda-feira 月曜",
    "tuesday dienstag mardi martes martedì dinsdag terça-feira 火曜",
    "wednesday mittwoch mercredi miércoles mercoledì woensdag quarta-feira 水曜",
    "thursday donnerstag jeudi jueves giovedì donderdag quinta-feira 木曜",
    "friday freitag vendredi viernes venerdì vrijdag sexta-feira 金曜",
    "saturday samstag sonnabend samedi sábado sabato zaterdag 土曜",
    "sunday sonntag dimanche domingo domenica zondag 日曜",
)
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
_WEEKDAY = late_pattern(rf"(?<!\w)({'|'.join(WEEKDAYS)})(?:s|日)?(?!\w)", re.IGNORECASE)
_WEEKDAY_WORDS = {*WEEKDAYS, *(f"{name}s" for name in WEEKDAYS), "feira"}
_TENS = "|".join(_WORDS)
_SCALE = "|".join(_SCALES)

# Most texts do not match most patterns, and a search for what each match contains is many times faster.
_DIGITS = late_pattern(r"\d+")
_SLASHED = late_pattern(r"\d[-/]\d")
_DATES = (
    (
        late_pattern(r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?=\D|$)"),
        _SLASHED,
    ),
    (
        late_pattern(
            r"(?<!\d)(?:(?P<d0>\d{1,2})(?:st|nd|rd|th|\.)?\s*(?:-|–|to|and|bis|und|au|al)\s*)?"
            r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.|er)?"
            rf"\s+(?:of\s+|de\s+)?(?P<n>{_MONTH})\b\.?(?:,?\s+(?:de\s+)?(?P<y>\d{{4}}))?",
            re.IGNORECASE,
        ),
        None,
    ),
    (
        late_pattern(
            rf"\b(?P<n>{_MONTH})\b\.?\s+(?:(?P<d0>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:-|–|to|and)\s*)?(?P<d>\d{{1,2}})"
            r"(?:st|nd|rd|th)?\b(?![:.,]\d)(?:,?\s+(?P<y>\d{4}))?",
            re.IGNORECASE,
        ),
        None,
    ),
    (
        late_pattern(r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}))?(?!\d)"),
        late_pattern(r"\d\.\s?\d{1,2}\."),
    ),
    (
        late_pattern(r"(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<y>\d{4})(?!\d)"),
        _SLASHED,
    ),
    (
        late_pattern(rf"\b(?P<n>{_MONTH})\b\.?,?\s+(?:of\s+|de\s+)?(?P<y>\d{{4}})\b", re.IGNORECASE),
        None,
    ),
)
"""Dates in numbers, each with what a text has where it matches; None: the name of a month."""
_TIME = late_pattern(
    r"(?<![\d:.])(?P<h>[01]?\d|2[0-4])(?:[:.](?P<m>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?:\s?(?P<p>[ap])\.?m\b\.?|\s?(?:uhr|uur)\b)"
    r"|:(?P<m2>[0-5]\d)(?::[0-5]\d(?:\.\d+)?)?|\s?(?P<p2>[ap])\.?m\b\.?|\s?(?:uhr|uur|o['’]clock)\b)(?![\d:])",
    re.IGNORECASE,
)
_CLOCK = late_pattern(r"\d(?:[:.]\d\d|\s?[ap]\.?m|\s?u[hu]r|\s?o['’]clock)", re.IGNORECASE)
_HOURS = r"(?:h|hrs?|hours?|std\.?|stunden?|heures?|horas?|ore|uur|godz\.?|ч|час\w*|時間|小时)"
_MINUTES = r"(?:m|mins?|minutes?|minuten?|minutos?|minuti|мин\w*|分)"
_DURATION = late_pattern(
    rf"(?<![\d:.,])(?P<h>\d{{1,3}})\s?{_HOURS}\s?(?:(?:and|und|et|y|e|en)\s)?(?P<m>[0-5]?\d)(?![.,:]?\d)(?:\s?{_MINUTES}\b)?"
    rf"|(?<![\d:.,])(?P<h2>\d{{1,2}}):(?P<m2>[0-5]\d)\s?{_HOURS}(?!\w)",
    re.IGNORECASE,
)
_FROM = late_pattern(
    r"(?<![\d:.,])(?P<h>[01]?\d|2[0-4])"
    r"(?=\s?(?:-|–|to|until|bis|tot|à|and|und|en)\s?\d[\d:.]*\s?(?:uhr|uur|o['’]clock|[ap]\.?m\b))",
    re.IGNORECASE,
)
"""The beginning of a span of which only the end says that it is a time: 9 to 5 p.m."""
_SPANNED = late_pattern(r"\d\s?[^\W\d_]++\.?\s?(?:[^\W\d_]+\s)?\d|:\d\d\s?[^\W\d_]")
_NUMBER = late_pattern(
    r"(?<![\w.,])(?<!\w[-_/])"
    r"(?P<n>\d{1,3}(?:[,.'’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?(?:e[+-]?\d+)?)"
    r"(?P<o>st|nd|rd|th)?\b(?![.,]\d)(?:[\s\u00a0-]?(?P<u>[%‰°][A-Za-z]?|[^\W\d_]+(?:/[^\W\d_]+)?|[€$£¥]))?"
    r"|(?<![\w.,])(?P<n2>\d+(?:[.,]\d+)?)(?P<u2>[^\W\d_]+(?:/[^\W\d_]+)?)",
    re.IGNORECASE,
)
_RANGE = late_pattern(
    rf"[\d.,]+\s*(?:-|–|to|and|bis|und|à|et)\s*[\d.,]+\s*({'|'.join(sorted(_SUFFIXES, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
"""A range whose scale follows its end: between 1.2 and 1.3 million."""
_SHARING = 5
"""Letters of a number that may share a scale: not 210,000 of "by 210,000 to 1.92 million"."""
_SPELLED = late_pattern(
    rf"\b(?:{_TENS})(?:[\s-]+(?:and\s+)?(?:{_TENS}|{_SCALE}))*\b|\ba\s(?:{_SCALE})(?:\s(?:{_SCALE}))*\b", re.IGNORECASE
)
_CODE = late_pattern(r"(?<![\w.])(?:[A-Za-z]+[-_]?(?=\d{3})\d\w*|\d+(?:\.\d+){2,})\b")
_CODED = late_pattern(r"\d\d\d|\d\.\d+\.\d")
_LABELS = ["step", "day", "part", "option", "stage", "section", "level", "phase", "table", "figure", "tag", "schritt"]
_LABEL = late_pattern(
    r"^\s*(?:[-*]\s*)?\(?\d{1,3}[.)]\s"
    rf"|\b(?:{'|'.join(_LABELS)})\s\d{{1,2}}\b"
    r"|\b24/7\b|\b24[\s-]h(?:ours?)?\b|\b[1-3]\s?[dD]\b",
    re.IGNORECASE | re.MULTILINE,
)
_LABELLED = late_pattern(r"\d(?:[.)]\s|/7|[\s-]h|\s?d)", re.IGNORECASE)
_TIMESTAMP = late_pattern(r"T(?=\d)")
_LETTERS = late_pattern(r"[^\W\d_]+")
_NUMBER_WORDS = _WORDS.keys() | _SCALES.keys()


_SHORT = 4_000
"""Characters of a text of which it is kept what it states."""
SPAN = "h:min"
"""The unit of a time of hours and minutes (2 h 50 min), in minutes: how long something takes, or when it is."""


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
    """Everything of that kind in one text. ``codes`` are names with digits; ``times`` are minutes after midnight.

    A month is a day 0 of ``days``; ``weekdays`` are counted from Monday, 0.
    """

    figures: list[Figure]
    days: list[Day]
    times: list[tuple[str, int]]
    codes: list[str]
    weekdays: list[tuple[str, int]]


_DIGIT_MARKS = "\uff0c\uff0e\uff1a\u066b\u066c"
_MARKS = str.maketrans(_DIGIT_MARKS, ",.:.,")
_EMPHASIS = late_pattern(r"(?<!\w)_+(?=[\d€$£¥])|(?<=\d)_+(?!\w)")
_FAR_EAST = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


def readable(text: str) -> str:
    """The text with digits of every script as 0 to 9, apart from emphasis and from letters without a space."""
    text = _EMPHASIS.sub(" ", text) if "_" in text else text
    if text.isascii() or not any(mark >= "\u0660" and (mark.isalnum() or mark in _DIGIT_MARKS) for mark in set(text)):
        return text  # the first digit that is not 0 to 9 is U+0660; the scripts of the Far East follow it
    text = re.sub(r"[^\W\D]", lambda digit: str(int(digit[0])), text)
    text = re.sub(rf"(?<=\d)[{_DIGIT_MARKS}](?=\d)", lambda mark: mark[0].translate(_MARKS), text)
    text = re.sub(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]", r" \1-\2-\3 ", text)
    text = re.sub(r"(?<!\d)(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]", r" \2.\1. ", text)
    text = re.sub(
        r"(\d{1,2})\s?[時时시](?![間间])(?:\s?(\d{1,2})\s?[分분])?", lambda at: f" {at[1]}:{int(at[2] or 0):02} ", text
    )
    text = re.sub(r"(?<=\d)\s?([万億亿千만억])", r" \1 ", text)
    return re.sub(rf"(?<=[{_FAR_EAST}])(?=\d)|(?<=\d)(?=[{_FAR_EAST}])", " ", text)


def stated(text: str, *, labels: bool = False) -> Stated:
    """Read a text. Numbers of lists and headings state nothing, unless ``labels``.

    What was read of a short text is kept, since a run reads the same answer and results at several steps.
    """
    return _kept(text, labels) if len(text) <= _SHORT else _read(text, labels)


def _read(text: str, labels: bool) -> Stated:
    text = _TIMESTAMP.sub(" ", text) if labels else text
    words = set(_LETTERS.findall(text.casefold()))
    named = not words.isdisjoint(_WEEKDAY_WORDS) or "曜" in text
    weekdays = [(found[0], WEEKDAYS[found[1].lower()]) for found in _WEEKDAY.finditer(text)] if named else []
    if _DIGITS.search(text) is None:
        return Stated([] if words.isdisjoint(_NUMBER_WORDS) else list(_spelled(text)), [], [], [], weekdays)
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
    spans: list[re.Match[str]] = []
    if _SPANNED.search(rest):
        taken = _taken(_DURATION, rest, spans)
        rest = rest if labels else taken  # 50 of "2 h 50 min" is evidence, too
    times: list[tuple[str, int]] = []
    if _CLOCK.search(rest):
        clock: list[re.Match[str]] = []
        begins: list[re.Match[str]] = []
        rest = _taken(_TIME, _taken(_FROM, rest, begins), clock)
        times = [(found[0], 60 * int(found["h"])) for found in begins]
        times += [(found[0].strip(), _minutes(found)) for found in clock]
    codes: list[re.Match[str]] = []
    if _CODED.search(rest):
        rest = _taken(_CODE, rest, codes)
    figures = [*map(_span, spans), *_numbers(rest)]
    if not words.isdisjoint(_NUMBER_WORDS):
        figures += _spelled(rest)
    return Stated(sorted(figures, key=lambda figure: figure.at), days, times, [code[0] for code in codes], weekdays)


_kept = lru_cache(maxsize=1_024)(_read)


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
        pairs = [(month, int(parts.get("d") or 0))] + ([(month, int(parts["d0"]))] if parts.get("d0") else [])
    lowest = 1 if parts.get("d") or parts.get("a") else 0
    sound = tuple((month, day) for month, day in pairs if 1 <= month <= 12 and lowest <= day <= 31)
    return Day(found[0].strip(), sound, year) if sound else None


def _minutes(found: re.Match[str]) -> int:
    hour = int(found["h"])
    half = (found["p"] or found["p2"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return hour % 24 * 60 + int(found["m"] or found["m2"] or 0)


def _span(found: re.Match[str]) -> Figure:
    minutes = 60 * int(found["h"] or found["h2"]) + int(found["m"] or found["m2"])
    return Figure(found[0].strip(), ((float(minutes), 1.0),), SPAN, found.start())


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
        further = None if unit in _SUFFIXES or len(number) > _SHARING else _RANGE.match(text, found.start())
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
