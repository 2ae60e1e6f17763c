"""Cuts a request into clauses and finds in each the places, days, units and means of transport it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from leadhand.domain.days import When

from . import words
from .places import Place, Text, read_place
from .tokens import Token, ends_sentence, low_at

_LIST_MARKS = frozenset(",:()[]/&—–")


class Phrase(NamedTuple):
    """Words of a clause that mean one thing: the tokens from ``start`` to before ``stop``.

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

    ``before`` and ``after`` are those separators: ``","``, ``":"``, ``"and"``, ``"then"``, or ``"."`` where a sentence
    begins or ends; ``mark`` is what ends the sentence ("" at the end of the text), ``first`` whether the clause begins
    it. ``rest`` are the tokens that are part of no phrase.
    """

    start: int
    stop: int
    before: str
    after: str
    sentence: int
    mark: str
    first: bool
    phrases: list[Phrase] = field(default_factory=list[Phrase])
    rest: list[int] = field(default_factory=list[int])

    def of(self, kind: str) -> list[Phrase]:
        """The phrases of one kind, in order."""
        return [phrase for phrase in self.phrases if phrase.kind == kind]

    def claim(self, phrase: Phrase) -> None:
        """Make a phrase of tokens that were part of none."""
        self.phrases = sorted([*self.phrases, phrase], key=lambda known: known.start)
        self.rest = [index for index in self.rest if not phrase.start <= index < phrase.stop]


def clauses(text: Text) -> Iterator[Clause]:
    """Read the clauses of a request, in order."""
    tokens = text.tokens
    sentence, begin = 0, 0
    for index in range(len(tokens) + 1):
        if index < len(tokens) and not ends_sentence(tokens, index):
            continue
        if begin < index:
            mark = tokens[index].text if index < len(tokens) else ""
            for clause in _clauses_of_sentence(text, begin, index, sentence, mark):
                at = clause.start
                while at < clause.stop:
                    at += _step(text, clause, at)
                yield clause
            sentence += 1
        begin = index + 1


def _clauses_of_sentence(text: Text, begin: int, end: int, sentence: int, mark: str) -> list[Clause]:
    found: list[Clause] = []
    before, start = ".", begin
    skip = begin  # behind what a bound comma or "and" binds
    for index in range(begin, end + 1):
        skip = max(skip, text.bound.get(index, 0))
        separator = "." if index == end else _separator(text.tokens, index)
        if index < end and (index in text.bound or index < skip or not separator):
            continue
        if start < index:
            found.append(Clause(start, index, before, separator, sentence, mark, first=not found))
            before = separator
        elif separator != "." and (before in (".", ",") or separator == "then"):
            before = separator  # ", and" is an "and"
        start = index + 1
    return found


def _separator(tokens: list[Token], index: int) -> str:
    """What the token at ``index`` parts two clauses with: ",", ":", "and", "then"; "" if it does not."""
    token = tokens[index]
    if token.mark:
        parts = token.text in _LIST_MARKS or (token.text == "." and index > 0 and tokens[index - 1].low == "vs")
        return {":": ":", "&": "and"}.get(token.text, ",") if parts else ""
    parts = token.low in words.SEPARATORS and not token.quoted
    return ("then" if token.low == "then" else "and") if parts else ""


def _step(text: Text, clause: Clause, index: int) -> int:
    """Read what begins at ``index``; return how many tokens that was."""
    token, end = text.tokens[index], clause.stop
    if token.mark and token.text != "°":
        return 1
    phrase = _phrase_at(text, clause, index, end)
    if phrase is None:
        clause.rest.append(index)
        return 1
    clause.phrases.append(phrase)
    return phrase.stop - index


def _phrase_at(text: Text, clause: Clause, index: int, end: int) -> Phrase | None:
    tokens = text.tokens
    low = tokens[index].low
    if (day := text.day_at(index, end)) is not None:
        return Phrase("day", index, index + day[1], str(day[0]), when=day[0])
    if (units := _units_at(tokens, index, end)) is not None:
        return units
    if (transport := _transport_at(tokens, index, end)) is not None:
        return transport
    linked = low in words.WHERE or low in words.WAY or index in text.bound
    link = _link("and" if index in text.bound else low) if linked else ""
    if low_at(tokens, index + linked, end) == "there":
        around = {low_at(tokens, index - 1, end), low_at(tokens, index + 1, end)}
        if not around & words.BESIDE_THERE:  # "is there rain" names no place
            return Phrase("there", index, index + linked + 1, link=link)
    place: Place | None = None
    if linked:
        place = read_place(text, index + 1, end, small=low != "to" or _moves(tokens, clause))
    elif low not in words.KNOWN or low in words.NAMES_AFTER_ALL:
        place = read_place(text, index, end, small=False) if tokens[index].capital else None
    elif low == "the" and low_at(tokens, index + 1, end) not in text.topics:
        place = read_place(text, index, end, small=False)
    return None if place is None else Phrase("place", index, place.stop, place.name, link=link)


def _link(low: str) -> str:
    if low in ("from", "between"):
        return "from"
    if low in ("to", "towards", "toward", "and"):
        return "to"
    return "via" if low in ("via", "through") else "in"


def _moves(tokens: list[Token], clause: Clause) -> bool:
    """Whether "to" leads to a place even if that is written small: something spoke of a way before."""
    if any(phrase.kind == "mode" or phrase.link in ("from", "to") for phrase in clause.phrases[-8:]):
        return True
    return any(tokens[at].low in words.ROUTE or tokens[at].low in words.MOVEMENT for at in clause.rest[-8:])


def _units_at(tokens: list[Token], index: int, end: int) -> Phrase | None:
    """Read "in fahrenheit", "°F", "in metric units"."""
    at = index + (tokens[index].low in ("in", "using", "with"))
    at += low_at(tokens, at, end) == "degrees"
    if at + 1 < end and tokens[at].text == "°" and tokens[at + 1].text in ("F", "C"):
        return Phrase("units", index, at + 2, "imperial" if tokens[at + 1].text == "F" else "metric")
    units = words.UNITS.get(low_at(tokens, at, end))
    if units is None:
        return None
    return Phrase("units", index, at + 1 + (low_at(tokens, at + 1, end) in ("units", "degrees")), units)


def _transport_at(tokens: list[Token], index: int, end: int) -> Phrase | None:
    """Read "by bike", "on foot", "walking", "by public transport"."""
    at = index
    led = tokens[index].low in ("by", "on", "with", "in", "via", "using")
    if led:
        at += 1
        at += low_at(tokens, at, end) in ("a", "my", "the")
    low, following = low_at(tokens, at, end), low_at(tokens, at + 1, end)
    if low == "public" and following in ("transport", "transit", "transportation"):
        return Phrase("transport", index, at + 2, "public transport")
    # "the bus station" and "Rodeo Drive" are places: only a word written small, or one led in, is a means.
    if low in words.MODES and (led or tokens[at].text.islower() or at == 0 or tokens[at - 1].mark):
        return Phrase("mode", index, at + 1, words.MODES[low])
    if low in words.OTHER_TRANSPORT and (led or following not in words.PLACE_NOUNS):
        return Phrase("transport", index, at + 1, low)
    return None
