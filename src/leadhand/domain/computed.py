"""What can be worked out from numbers that were found: sums, means, differences, ratios, shares, and other units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median

from .figures import SPAN, Figure
from .value import Json, is_list, is_object, objects_of

FEW = 12
"""Numbers in the evidence up to which their sums and differences are tried where the text computes something."""


def derived(ordered: Sequence[float], pool: Sequence[float]) -> list[float]:
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


def lists(value: Json) -> Iterator[list[Json]]:
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


def aggregates(values: Sequence[Json]) -> Iterator[float]:
    numbers = [float(each) for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) > 1:
        total = sum(numbers)
        yield from (abs(total), abs(total / len(numbers)), max(numbers) - min(numbers), abs(median(numbers)))


def shares(figures: Sequence[Figure]) -> Iterator[float]:
    """The percentages of one number of a result in another, where it has few; years have no share in anything."""
    numbers = sorted({abs(value) for figure in figures for value, _ in figure.readings if not 1900 <= value <= 2100})
    if len(numbers) <= FEW:
        yield from (100 * part / whole for part, whole in combinations(numbers, 2) if whole)


def _units(table: str) -> dict[str, tuple[str, tuple[float, ...]]]:
    """For each unit that a text may use: what it measures, and how many of another unit one of it is."""
    found: dict[str, tuple[str, tuple[float, ...]]] = {}
    for group in table.strip().split("\n\n"):
        measured, *lines = group.split("\n")
        for line in lines:
            names, _, factors = line.partition(":")
            found |= dict.fromkeys(
                names.split(), (measured.strip(), tuple(float(factor) for factor in factors.split()))
            )
    return found


CONVERSIONS = _units("""
    time
    h hr hrs hour hours stunde stunden heure heures hora horas: 60 3600 0.0416666667 3600000
    min mins minute minutes minuten minutos: 60 0.0166666667 60000
    s sec secs second seconds sekunden secondes segundos: 1000 0.001 0.0166666667 0.000277778 1000000
    ms millisecond milliseconds: 0.001 1000 0.000001
    day days tag tage jour jours día días: 24 1440 86400 0.142857143 86400000
    week weeks woche wochen semaine semaines: 7 168 604800
    month months monat monate mois: 0.0833333333 30 30.4375
    year years jahr jahre ans año años: 12 365 365.25 52

    length
    km kilometre kilometres kilometer kilometers kilomètres: 1000 0.62137119 0.001 0.53995680
    m metre metres meter meters mètres: 0.001 3.2808399 100 1000
    cm centimetre centimetres centimeter centimeters: 0.01 10 0.39370079
    mm millimetre millimetres millimeter millimeters: 0.1 0.001 0.039370079
    mi mile miles meilen: 1609.344 1.609344
    ft foot feet: 0.3048 12 0.0001893939
    in inch inches: 2.54 25.4

    speed
    km/h kmh: 0.277777778 0.62137119 0.53995680
    m/s: 3.6 2.23693629
    mph: 1.609344 0.44704
    kn knots: 1.852 0.514444

    mass
    kg kilogram kilograms kilo kilos: 1000 2.20462262 0.001
    g gram grams: 0.001 0.03527396
    t ton tons tonne tonnes: 1000 1000000
    lb lbs: 0.45359237 453.59237

    volume
    l litre litres liter liters: 1000 0.26417205

    data
    kb: 1000 1024 0.001
    mb: 1000000 1048576 1000 1024 0.001
    gb: 1000000000 1073741824 1000 1024 1000000 1048576
    tb: 1000000000000 1000 1024

    energy
    kwh: 1000 0.001

    power
    kw: 1000 0.001

    money
    cent cents: 0.01
    € $ £ eur euro euros usd dollar dollars: 100
""")


def measured_by(unit: str) -> str:
    """What a unit measures; "" for a word that is not known as a unit."""
    return CONVERSIONS["min" if unit == SPAN else unit][0] if unit in CONVERSIONS or unit == SPAN else ""


def unit_is_share(unit: str) -> bool:
    """Whether a figure with this unit is a share of something."""
    return unit[:1] == "%" or unit in ("percent", "per", "prozent", "pct")
