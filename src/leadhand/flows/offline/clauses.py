"""Split a request into clauses and find the places, days, units and means of transport in each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from leadhand.domain.days import When

from . import words
from .places import read_place
from .tokens import Text

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
    ``"then"``, or ``"."`` where a sentence begins or ends. ``mark`` is what ends the sentence ("" at the end of the
    text), ``mark_before`` what ended the one before, ``first`` whether the clause begins it, ``rest`` other tokens.
    """

    start: int
    before: str
    sentence: int
    mark_before: str
    mark: str
    first: bool
    stop: int = 0
    after: str = "."
    phrases: list[Phrase] = field(default_factory=list[Phrase])
    rest: list[int] = field(default_factory=list[int])

    def of(self, *kinds: str) -> list[Phrase]:
        """The phrases of some kinds, in order."""
        return [phrase for phrase in self.phrases if phrase.kind in kinds]

    @property
    def days(self) -> list[When]:
        """The days in the clause, without duplicates."""
        return list(dict.fromkeys(phrase.when for phrase in self.phrases if phrase.when is not None))

    def claim(self, phrase: Phrase) -> None:
        """Make a phrase of tokens that were not part of a phrase."""
        self.phrases = sorted([*self.phrases, phrase], key=lambda known: known.start)
        self.rest = [index for index in self.rest if not phrase.start <= index < phrase.stop]


def clauses(text: Text) -> Iterator[Clause]:
    """Read the clauses of a request, in order."""
    begin, mark_before, count = 0, "", len(text.tokens)
    for index in range(count + 1):
        if index == count or text.ends_sentence(index):
            mark = text.tokens[index].text if index < count else ""
            if begin < index:
                yield from _clauses_of_sentence(text, begin, index, mark_before, mark)
                mark_before = mark
            begin = index + 1


def _clauses_of_sentence(text: Text, begin: int, end: int, mark_before: str, mark: str) -> Iterator[Clause]:
    before, between, first = ".", False, True
    clause: Clause | None = None
    at = begin
    while at < end:
        token = text.tokens[at]
        between = between or token.low == "between"
        current = clause or Clause(at, before, begin, mark_before, mark, first)
        phrase = None if token.mark else _phrase_at(text, current, at, end, between=between)
        separator = "" if phrase else _separator(text, at)
        if separator and clause is not None:
            clause.after = before = separator
            yield clause
            clause = None
        elif separator and (before in (".", ",") or separator == "then"):
            before = separator  # ", and" is an "and"
        elif phrase is not None or (not token.mark and not separator):
            clause, first = current, False
            if phrase is None:
                clause.rest.append(at)
            else:
                clause.phrases.append(phrase)
                between = between and token.low != "and"
            clause.stop = phrase.stop if phrase is not None else at + 1
        at = phrase.stop if phrase is not None else at + 1
    if clause is not None:
        yield clause


def _separator(text: Text, index: int) -> str:
    """Return the separator of clauses at ``index``: ",", ":", "and", "then"; "" for other tokens."""
    token = text.tokens[index]
    if token.mark:
        parts = token.text in _LIST_MARKS or (token.text == "." and text.low(index - 1, index) == "vs")
        return {":": ":", "&": "and"}.get(token.text, ",") if parts else ""
    return ("then" if token.low == "then" else "and") if token.low in words.SEPARATORS else ""


def _phrase_at(text: Text, clause: Clause, index: int, end: int, *, between: bool) -> Phrase | None:
    """Return the phrase that begins at ``index``. ``between``: the next "and" joins the two ends of a route."""
    low, following = text.low(index, end), text.low(index + 1, end)
    if (day := text.day_at(index, end)) is not None:
        return Phrase("day", index, index + day[1], str(day[0]), when=day[0])
    if (means := _units_at(text, index, end) or _transport_at(text, index, end)) is not None:
        return means
    linked = low in words.WHERE or low in words.WAY or (between and low == "and")
    link = _LINKS.get(low, "via" if low in ("via", "through") else "in") if linked else ""
    if "there" in (low, following if linked else low):
        around = {text.low(index - 1, end), following}
        if not around & words.BESIDE_THERE:  # "is there rain" names no place
            return Phrase("there", index, index + linked + 1, link=link)
    place = None
    if linked:
        place = read_place(text, index + 1, end, small=low != "to" or _moves(text, clause))
    elif low not in words.KNOWN or low in words.NAMES_AFTER_ALL:
        place = read_place(text, index, end, small=False) if text.tokens[index].capital else None
    elif low == "the" and following not in text.topics:
        place = read_place(text, index, end, small=False)
    return None if place is None else Phrase("place", index, place.stop, place.name, link=link)


def _moves(text: Text, clause: Clause) -> bool:
    """Whether "to" leads to a place even in lower case, because the clause mentions a route."""
    if any(phrase.kind == "mode" or phrase.link in ("from", "to") for phrase in clause.phrases[-8:]):
        return True
    return any(text.tokens[at].low in words.ROUTE | words.MOVEMENT for at in clause.rest[-8:])


def _units_at(text: Text, index: int, end: int) -> Phrase | None:
    """Read "in fahrenheit", "°F", "in metric units"."""
    at = index + (text.low(index, end) in ("in", "using", "with"))
    at += text.low(at, end) == "degrees"
    units = words.UNITS.get(text.low(at, end))
    return Phrase("units", index, at + 1 + (text.low(at + 1, end) in ("units", "degrees")), units) if units else None


def _transport_at(text: Text, index: int, end: int) -> Phrase | None:
    """Read "by bike", "on foot", "walking", "by public transport"."""
    led = text.low(index, end) in ("by", "on", "with", "in", "via", "using")
    at = index + led
    at += led and text.low(at, end) in ("a", "my", "the")
    low, following = text.low(at, end), text.low(at + 1, end)
    if low == "public" and following in ("transport", "transit", "transportation"):
        return Phrase("transport", index, at + 2, "public transport")
    # "the bus station" and "Rodeo Drive" are places: a means is in lower case or follows a preposition.
    before = text.tokens[at - 1]
    if low in words.MODES and (led or text.tokens[at].text.islower() or at == 0 or before.mark):
        return Phrase("mode", index, at + 1, words.MODES[low])
    if low in words.OTHER_TRANSPORT and (led or following not in words.PLACE_NOUNS):
        return Phrase("transport", index, at + 1, low)
    return None
