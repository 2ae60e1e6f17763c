"""Reads one piece of a sentence: the places, days, units and means of transport it names, what it seems to ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from . import vocabulary as words
from .days import When, day_at
from .phrases import transport_at, units_at
from .places import Place, Text, read_place, separates
from .tokens import Token, ends_sentence


class Piece(NamedTuple):
    """The tokens from ``start`` to before ``stop`` that stand between two separators.

    ``before`` and ``after`` are those separators: ``","``, ``":"``, ``"and"``, ``"then"``, or ``"."`` where a sentence
    begins or ends; ``sentence`` counts sentences; ``mark`` is what ends the sentence (``"?"``, ``"."``, …, "");
    ``first`` is whether the piece begins it, be it behind an "and".
    """

    start: int
    stop: int
    before: str
    after: str
    sentence: int
    mark: str
    first: bool


class Found(NamedTuple):
    """A place and the word before it: ``in``, ``from``, ``to``, ``via``, ``and`` (the far end of "between")."""

    link: str
    place: Place


@dataclass
class Reading:
    """What a piece says. Positions are indexes of tokens; ``rest`` are the words that nothing else claimed."""

    piece: Piece
    places: list[Found] = field(default_factory=list[Found])
    pronoun: Literal["", "there", "here", "both"] = ""
    pronoun_link: str = ""
    days: list[When] = field(default_factory=list[When])
    day_at: int = -1
    units: str = ""
    mode: str = ""
    mode_at: int = -1
    other_transport: str = ""
    weather_at: int = -1
    route_at: int = -1
    gear_at: int = -1
    rest: list[int] = field(default_factory=list[int])

    def place(self, *links: str) -> Place | None:
        """The first place behind one of ``links``."""
        return next((found.place for found in self.places if found.link in links), None)


def pieces(text: Text) -> Iterator[Piece]:
    """The pieces of the request, in order; empty ones are skipped."""
    tokens = text.tokens
    sentence, begin = 0, 0
    for index in range(len(tokens) + 1):
        if index < len(tokens) and not ends_sentence(tokens, index):
            continue
        mark = tokens[index].text if index < len(tokens) else ""
        if begin < index:
            yield from _pieces_of_sentence(text, begin, index, sentence, mark)
            sentence += 1
        begin = index + 1


def _pieces_of_sentence(text: Text, begin: int, end: int, sentence: int, mark: str) -> Iterator[Piece]:
    before, start = ".", begin
    found: Piece | None = None
    for index in range(begin, end + 1):
        if index < end and not separates(text, index):
            continue
        separator = "." if index == end else _separator(text.tokens[index])
        if start < index:
            if found is not None:
                yield found
            found = Piece(start, index, before, separator, sentence, mark, first=found is None)
            before = separator
        elif separator != ".":
            # ", and" is an "and"; "and then" a "then"; a colon outweighs neither.
            before = separator if before in (".", ",") or separator == "then" else before
        start = index + 1
    if found is not None:
        yield found


def _separator(token: Token) -> str:
    if token.text == ":":
        return ":"
    if token.mark:
        return "and" if token.text == "&" else ","
    return "then" if token.low == "then" else "and"


def read(text: Text, piece: Piece) -> Reading:
    """Walks a piece once, from left to right."""
    tokens, end = text.tokens, piece.stop
    reading = Reading(piece)
    index = piece.start
    while index < end:
        index += _step(text, reading, index, end)
    _weigh(tokens, reading)
    if reading.weather_at >= 0 and not reading.places:
        _place_beside(text, reading, reading.weather_at)
    return reading


def _step(text: Text, reading: Reading, index: int, end: int) -> int:
    """Claims what begins at ``index``; how many tokens that was."""
    tokens = text.tokens
    token = tokens[index]
    if token.mark and token.text != "°":
        return 1
    if (day := day_at(tokens, index, end, text.today)) is not None:
        if day.when not in reading.days:
            reading.days.append(day.when)
        reading.day_at = index
        return day.length
    if (units := units_at(tokens, index, end)) is not None:
        reading.units = units[0]
        return units[1]
    if (transport := transport_at(tokens, index, end)) is not None:
        if transport.mode is None:
            reading.other_transport = reading.other_transport or transport.name
        else:
            reading.mode, reading.mode_at = transport.mode, index
        return transport.length
    if (taken := _pronoun(text, reading, index, end)) > 0:
        return taken
    link = "and" if index in text.bound else token.low
    if link in words.WHERE or link in words.WAY or index in text.bound:
        place = read_place(text, index + 1, end, small=link != "to" or _expects_goal(reading))
        if place is not None:
            reading.places.append(Found(_kind(link), place))
            return place.stop - index
    if token.low in words.WEATHER or token.low in words.WEATHER_WHEN_ASKED:
        if reading.weather_at < 0 or tokens[reading.weather_at].low in words.WEATHER_WHEN_ASKED:
            reading.weather_at = index if reading.weather_at < 0 or token.low in words.WEATHER else reading.weather_at
        return 1
    if token.low in words.WEATHER_GEAR and reading.gear_at < 0:
        reading.gear_at = index
        return 1
    if token.low in words.ROUTE:
        reading.route_at = index if reading.route_at < 0 else reading.route_at
        return 1
    reading.rest.append(index)
    return 1


def _kind(link: str) -> str:
    """The links that matter: where something is, and the two ends of a way."""
    if link in ("from", "via", "and", "between"):
        return link
    if link in ("to", "towards", "toward"):
        return "to"
    return "via" if link == "through" else "in"


def _expects_goal(reading: Reading) -> bool:
    """Whether "to" leads to a place even if it is written small: something spoke of a way before."""
    return reading.route_at >= 0 or bool(reading.mode) or any(found.link in ("from", "to") for found in reading.places)


def _pronoun(text: Text, reading: Reading, index: int, end: int) -> int:
    """Claims "there", "here" and "both cities", with the word before: how many tokens."""
    tokens = text.tokens
    link, at = "", index
    if tokens[at].low in words.WHERE or tokens[at].low in words.WAY:
        link, at = tokens[at].low, at + 1
    if at >= end:
        return 0
    low = tokens[at].low
    if low == "there" and not tokens[at].possessive:
        around = {tokens[at - 1].low if at else "", tokens[at + 1].low if at + 1 < end else ""}
        if around & {"is", "are", "was", "were", "will", "be", "if", "any"}:
            return 0  # "is there rain": there is no "there" in it
        reading.pronoun, reading.pronoun_link = "there", _kind(link) if link else ""
        return at + 1 - index
    if low == "here" or (link and low in ("me", "home", "my")):
        reading.pronoun, reading.pronoun_link = "here", _kind(link) if link else ""
        return at + 1 - index
    if low in ("both", "each") and link:
        following = tokens[at + 1] if at + 1 < end else None
        if following is None or following.low in (
            "cities",
            "places",
            "towns",
            "ends",
            "of",
            "locations",
            "case",
            "cases",
        ):
            reading.pronoun, reading.pronoun_link = "both", _kind(link)
            return at + (1 if following is None else 2) - index
    return 0


def _weigh(tokens: list[Token], reading: Reading) -> None:
    """Drops weather words that ask for no weather: a hot meal, a sales forecast, an umbrella to be bought."""
    piece, at = reading.piece, reading.weather_at
    if at >= 0 and tokens[at].low in ("forecast", "forecasts") and at > piece.start:
        if tokens[at - 1].low in words.NO_WEATHER_FORECAST:
            reading.weather_at = -1
    elif at >= 0 and tokens[at].low in words.WEATHER_WHEN_ASKED:
        first = tokens[piece.start].low
        around = range(max(piece.start, at - 8), min(piece.stop, at + 4))
        asks = (
            first in words.QUESTION_STARTS
            or any(
                tokens[i].low in ("it", "it's", "it'll", "there", "there'll", "any", "be", "get", "going")
                for i in around
            )
            or at == piece.start
        )
        if not asks:
            reading.weather_at = -1
    if reading.weather_at < 0 and tokens[piece.start].low in ("what", "should"):
        reading.weather_at = next((index for index in reading.rest[:16] if tokens[index].low == "wear"), -1)
    if reading.weather_at < 0 and reading.gear_at >= 0:
        nearby = range(max(piece.start, reading.gear_at - 4), reading.gear_at)
        alone = reading.gear_at == piece.start and piece.mark == "?"
        if alone or any(tokens[i].low in words.GEAR_VERBS for i in nearby):
            reading.weather_at = reading.gear_at


def place_before(text: Text, reading: Reading, index: int, *, small: bool) -> Place | None:
    """The place whose last word stands right before ``index`` and that no preposition claimed: "Paris weather"."""
    tokens = text.tokens
    free = set(reading.rest[-16:]) if reading.rest and reading.rest[-1] < index else set(reading.rest)
    start = index
    while (start - 1 in free or (start - 1 in text.bound and tokens[start - 1].mark)) and index - start < 8:
        if tokens[start - 1].low in words.STOP:
            break
        if tokens[start - 1].low in words.WEATHER_ADJECTIVES or (tokens[start - 1].possessive and start != index):
            break
        start -= 1
    for begin in range(start, index):
        place = read_place(text, begin, index, small=small and begin == start)
        if place is not None and place.stop == index:
            return place
    return None


def _place_beside(text: Text, reading: Reading, keyword: int) -> None:
    """Finds the place of a weather question that has no "in": before the keyword, behind it, or written large."""
    place = place_before(text, reading, keyword, small=True)
    if place is None and keyword + 1 in reading.rest[:64]:
        place = read_place(text, keyword + 1, reading.piece.stop)
    if place is None:
        place = bare_place(text, reading, small=False)
    if place is not None:
        claim(reading, Found("in", place))


def bare_place(text: Text, reading: Reading, *, small: bool) -> Place | None:
    """The first free run of words that can be a place; one written small must be all that is left."""
    for index in reading.rest[:32]:
        if text.tokens[index].low in words.STOP:
            continue
        large = text.tokens[index].capital
        if not large and not small:
            continue
        place = read_place(text, index, reading.piece.stop, small=small)
        if place is not None:
            return place
        if not large:
            return None
    return None


def claim(reading: Reading, found: Found) -> None:
    """Takes the words of a place out of those that are left over."""
    reading.places.append(found)
    reading.rest = [index for index in reading.rest if not found.place.start <= index < found.place.stop]
