"""Whether evidence explains what a text states: figures rounded, converted, counted, added up; dates, times, addresses.

The question is not whether a statement is right, but whether anything that was found can be where it comes from.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import combinations
from statistics import median

from .figures import FOREIGN_WORDS, Figure, stated
from .value import Json, is_list, is_object, objects_of

SMALL = 3
"""Counts up to this, in words, are prose."""
FEW = 12
"""Numbers in the evidence up to which their sums and differences are tried where the text computes something."""
MOST_FIGURES = 60
_CURRENCIES = frozenset(
    ("€", "$", "£", "¥", "eur", "euro", "euros", "usd", "dollar", "dollars", "gbp", "pound", "pounds", "chf", "yen")
)
_HEDGE = re.compile(
    r"(?:about|around|roughly|nearly|almost|approximately|approx\.?|circa|ca\.?|over|under|more than|less than|up to|"
    r"some|just|at least|etwa|rund|ungefähr|fast|knapp|environ|presque|unos|casi|quasi|~|≈|>|<)\s*[€$£¥]?\s*$",
    re.IGNORECASE,
)
_COMPUTED = re.compile(
    r"\b(?:total|sum|together|altogether|combined|overall|average|mean|difference|between|apart|"
    r"(?:warm|cold|hott|cool|high|low|long|short|cheap|fast|slow|great|small|larg|old|young)er|more|less|fewer|ratio|times|"
    r"twice|spread|range|insgesamt|zusammen|summe|durchschnitt\w*|mittel|unterschied|mehr|weniger|somme|moyenne|"
    r"différence|plus|moins|suma|media|diferencia|más|menos)\b",
    re.IGNORECASE,
)
_ZONE = re.compile(r"\b(?:UTC|GMT|CES?T|[ECMP][SD]T|BST|JST|IST|local|time zone|Ortszeit)\b", re.IGNORECASE)
_WEEK = re.compile(
    r"\b(?:week|weekend|days|mon|tues|wednes|thurs|fri|satur|sun|woche|tage|semaine|semana)\w*\b", re.IGNORECASE
)
_NUMBERED = re.compile(r"[A-Za-z]{4,}[-_](\d+)")
"""A word and a number (order-1234, not LH-4711), which say no more than "order 1234"."""
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'`|\]】]+", re.IGNORECASE)


def _units(table: str) -> dict[str, tuple[float, ...]]:
    """For each unit that a text may use: how many of another unit, in which the evidence may be, one of it is."""
    found: dict[str, tuple[float, ...]] = {}
    for line in table.strip().splitlines():
        names, _, factors = line.partition(":")
        found |= dict.fromkeys(names.split(), tuple(float(factor) for factor in factors.split()))
    return found


CONVERSIONS = _units("""
    h hr hrs hour hours stunde stunden heure heures hora horas: 60 3600 0.0416666667 3600000
    min mins minute minutes minuten minutos: 60 0.0166666667 60000
    s sec secs second seconds sekunden secondes segundos: 1000 0.001 0.0166666667 0.000277778 1000000
    ms millisecond milliseconds: 0.001 1000 0.000001
    day days tag tage jour jours día días: 24 1440 86400 0.142857143 86400000
    week weeks woche wochen semaine semaines: 7 168 604800
    month months monat monate mois: 0.0833333333 30 30.4375
    year years jahr jahre ans año años: 12 365 365.25 52
    km kilometre kilometres kilometer kilometers kilomètres: 1000 0.62137119 0.001 0.53995680
    m metre metres meter meters mètres: 0.001 3.2808399 100 1000
    cm centimetre centimetres centimeter centimeters: 0.01 10 0.39370079
    mm millimetre millimetres millimeter millimeters: 0.1 0.001 0.039370079
    mi mile miles meilen: 1609.344 1.609344
    ft foot feet: 0.3048 12 0.0001893939
    in inch inches: 2.54 25.4
    km/h kmh: 0.277777778 0.62137119 0.53995680
    m/s: 3.6 2.23693629
    mph: 1.609344 0.44704
    kn knots: 1.852 0.514444
    kg kilogram kilograms kilo kilos: 1000 2.20462262 0.001
    g gram grams: 0.001 0.03527396
    t ton tons tonne tonnes: 1000 1000000
    lb lbs: 0.45359237 453.59237
    l litre litres liter liters: 1000 0.26417205
    kb: 1000 1024 0.001
    mb: 1000000 1048576 1000 1024 0.001
    gb: 1000000000 1073741824 1000 1024 1000000 1048576
    tb: 1000000000000 1000 1024
    kwh: 1000 0.001
    kw: 1000 0.001
    cent cents: 0.01
    € $ £ eur euro euros usd dollar dollars: 100
""")


class _Piece:
    """One text of the evidence. What it holds is read when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

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
        return frozenset(_address(url) for url in _URL.findall(self.text))

    @cached_property
    def read(self) -> tuple[frozenset[float], frozenset[tuple[int | None, int, int]], frozenset[int]]:
        """Its numbers, its days with their years, and its times in minutes after midnight."""
        read = stated(self.text, labels=True)
        numbers = {abs(value) for figure in read.figures for value, _ in figure.readings}
        numbers |= {float(part) for code in read.codes for part in re.findall(r"\d{2,}", code)}
        numbers |= {float(FOREIGN_WORDS[word]) for word in self.words & FOREIGN_WORDS.keys()}
        days = {(day.year, *pair) for day in read.days for pair in day.days}
        times = {minutes for _, minutes in read.times}
        for stamp in [n for n in numbers if 1e9 <= n < 2.2e9]:
            moment = datetime.fromtimestamp(stamp, UTC)
            days.add((moment.year, moment.month, moment.day))
            times.add(moment.hour * 60 + moment.minute)
        numbers |= {float(part) for day in days for part in day if part is not None}
        return frozenset(numbers), frozenset(days), frozenset(times)


_piece = lru_cache(maxsize=64)(_Piece)  # the request is part of what each worker and each section rests on


class Evidence:
    """What a text may rest on: texts and data, indexed by their numbers, dates, times and addresses."""

    def __init__(self, found: Iterable[Json], today: date | None = None) -> None:
        self._values = list(found)
        self._today = today
        self._pieces = [_piece(text) for value in self._values for text in _texts(value)]

    @cached_property
    def folded(self) -> str:
        """Everything in small letters."""
        return "\n".join(piece.folded for piece in self._pieces)

    @cached_property
    def _longest(self) -> int:
        texts = [value for value in self._values if isinstance(value, str)]
        lengths = [len(each) for value in self._values for each in _lists(value)]
        return max([len(self._values), *lengths, *(text.count("\n") + 1 for text in texts)])

    @cached_property
    def _own(self) -> list[float]:
        return sorted(frozenset[float]().union(*(piece.read[0] for piece in self._pieces)))

    @cached_property
    def _numbers(self) -> list[float]:
        computed = {number for value in self._values for each in _lists(value) for number in _aggregates(each)}
        return sorted(computed.union(self._own, [] if self._today is None else [float(self._today.year)]))

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
        addresses = [url for url in map(_trimmed, _URL.findall(text)) if not self._knows(url)]
        said = stated(_URL.sub(" ", text))
        known: list[float] = []
        doubtful: list[Figure] = []
        for figure in said.figures:
            if self._explains(figure, text):
                known += [value for value, _ in figure.readings[:1]]
            else:
                doubtful.append(figure)
        derived: list[float] = []
        if doubtful:
            shown = set(known)
            if len(self._own) <= FEW and _COMPUTED.search(text):
                shown.update(self._own)
            derived = _derived(known[:MOST_FIGURES], sorted(shown)[:MOST_FIGURES])
        figures = [figure.text for figure in doubtful if not self._derives(figure, derived)]
        days = [day.text for day in said.days if not all(self._dated(day.year, *pair) for pair in day.days[:1])]
        zoned = bool(said.times) and _ZONE.search(text) is not None
        times = [written for written, minutes in said.times if not self._timed(minutes, zoned=zoned)]
        codes = [code for code in said.codes if not self._names(code)]
        return list(dict.fromkeys([*figures, *days, *times, *codes, *addresses]))

    def _explains(self, figure: Figure, text: str) -> bool:
        digits = re.match(r"[\d.,'’]*\d", figure.text)
        if digits is not None and len(digits[0]) > 1 and self._writes(digits[0]):
            return True
        hedged = _HEDGE.search(text[max(0, figure.at - 20) : figure.at]) is not None
        return any(self._reads(value, step, figure.unit, hedged=hedged) for value, step in figure.readings)

    def _reads(self, value: float, step: float, unit: str, *, hedged: bool) -> bool:
        measured = unit in _CURRENCIES or unit in CONVERSIONS or unit[:1] in ("%", "°")
        count = value == int(value) and value <= max(self._most(value), SMALL if unit == "word" else 0)
        if count and not measured:
            return True
        room = _room(value, step, hedged=hedged)
        if self._near(value, room):
            return True
        if count:
            return False
        if unit[:1] in ("%", "‰") or unit in ("percent", "per", "prozent", "pct"):
            return self._near(value / 100, room / 100) or self._near(100 - value, room)
        if unit in ("°f", "fahrenheit", "degrees", "°", "grad") and self._near((value - 32) / 1.8, room / 1.8):
            return True
        if unit in ("°c", "celsius", "degrees", "°", "grad"):
            return self._near(value * 1.8 + 32, room * 1.8) or self._near(value + 273.15, room + 0.01)
        factors = CONVERSIONS.get(unit, ())
        return any(self._near(value * factor, room * factor * 1.001) for factor in factors)

    def _near(self, value: float, room: float) -> bool:
        at = bisect_left(self._numbers, abs(value) - room - 1e-9)
        return at < len(self._numbers) and self._numbers[at] <= abs(value) + room + 1e-9

    def _derives(self, figure: Figure, derived: Sequence[float]) -> bool:
        part = unit_is_share(figure.unit)
        for value, step in figure.readings:
            room = _room(value, step, hedged=False)
            for wanted, width in ((value, room), (value / 100, room / 100)) if part else ((value, room),):
                at = bisect_left(derived, wanted - width - 1e-9)
                if at < len(derived) and derived[at] <= wanted + width + 1e-9:
                    return True
        return False

    def _dated(self, year: int | None, month: int, day: int) -> bool:
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

    def _writes(self, digits: str) -> bool:
        return any(digits in piece.text and digits in piece.words for piece in self._pieces)

    def _names(self, code: str) -> bool:
        flat = re.sub(r"[^\w]", "", code.casefold())
        if any(flat in piece.flat for piece in self._pieces):
            return True
        numbered = _NUMBERED.fullmatch(code)
        return numbered is not None and (self._writes(numbered[1]) or self._near(float(numbered[1]), 0.0))

    def _knows(self, url: str) -> bool:
        address = _address(url)
        known = (known for piece in self._pieces for known in piece.addresses)
        return any(each == address or each.startswith(f"{address}/") for each in known)


def _texts(value: Json) -> list[str]:
    """The texts of a value: of an object, one for each of its fields."""
    if isinstance(value, str):
        return [value]
    parts = [{name: inner} for name, inner in value.items()] if is_object(value) else [value]
    return [json.dumps(part, ensure_ascii=False, default=str) for part in parts]


def unit_is_share(unit: str) -> bool:
    """Whether a figure with this unit is a share of something."""
    return unit[:1] == "%" or unit in ("percent", "per", "prozent", "pct")


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


def _derived(ordered: Sequence[float], pool: Sequence[float]) -> list[float]:
    """What can be worked out from figures that are shown: sums and means of runs of them, and of pairs."""
    found: set[float] = set()
    for first in range(len(ordered)):
        total = 0.0
        for length, value in enumerate(ordered[first:], start=1):
            total += value
            found |= {total, total / length}
    for one, other in combinations(pool, 2):
        found |= {abs(one - other), one + other, one * other}
        if one and other:
            found |= {one / other, other / one, abs(one - other) / one, abs(one - other) / other}
    return sorted(found)


def _lists(value: Json) -> Iterator[list[Json]]:
    """Every list in a JSON value, and every column of a list of objects."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if is_list(here):
            yield here
            rows = objects_of(here)
            for name in dict.fromkeys(name for row in rows[:1] for name in row):
                yield [row.get(name) for row in rows]
            waiting += here
        elif is_object(here):
            yield list(here)
            waiting += here.values()


def _aggregates(values: Sequence[Json]) -> Iterator[float]:
    numbers = [float(each) for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) > 1:
        total = sum(numbers)
        yield from (abs(total), abs(total / len(numbers)), max(numbers) - min(numbers), abs(median(numbers)))


def _trimmed(url: str) -> str:
    url = url.rstrip(".,;:!?*_»”’")
    return url.rstrip(")") if url.count(")") > url.count("(") else url


def _address(url: str) -> str:
    plain = re.sub(r"^(?:https?://)?(?:www\.)?", "", _trimmed(url).casefold())
    return plain.partition("#")[0].rstrip("/\\")
