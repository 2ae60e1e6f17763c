"""Split a request into clauses and find the places, days, units and means of transport in each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .days import When
from .places import read_place
from .tokens import Text
from .words import FUNCTION, MEANS, WORDS

_LIST_MARKS = frozenset(",:()[]/&—–")
_LINKS = {**dict.fromkeys(("from", "between"), "from"), **dict.fromkeys(("to", "towards", "toward", "and"), "to")}


class Phrase(NamedTuple):
    """Words of a clause with one meaning: the tokens from ``start`` to before ``stop``.

    ``kind`` is ``place``, ``day``, ``units``, ``mode``, ``transport`` (a means without directions) or ``there``;
    ``link`` the word before a place: ``in``, ``from``, ``to``, ``via`` or "" for a place without one.
    """

    kind: str
    start: int
    stop: int
    value: str = ""
    when: When | None = None
    link: str = ""


@dataclass
class Clause:
    """The tokens from ``start`` to before ``stop``, between two separators.

    ``sentence`` is where its sentence begins. ``before`` and ``after`` are the separators: ``","``, ``":"``, ``"and"``,
    ``"then"``, or ``"."`` where a sentence begins or ends. ``goes_on`` is whether the sentence can continue the one
    before: a question, or after a line or ";". ``rest`` are the tokens that are in no phrase, ``lows`` their words.
    """

    start: int
    before: str
    sentence: int
    goes_on: bool
    stop: int = 0
    after: str = "."
    phrases: list[Phrase] = field(default_factory=list[Phrase])
    rest: list[int] = field(default_factory=list[int])
    lows: set[str] = field(default_factory=set[str])

    def of(self, *kinds: str) -> list[Phrase]:
        """The phrases of some kinds, in order."""
        return [phrase for phrase in self.phrases if phrase.kind in kinds]


def clauses(text: Text) -> Iterator[Clause]:
    """Read the clauses of a request, in order."""
    begin, mark_before, count = 0, "", len(text.tokens)
    for index in range(count + 1):
        if index == count or text.ends_sentence(index):
            mark = text.tokens[index].text if index < count else ""
            yield from _clauses_of_sentence(text, begin, index, mark == "?" or mark_before in ("\n", ";"))
            begin, mark_before = index + 1, mark if begin < index else mark_before


def _clauses_of_sentence(text: Text, at: int, end: int, goes_on: bool) -> Iterator[Clause]:
    begin, before, between, listing = at, ".", False, False
    clause: Clause | None = None
    while at < end:
        token = text.tokens[at]
        between = between or token.low == "between"
        phrase = None if token.mark else _phrase_at(text, at, end, between=between, listing=listing)
        separator = "" if phrase else _separator(text, at)
        if separator and clause is not None:
            clause.after = before = separator
            yield clause
            clause, between = None, False
        elif separator and (before in (".", ",") or separator == "then"):
            before = separator  # ", and" is an "and"
        elif phrase is not None or (not token.mark and not separator):
            clause = clause or Clause(at, before, begin, goes_on)
            clause.stop = phrase.stop if phrase else at + 1
            if phrase is None and (token.low not in WORDS["whether"] or text.low(at - 1, end) not in WORDS["asks-if"]):
                clause.rest.append(at)
                clause.lows.add(token.low)
            elif phrase is not None:
                clause.phrases.append(phrase)
                between = between and token.low != "and"
        stays = separator or (phrase and phrase.kind == "day")
        listing = listing if stays else phrase is not None and phrase.kind == "place"
        at = phrase.stop if phrase else at + 1
    if clause is not None:
        yield clause


def _separator(text: Text, index: int) -> str:
    """Return the separator of clauses at ``index``: ",", ":", "and", "then"; "" for other tokens."""
    token = text.tokens[index]
    if token.mark:
        parts = token.text in _LIST_MARKS or (token.text == "." and text.low(index - 1, index) == "vs")
        return {":": ":", "&": "and"}.get(token.text, ",") if parts else ""
    return ("then" if token.low == "then" else "and") if token.low in WORDS["separator"] else ""


def _phrase_at(text: Text, index: int, end: int, *, between: bool, listing: bool) -> Phrase | None:
    """Return the phrase that begins at ``index``. ``between``: the next "and" joins the two ends of a route.

    ``listing`` is whether a place comes before, with nothing but separators and days after it.
    """
    low, following = text.low(index, end), text.low(index + 1, end)
    if (day := text.day_at(index, end)) is not None:
        return Phrase("day", index, index + day[1], str(day[0]), when=day[0])
    if (means := _means_at(text, index, end)) is not None:
        return means
    linked = low in WORDS["where"] or low in WORDS["way"] or (between and low == "and")
    link = _LINKS.get(low, "via" if low in ("via", "through") else "in") if linked else ""
    ends = not following or following in FUNCTION or text.day_at(index + 1, end) is not None
    if (linked and following == "there") or (low == "there" and ends):  # "is there rain" names no place
        return Phrase("there", index, index + linked + 1, link=link)
    # "lyon and nice" lists two places, "lyon and nice weather" does not.
    listed = listing and ends and bool(_separator(text, index - 1))
    place = read_place(text, index + linked, end, linked=linked or listed)
    return None if place is None else Phrase("place", index, place[1], place[0], link=link)


def _means_at(text: Text, index: int, end: int) -> Phrase | None:
    """Read "by bike", "on foot", "walking", "by public transport", "in degrees fahrenheit"."""
    led = text.low(index, end) in ("by", "on", "with", "in", "via", "using")
    at = index + led
    at += text.low(at, end) in (("a", "my", "the", "degrees", "public") if led else ("degrees", "public"))
    kind, value = MEANS.get(text.low(at, end), ("", ""))
    following = text.low(at + 1, end)
    if not kind or (kind == "transport" and not led and following in WORDS["place-noun"]):
        return None  # "the bus station" is a place
    return Phrase(kind, index, at + 1 + (following in ("units", "degrees")), value)
