"""Names that qualify a place ("Paris, Texas"): countries, states and provinces, and their codes, from regions.txt."""

from __future__ import annotations

from typing import NamedTuple

from .words import read_words


class Region(NamedTuple):
    """A region at the beginning of some words: the number of its ``words``, and its ``level`` (1 state, 2 country).

    The name of a ``city`` is one more place in a list, and a region only at its end.
    """

    words: int
    level: int
    city: bool = False
    code: bool = False


_NAMES = read_words("regions.txt")
"""The names by what they are: ``state``, ``country``, …; ``word-too`` are codes that are also words."""


def region_at(words: list[str]) -> Region | None:
    """Return the region whose name or code ``words`` begin with, the longest if there are several."""
    for count in range(min(4, len(words)), 0, -1):
        name = "_".join(words[:count]).casefold()
        if level := level_of(name):
            return Region(count, level, city=name in _NAMES["city-too"])
    code = words[0].upper() if words and (words[0].isupper() or words[0].casefold() not in _NAMES["word-too"]) else ""
    level = 2 if code in _NAMES["country-code"] else 1 if code in _NAMES["state-code"] else 0
    return Region(1, level, code=True) if level else None


def level_of(name: str) -> int:
    """Return the level of a name on its own: 0 for a place, 1 for a state, 2 for a country."""
    return 1 if name in _NAMES["state"] else 2 if name in _NAMES["country"] else 0
