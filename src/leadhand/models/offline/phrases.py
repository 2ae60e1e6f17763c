"""Phrases that name a unit or a means of transport, read at one place of a sentence."""

from __future__ import annotations

from typing import NamedTuple

from . import vocabulary as words
from .tokens import Token, low_at


class Transport(NamedTuple):
    """A means of transport: ``mode`` is ``drive``, ``walk``, ``bicycle``, or None for any other, named ``name``."""

    mode: str | None
    name: str
    length: int


def units_at(tokens: list[Token], index: int, end: int) -> tuple[str, int] | None:
    """``imperial`` or ``metric`` and the length of the phrase: "in fahrenheit", "°F", "celsius"."""
    start = index
    if tokens[index].low in ("in", "using", "with"):
        index += 1
    if index < end and tokens[index].low == "degrees":
        index += 1
    if index < end and tokens[index].text == "°" and index + 1 < end and tokens[index + 1].text in ("F", "C"):
        return ("imperial" if tokens[index + 1].text == "F" else "metric"), index + 2 - start
    units = words.UNITS.get(low_at(tokens, index, end))
    if units is None:
        return None
    length = index + 1 - start
    return units, length + (1 if low_at(tokens, index + 1, end) in ("units", "degrees") else 0)


def transport_at(tokens: list[Token], index: int, end: int) -> Transport | None:
    """A means of transport that begins at ``index``: "by bike", "on foot", "walking", "by public transport"."""
    start = index
    led = tokens[index].low in ("by", "on", "with", "in", "via", "using")
    if led:
        index += 1
        if low_at(tokens, index, end) in ("a", "my", "the"):
            index += 1
    low = low_at(tokens, index, end)
    if low == "public" and low_at(tokens, index + 1, end) in ("transport", "transit", "transportation"):
        return Transport(None, "public transport", index + 2 - start)
    # "the bus station" and "Rodeo Drive" are places: only a word written small, or one led in, is a means.
    if low in words.MODES and (led or tokens[index].text.islower() or index == 0 or tokens[index - 1].mark):
        return Transport(words.MODES[low], low, index + 1 - start)
    if low in words.OTHER_TRANSPORT and (led or low_at(tokens, index + 1, end) not in words.PLACE_NOUNS):
        return Transport(None, low, index + 1 - start)
    return None
