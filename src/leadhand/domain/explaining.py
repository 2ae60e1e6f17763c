"""Whether evidence explains what a text states: figures rounded, converted, counted, added up; dates, times, addresses.

The question is not whether a statement is right, but whether anything that was found can be where it comes from.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache

from .addresses import URL, plain_address, trimmed
from .computed import CONVERSIONS, FEW, aggregates, derived, lists, measured_by, shares, unit_is_share
from .figures import FOREIGN_WORDS, MONTHS, SPAN, WEEKDAYS, Figure, Stated, readable, stated
from .quotations import quotations_in
from .text import late_pattern
from .value import Json, is_object

SMALL = 3
"""Counts up to this, in words, are prose."""
MOST_FIGURES = 60
_CURRENCIES = frozenset(
    ("€", "$", "£", "¥", "eur", "euro", "euros", "usd", "dollar", "dollars", "gbp", "pound", "pounds", "chf", "yen")
)
HEDGE = late_pattern(
    r"(?:about|around|roughly|nearly|almost|approximately|approx\.?|circa|ca\.?|over|under|more than|less than|up to|"
    r"some|just|at least|etwa|rund|ungefähr|fast|knapp|environ|presque|unos|casi|quasi|~|≈|>|<)\s*[€$£¥]?\s*$",
    re.IGNORECASE,
)
COMPUTED = late_pattern(
    r"\b(?:total|sum|together|altogether|combined|overall|average|mean|difference|between|apart|"
    r"(?:warm|cold|hott|cool|high|low|long|short|cheap|fast|slow|great|small|larg|old|young)er|more|less|fewer|ratio|times|"
    r"twice|spread|range|insgesamt|zusammen|summe|durchschnitt\w*|mittel|unterschied|mehr|weniger|somme|moyenne|"
    r"différence|plus|moins|suma|media|diferencia|más|menos)\b",
    re.IGNORECASE,
)
_ZONE = late_pattern(r"\b(?:UTC|GMT|CES?T|[ECMP][SD]T|BST|JST|IST|local|time zone|Ortszeit)\b", re.IGNORECASE)
_CLOCK_UNITS = frozenset(("h", "hrs", "hours", "heures", "horas", "ore", "uur", "uhr", "o'clock", "godz"))
_CLOCK_AFTER = late_pattern(
    r"\s*(?:in the (?:morning|afternoon|evening)|at night|o['’]clock|uhr|uur|(?:to|until|till) [a-z]+(?=\W))\b",
    re.IGNORECASE,
)
_EVERY_DAY = late_pattern(r"\b(?:daily|every|week\w*|täglich|quotidien\w*)\b", re.IGNORECASE)
_WEEK = late_pattern(
    r"\b(?:week|weekend|days|mon|tues|wednes|thurs|fri|satur|sun|woche|tage|semaine|semana)\w*\b", re.IGNORECASE
)
_NUMBERED = late_pattern(r"[A-Za-z]{4,}[-_](\d+)")
"""A word and a number (order-1234, not LH-4711), which say no more than "order 1234"."""
_LONG_WORD = late_pattern(r"[^\W\d_][^\W\d_’']{2,}")
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž][^\W\d_]{2,}"
_NAME = late_pattern(
    rf"(?<=[\w,] ){_CAPITAL}"
    rf"(?:[ -](?:(?:van|von|de|del|della|der|den|di|da|la|le|al|bin|ibn|of|the) ){{0,2}}{_CAPITAL})+"
)
_ARTICLES = frozenset(("the", "and", "der", "die", "das", "und", "les", "los", "las"))
"""Words of names that say nothing: almost every text has them."""
_PHRASE_END = late_pattern(r"(?<=[.!?:])\s+|[(“„\"*•\[→–]|\s-\s")
_MOST_CAPITALS = 0.25
"""The share of unknown words with a capital letter in a line above which more than names has one."""


class _Piece:
    """One text of the evidence. What it holds is read when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = readable(text)

    @cached_property
    def folded(self) -> str:
        return self.text.casefold()

    @cached_property
    def flat(self) -> str:
        return re.sub(r"[^\w]", "", self.folded)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", self.folded))

    @cached_property
    def addresses(self) -> frozenset[str]:
        return frozenset(plain_address(found[0]) for found in URL.finditer(self.text))

    @cached_property
    def stated(self) -> Stated:
        return stated(self.text, labels=True)

    @cached_property
    def read(self) -> tuple[frozenset[float], frozenset[tuple[int | None, int, int]], frozenset[int]]:
        """Its numbers, its days with their years, and its times in minutes after midnight."""
        read = self.stated
        numbers = {abs(value) for figure in read.figures for value, _ in figure.readings}
        numbers |= {float(part) for code in read.codes for part in re.findall(r"\d{2,}", code)}
        numbers |= {float(FOREIGN_WORDS[word]) for word in self.words & FOREIGN_WORDS.keys()}
        days = {(day.year, *pair) for day in read.days for pair in day.days}
        times = {minutes for _, minutes in read.times}
        for stamp in [n for n in numbers if 1e9 <= n < 2.2e9]:
            moment = datetime.fromtimestamp(stamp, UTC)
            days.add((moment.year, moment.month, moment.day))
            times.add(moment.hour * 60 + moment.minute)
        numbers |= {float(part) for day in days for part in day if part}
        return frozenset(numbers), frozenset(days), frozenset(times)


_piece = lru_cache(maxsize=64)(_Piece)  # the request is part of what each worker and each section rests on


class Evidence:
    """What a text may rest on: texts and data, indexed by their numbers, dates, times and addresses."""

    def __init__(self, found: Iterable[Json], today: date | None = None) -> None:
        self._values = list(found)
        self._today = today
        self._pieces = [_piece(text) for value in self._values for text in _texts(value)]

    @cached_property
    def _flat(self) -> str:
        """The letters and digits of every piece; no code goes across two."""
        return "\n".join(piece.flat for piece in self._pieces)

    @cached_property
    def folded(self) -> str:
        """Everything in small letters."""
        return "\n".join(piece.folded for piece in self._pieces)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset[str]().union(*(piece.words for piece in self._pieces))

    @cached_property
    def _longest(self) -> int:
        texts = [value for value in self._values if isinstance(value, str)]
        lengths = [len(each) for value in self._values for each in lists(value)]
        return max([len(self._values), *lengths, *(text.count("\n") + 1 for text in texts)])

    @cached_property
    def _own(self) -> list[float]:
        return sorted(frozenset[float]().union(*(piece.read[0] for piece in self._pieces)))

    @cached_property
    def _numbers(self) -> list[float]:
        return self._known(lambda _unit: True)

    @cached_property
    def _percentages(self) -> list[float]:
        """The numbers that may be a share: the mean of 50 and 20 minutes is not one."""
        return self._known(unit_is_share)

    def _known(self, adds_up: Callable[[str], bool]) -> list[float]:
        """Return the numbers that were found, and what follows from those of a list, and of a unit that ``adds_up``."""
        computed = {number for value in self._values for each in lists(value) for number in aggregates(each)}
        alike: defaultdict[str, list[float]] = defaultdict(list)
        for piece in self._pieces:
            for unit in {figure.unit for figure in piece.stated.figures} - {""}:
                amounts = {figure.readings[0][0] for figure in piece.stated.figures if figure.unit == unit}
                alike[unit] += amounts if len(amounts) == 1 else []
        computed.update(number for unit, amounts in alike.items() if adds_up(unit) for number in aggregates(amounts))
        return sorted(computed.union(self._own, [] if self._today is None else [float(self._today.year)]))

    @cached_property
    def _measured(self) -> dict[str, list[float]]:
        """The numbers by what their units measure; a number of a date measures nothing."""
        found: defaultdict[str, set[float]] = defaultdict(set)
        for piece in self._pieces:
            for figure in piece.stated.figures:
                found[measured_by(figure.unit)].update(abs(value) for value, _ in figure.readings)
        return {kind: sorted(values) for kind, values in found.items()}

    @cached_property
    def _shares(self) -> list[float]:
        return sorted({share for piece in self._pieces for share in shares(piece.stated.figures)})

    @cached_property
    def _weekdays(self) -> frozenset[int]:
        """The days of the week that a text may name; none where the evidence has no dates, or says what is usual."""
        days = [day for piece in self._pieces for each in piece.read[1] if (day := _date(*each)) is not None]
        if not days or any(_EVERY_DAY.search(piece.text) for piece in self._pieces):
            return frozenset()
        near = [] if self._today is None else [self._today + timedelta(days=offset) for offset in (-1, 0, 1)]
        named = {day for piece in self._pieces for _, day in piece.stated.weekdays}
        return frozenset(named.union(day.weekday() for day in (*days, *near)))

    @cached_property
    def _days(self) -> set[tuple[int | None, int, int]]:
        days = set[tuple[int | None, int, int]]().union(*(piece.read[1] for piece in self._pieces))
        if self._today is not None:
            ahead = 8 if any(_WEEK.search(piece.text) for piece in self._pieces) else 1
            near = (self._today + timedelta(days=offset) for offset in range(-1, ahead + 1))
            days.update((day.year, day.month, day.day) for day in near)
        return days

    @cached_property
    def _times(self) -> frozenset[int]:
        return frozenset[int]().union(*(piece.read[2] for piece in self._pieces))

    def unexplained(self, text: str) -> list[str]:
        """Return what a text states and nothing here explains, as it is written there, each once."""
        text = readable(text)
        addresses = [url for url in (trimmed(found[0]) for found in URL.finditer(text)) if not self._knows(url)]
        quotations = [quoted for quoted in quotations_in(text) if not self.quotes(quoted)]
        text = URL.sub(" ", text)
        said = stated(text)
        known: list[float] = []
        doubtful: list[Figure] = []
        for figure in said.figures:
            if self._explains(figure, text):
                known += [value for value, _ in figure.readings[:1]]
            else:
                doubtful.append(figure)
        workable: list[float] = []
        if doubtful:
            shown = set(known)
            if len(self._own) <= FEW and COMPUTED.search(text):
                shown.update(self._own)
            workable = derived(known[:MOST_FIGURES], sorted(shown)[:MOST_FIGURES])
        figures = [figure.text for figure in doubtful if not self._derives(figure, workable)]
        days = [day.text for day in said.days if not all(self._dated(day.year, *pair) for pair in day.days[:1])]
        zoned = bool(said.times) and _ZONE.search(text) is not None
        times = [written for written, minutes in said.times if not self._timed(minutes, zoned=zoned)]
        codes = [code for code in said.codes if not self._names(code)]
        weekdays = [written for written, day in said.weekdays if self._weekdays and day not in self._weekdays]
        return list(dict.fromkeys([*figures, *days, *times, *weekdays, *codes, *addresses, *quotations]))

    def unknown_names(self, text: str) -> list[str]:
        """Return the names of two words and more, inside the sentences of a text, of which no word is here.

        A single capital letter says too little: Monday, Celsius and Spain have one, too. Nothing is said of headings,
        tables and lines with many unknown capital letters: titles, and languages that capitalize nouns.
        """
        found: list[str] = []
        for line in URL.sub(" ", text).split("\n"):
            words = _LONG_WORD.findall(line)
            new = [word for word in words if word[0].isupper() and word.casefold() not in self.folded]
            if new and not line.lstrip().startswith(("#", "|")) and len(new) <= _MOST_CAPITALS * len(words):
                found += [name[0] for sentence in _PHRASE_END.split(line) for name in _NAME.finditer(sentence)]
        known = [*MONTHS, *WEEKDAYS]
        named = {name: [w for w in _LONG_WORD.findall(name.casefold()) if w not in _ARTICLES] for name in found}
        return [
            name
            for name, words in named.items()
            if len(words) > 1 and not any(word in self.folded or word in known for word in words)
        ]

    def mentions(self, name: str) -> bool:
        """Whether half of the words of a name, or more, are here."""
        words = [word for word in re.findall(r"[^\W\d_]{3,}", name.casefold()) if word not in _ARTICLES]
        return sum(map(self._writes, words)) * 2 >= len(words)

    def _explains(self, figure: Figure, text: str) -> bool:
        digits = re.match(r"[\d.,'’]*\d", figure.text)
        if digits is not None and len(digits[0]) > 1 and self._writes(digits[0]):
            return True
        if figure.unit == SPAN and self._timed(int(figure.readings[0][0]), zoned=False):
            return True
        after = text[figure.at + len(figure.text) :][:30]
        hedged = HEDGE.search(text[max(0, figure.at - 20) : figure.at]) is not None
        return any(self._reads(value, step, figure.unit, after, hedged=hedged) for value, step in figure.readings)

    def _reads(self, value: float, step: float, unit: str, after: str, *, hedged: bool) -> bool:
        measured = unit in _CURRENCIES or unit in CONVERSIONS or unit[:1] in ("%", "°") or unit == SPAN
        whole = value == int(value)
        if whole and not measured and value <= max(self._most(value), SMALL if unit == "word" else 0):
            return True
        room = _room(value, step, hedged=hedged)
        if unit[:1] == "‰" or unit_is_share(unit):
            wanted = ((value, room), (value / 100, room / 100), (100 - value, room))
            return any(_holds(self._percentages, *each) for each in wanted) or _holds(self._shares, value, room)
        if self._near(value, room):
            return True
        hour = unit in _CLOCK_UNITS or (unit in ("", "word") and _CLOCK_AFTER.match(after) is not None)
        if whole and value <= 24 and hour and self._timed(int(value) * 60, zoned=False):
            return True
        if unit in ("°f", "fahrenheit", "degrees", "°", "grad") and self._near((value - 32) / 1.8, room / 1.8):
            return True
        if unit in ("°c", "celsius", "degrees", "°", "grad"):
            return self._near(value * 1.8 + 32, room * 1.8) or self._near(value + 273.15, room + 0.01)
        kind, factors = CONVERSIONS.get("min" if unit == SPAN else unit, ("", ()))
        pools = [self._measured.get(name, []) for name in (kind, "")]
        return any(_holds(pool, value * factor, room * factor * 1.001) for factor in factors for pool in pools)

    def _near(self, value: float, room: float) -> bool:
        return _holds(self._numbers, value, room)

    def _derives(self, figure: Figure, derived: Sequence[float]) -> bool:
        part = unit_is_share(figure.unit)
        for value, step in figure.readings:
            room = _room(value, step, hedged=False)
            for wanted, width in ((value, room), (value / 100, room / 100)) if part else ((value, room),):
                if _holds(derived, wanted, width):
                    return True
        return False

    def _dated(self, year: int | None, month: int, day: int) -> bool:
        if not day:
            quarter = re.search(rf"\bq{(month + 2) // 3}\b|\bh{(month + 5) // 6}\b", self.folded)
            here = (
                any((y, m) in ((year, month), (None, month)) for y, m, _ in self._days)
                or f"{year}-{month:02}" in self.folded
            )
            return here or (year in self._own and (quarter is not None or month in self._own))
        same = [y for y, m, d in self._days if (m, d) == (month, day)]
        if any(year is None or y is None or y == year for y in same):
            return True
        return (year, day, month) in self._days

    def _timed(self, minutes: int, *, zoned: bool) -> bool:
        if any((minutes - known) % 720 == 0 or (zoned and (minutes - known) % 30 == 0) for known in self._times):
            return True
        return any(
            known != minutes and (self._near(abs(known - minutes), 0.5) or self._near(abs(known - minutes) * 60, 30))
            for known in self._times
        )

    def _most(self, value: float) -> int:
        """The length of the longest list, or any that reaches ``value``: a count up to it needs no other evidence."""
        return len(self._values) if value <= len(self._values) else self._longest

    def _writes(self, word: str) -> bool:
        return word in self._words

    def _names(self, code: str) -> bool:
        flat = re.sub(r"[^\w]", "", code.casefold())
        if flat in self._flat:
            return True
        numbered = _NUMBERED.fullmatch(code)
        return numbered is not None and (self._writes(numbered[1]) or self._near(float(numbered[1]), 0.0))

    def quotes(self, quoted: str) -> bool:
        """Whether the evidence has the words of a quotation, in this order; an omission (…) parts it."""
        pieces = re.split(r"…|\.\.\.|\[[^\]]*\]", quoted)
        return all(self._names(piece) for piece in pieces)

    def _knows(self, url: str) -> bool:
        address = plain_address(url)
        if "://" not in url and not url.casefold().startswith("www."):
            return address in self.folded
        known = (known for piece in self._pieces for known in piece.addresses)
        return any(each == address or each.startswith(f"{address}/") for each in known)


_WRITTEN = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _texts(value: Json) -> list[str]:
    """The texts of a value: of an object, one for each of its fields."""
    if isinstance(value, str):
        return [value]
    parts = [{name: inner} for name, inner in value.items()] if is_object(value) else [value]
    return list(map(_WRITTEN, parts))


def _holds(pool: Sequence[float], value: float, room: float) -> bool:
    """Whether a sorted pool of numbers has one that is at most ``room`` away from a value or its negative."""
    at = bisect_left(pool, abs(value) - room - 1e-9)
    return at < len(pool) and pool[at] <= abs(value) + room + 1e-9


def _room(value: float, step: float, *, hedged: bool) -> float:
    """How far the number may be from which a stated one was rounded: half of its last digit, or of its last zeros."""
    room = step / 2
    whole = value / step
    zeros = len(str(int(whole))) - len(str(int(whole)).rstrip("0")) if whole >= 20 else 0
    if zeros:
        room = max(room, min(10**zeros * step / 2, value * 0.05))
    if hedged and (zeros or whole % 5 == 0):
        room = max(room, value * 0.1)
    return room


def _date(year: int | None, month: int, day: int) -> date | None:
    try:
        return date(year or 0, month, day)
    except ValueError:  # no year, only a month, or not in the calendar
        return None


def statements(text: str) -> int:
    """How many different figures, dates, times, weekdays, codes, addresses and quotations a text states."""
    return len(_NOTHING.unexplained(text))


_NOTHING = Evidence([])
