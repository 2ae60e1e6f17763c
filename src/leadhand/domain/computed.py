"""What can be worked out from numbers that were found: sums, means, differences, ratios and shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import median

from .figures import Figure
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
