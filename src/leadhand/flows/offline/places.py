"""Find place names in a sentence: their beginning, their end, and the regions that qualify them ("Paris, Texas")."""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple

from . import words
from .tokens import Text, Token

_MOST_CHARACTERS, _LONGEST_NAME, _LONGEST_SMALL_NAME = 150, 12, 4
_NAMES = words.read_words("regions.txt")
"""Names of regions, and their codes, by what they are; ``word-too`` are codes that are also words."""
_ENDS_LARGE_NAME = words.FUNCTION | words.WEATHER | words.SEPARATORS | words.WHERE | words.WAY


class Region(NamedTuple):
    """A region at the beginning of some words: the number of its ``words``, and its ``level`` (1 state, 2 country).

    The name of a ``city`` is one more place in a list, and a region only at its end.
    """

    words: int
    level: int
    city: bool = False
    code: bool = False


def read_place(text: Text, index: int, end: int, *, small: bool = True) -> tuple[str, int] | None:
    """Return the name of the place that begins at ``index`` and its end, or None; "the Louvre in Paris" is one place.

    A capitalised name ends at the first other word in lower case, a name in lower case (``small``) at a known one.
    """
    place = _read_name(text, index, end, small=small)
    if place is None or text.low(place[1], end) != "in" or text.day_at(place[1], end):
        return place
    wider = _read_name(text, place[1] + 1, end, small=False)
    return place if wider is None else (f"{place[0]}, {wider[0]}", wider[1])


def _read_name(text: Text, index: int, end: int, *, small: bool) -> tuple[str, int] | None:
    index += text.low(index, end) == "the"
    if index >= end or text.tokens[index].mark or not _begins_place(text, index, end, small=small):
        return None
    stop = _regions_end(text, index, _name_end(text, index, end))
    first, last = text.tokens[index], text.tokens[stop - 1]
    if last.end - first.start > _MOST_CHARACTERS:
        return None
    name = first.text if first.quoted else _tidy(text.source[first.start : last.end], last)
    return f"The {name}" if first.low == "hague" else name, stop


def _begins_place(text: Text, index: int, end: int, *, small: bool) -> bool:
    first, following = text.tokens[index], text.low(index + 1, end)
    if first.quoted or (first.text == "A" and (not following or following in words.WAY)):
        return True  # "from A to B"
    if text.day_at(index, end) is not None:
        return False
    # A number or a noun begins a name only if a name follows: "10 Downing Street", not "5 people".
    name_follows = bool(following) and text.tokens[index + 1].capital and following not in words.KNOWN
    if first.text[0].isdigit() or (first.capital and first.low in words.NAMES_AFTER_ALL):
        return name_follows
    noun = first.low in words.PLACE_NOUNS and not first.capital and not name_follows
    large = first.capital and first.low not in text.topics
    return first.low not in words.KNOWN and not noun and (small or large)


def _name_end(text: Text, index: int, end: int) -> int:
    tokens, at = text.tokens, index + 1
    if tokens[index].quoted:
        return at
    large = tokens[index].capital or tokens[index].text[0].isdigit()
    end = min(end, at + (_LONGEST_NAME if large else _LONGEST_SMALL_NAME))
    while at < end:
        token, before = tokens[at], tokens[at - 1]
        after = next((later for later in tokens[at + 1 : min(at + 3, end)] if later.low not in words.PARTICLES), token)
        if token.low == "and" and _level_of(f"{before.low}_and_{after.low}"):  # Trinidad and Tobago
            at += 1
        elif (token.mark and (token.text != "." or text.ends_sentence(at))) or token.quoted:
            break
        elif not token.mark:
            if text.day_at(at, end) is not None or (before.possessive and not (large and token.capital)):
                break
            particle = token.low in words.PARTICLES and after.capital and after.low not in words.KNOWN
            continues = token.capital or token.text[0].isdigit() or token.low in words.PLACE_NOUNS
            # "Rio de Janeiro" continues.
            if large and not particle and (token.low in _ENDS_LARGE_NAME or not continues):
                break
            if not large and (token.low in words.KNOWN or token.low in text.topics):
                break
        at += 1
    return at


def _regions_end(text: Text, item: int, stop: int) -> int:
    """Return the end of a name including its regions: "Paris, Texas", "London, Ontario, Canada", "Paris (Texas)"."""
    tokens, listed, level = text.tokens, item > 0 and text.tokens[item - 1].text == ",", 0
    while stop < len(tokens) and tokens[stop].text in (",", "("):
        region = _region_at(
            [token.text for token in takewhile(lambda each: not each.mark, tokens[stop + 1 : stop + 6])]
        )
        if region is None:
            break
        after, bracket = stop + 1 + region.words, tokens[stop].text == "("
        following = tokens[after] if after < len(tokens) else Token(".", "", 0, 0, mark=True)
        before = [token.low for token in tokens[max(item, stop - 4) : stop]]
        own = max([level, *(_level_of("_".join(before[start:])) for start in range(len(before)))])
        # "Boston, New York and Washington" lists three cities; "Buffalo, New York" at the end names one.
        in_list = region.city and not bracket and (listed or following.text == "," or following.low in ("and", "or"))
        if in_list or (bracket and following.text != ")") or (region.level <= own and not region.code):
            break
        dotted = following.text == "." and after < len(tokens) and not text.ends_sentence(after)  # Washington, D.C.
        item, stop, level = stop + 1, after + (bracket or dotted), max(region.level, own)
    return stop


def _region_at(words: list[str]) -> Region | None:
    """Return the region whose name or code ``words`` begin with, the longest if there are several."""
    for count in range(min(4, len(words)), 0, -1):
        name = "_".join(words[:count]).casefold()
        if level := _level_of(name):
            return Region(count, level, city=name in _NAMES["city-too"])
    code = words[0].upper() if words and (words[0].isupper() or words[0].casefold() not in _NAMES["word-too"]) else ""
    level = 2 if code in _NAMES["country-code"] else 1 if code in _NAMES["state-code"] else 0
    return Region(1, level, code=True) if level else None


def _level_of(name: str) -> int:
    """Return the level of a name on its own: 0 for a place, 1 for a state, 2 for a country."""
    return 1 if name in _NAMES["state"] else 2 if name in _NAMES["country"] else 0


def _tidy(written: str, last: Token) -> str:
    """Return the display name: one space between words, no trailing possessive, capitalised."""
    if last.possessive:
        written = written[: len(written) - 2]
    name = " ".join(written.split()).replace(" ,", ",").replace(" (", ", ").removesuffix(")")
    if name.islower():
        name = " ".join(part if part in words.PARTICLES else part[:1].upper() + part[1:] for part in name.split(" "))
    elif name.isupper() and len(name) > 3 and name.isascii():
        name = name.title()
    return name[:1].upper() + name[1:]
