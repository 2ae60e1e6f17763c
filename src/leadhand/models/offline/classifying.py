"""Decides what kind of thing a piece of a request is, from what was read in it."""

from __future__ import annotations

from enum import Enum, auto

from . import vocabulary as words
from .matching import DIRECTIONS_TOOL, WEATHER_TOOL, Match
from .places import Place, Text, read_place
from .reading import Found, Reading, bare_place, claim, place_before

# Two-word names begin with these; other pairs before "to" are a verb and a name ("Introduce Anna to Bob").
_NAME_STARTS = words.word_set(
    """new san los las saint st santa el la le les mount cape port fort buenos rio sao hong tel abu kuala ho addis dar
    north south east west upper lower great little old gare washington salt baton grand den the ann palo kansas mexico
    panama"""
)


class Kind(Enum):
    """What a piece is."""

    GREETING = auto()
    STATEMENT = auto()
    WEATHER = auto()
    ROUTE = auto()
    TOOL = auto()
    FRAGMENT = auto()
    """A place, a day or a means alone: it goes on with what was asked before."""
    OTHER = auto()


def head_verb(text: Text, reading: Reading) -> str:
    """The verb that says what is wanted: "book" in "please can you book …"; "" if asking to be told."""
    tokens, piece = text.tokens, reading.piece
    for index in range(piece.start, piece.stop):
        token = tokens[index]
        if token.mark or token.low in words.PREAMBLE:
            continue
        told = index + 1 < piece.stop and tokens[index + 1].low in ("me", "us")
        return "" if told and token.low in words.TELLING else token.low
    return ""


def classify(
    text: Text, reading: Reading, match: Match | None, head: str, *, after_route: bool, listening: bool
) -> Kind:
    """The kind of a piece.

    ``after_route``: the ask before was about a way, so that "Orly to Versailles" is another. ``listening``: plain
    statements ("I'm in Paris") tell something and ask nothing.
    """
    if match is not None and match.by_name:
        return {WEATHER_TOOL: Kind.WEATHER, DIRECTIONS_TOOL: Kind.ROUTE}.get(match.offer.name, Kind.TOOL)
    if listening and _is_statement(text, reading):
        return Kind.STATEMENT
    if head in words.OTHER_VERBS:
        return Kind.TOOL if match is not None else Kind.OTHER
    candidates: list[tuple[int, int, Kind]] = []
    if reading.weather_at >= 0:
        candidates.append((reading.weather_at, 0, Kind.WEATHER))
    if (at := route_at(text, reading, after_route=after_route)) >= 0:
        candidates.append((at, 1, Kind.ROUTE))
    if match is not None:
        candidates.append((match.at, 2, Kind.TOOL))
    if candidates:
        return min(candidates)[2]
    if _is_greeting(text, reading):
        return Kind.GREETING
    return Kind.FRAGMENT if _is_fragment(text, reading) else Kind.OTHER


def _is_statement(text: Text, reading: Reading) -> bool:
    tokens, piece = text.tokens, reading.piece
    first = tokens[piece.start].low
    if first in words.SUBORDINATE or (first in words.ASIDES and piece.before == ","):
        return True
    if piece.mark == "?":
        return False
    second = tokens[piece.start + 1].low if piece.start + 1 < piece.stop else ""
    tells = first in words.STATEMENTS or (first in ("i", "we") and second in words.STATEMENT_VERBS)
    if not tells and first not in words.QUESTION_STARTS:
        # "Paris is lovely."
        tells = any(tokens[index].low in ("is", "are", "was", "were") for index in reading.rest[1:6])
    if not tells:
        return False
    return not any(tokens[index].low in words.ASKING for index in range(piece.start, piece.stop))


def _is_greeting(text: Text, reading: Reading) -> bool:
    claimed = (
        reading.places or reading.days or reading.mode or reading.units or reading.pronoun or reading.other_transport
    )
    first = text.tokens[reading.piece.start].low
    if not claimed and len(reading.rest) <= 3 and first in words.SALUTATIONS:
        return True  # "Hello Bob"
    return not claimed and all(
        text.tokens[index].low in words.GREETING or text.tokens[index].low in words.FILLER for index in reading.rest
    )


def _is_fragment(text: Text, reading: Reading) -> bool:
    said = reading.places or reading.days or reading.mode or reading.units or reading.pronoun
    return bool(said) and only_filler(text, reading)


def only_filler(text: Text, reading: Reading) -> bool:
    """Whether no word is left over that says something."""
    return all(text.tokens[index].low in words.FILLER for index in reading.rest)


def lone_place(text: Text, reading: Reading, *, small: bool) -> Place | None:
    """The place that is all there is to a piece ("Lyon", "and New York tomorrow"); its words are claimed."""
    if reading.other_transport or reading.weather_at >= 0 or reading.gear_at >= 0:
        return None
    place = bare_place(text, reading, small=small)
    if place is None:
        return None
    left = [index for index in reading.rest if not place.start <= index < place.stop]
    if any(text.tokens[index].low not in words.FILLER for index in left):
        return None
    claim(reading, Found("bare", place))
    return place


def route_at(text: Text, reading: Reading, *, after_route: bool) -> int:
    """Where a piece begins to speak of a way, else -1. Claims the ends of "Paris to Lyon" as it finds them."""
    tokens = text.tokens
    origin, goal = reading.place("from", "between"), reading.place("to", "and")
    lows = {tokens[index].low for index in reading.rest[:64]}
    far = "far" in lows and "how" in lows
    moving = bool(reading.mode or reading.other_transport or reading.route_at >= 0 or far or lows & words.MOVEMENT)
    first = min((found.place.start for found in reading.places), default=reading.piece.start)
    moves = (index for index in reading.rest[:64] if tokens[index].low in words.MOVEMENT)
    at = reading.route_at if reading.route_at >= 0 else min(first, next(moves, first))
    if reading.route_at >= 0 or far:
        if origin is not None and goal is None and (place := _end_before(text, reading, origin)) is not None:
            claim(reading, Found("to", place))
        elif origin is None and goal is not None:
            _claim_origin_before(text, reading, goal, sure=True)
        return at
    if origin is not None and goal is not None:
        return at if moving or after_route or only_filler(text, reading) else -1
    if goal is not None and _claim_origin_before(text, reading, goal, sure=moving or after_route):
        return at
    if goal is not None and (bool(reading.mode) or ("how" in lows and _moves_towards(text, reading, goal))):
        return at
    if origin is not None and (reading.mode or (reading.pronoun == "there" and moving)):
        return at
    if (
        reading.pronoun == "there"
        and "how" in lows
        and lows & words.MOVEMENT
        and not lows - words.MOVEMENT - words.STOP
    ):
        return at
    return -1


def _end_before(text: Text, reading: Reading, origin: Place) -> Place | None:
    """Versailles in "how far is Versailles from the Louvre"."""
    return place_before(text, reading, _link_index(text, origin), small=True) or bare_place(text, reading, small=False)


def _claim_origin_before(text: Text, reading: Reading, goal: Place, *, sure: bool) -> bool:
    """Finds Paris in "Paris to Lyon". Unless something spoke of a way (``sure``), nothing else may stand there."""
    place = place_before(text, reading, _link_index(text, goal), small=sure)
    if place is None:
        return False
    left = [index for index in reading.rest if not place.start <= index < place.stop]
    if not sure:
        name_words = place.name.split()
        if len(name_words) > 1 and "," not in place.name and name_words[0].casefold() not in _NAME_STARTS:
            return False
        if any(text.tokens[index].low not in words.FILLER for index in left):
            return False
    reading.rest = left
    reading.places.insert(0, Found("from", place))
    return True


def _moves_towards(text: Text, reading: Reading, goal: Place) -> bool:
    """Whether it is a movement that leads to ``goal``: "get to Orly", but not "tickets to the Louvre"."""
    index = _link_index(text, goal) - 1
    if index < reading.piece.start:
        return False
    low = text.tokens[index].low
    if any(text.tokens[at].low == "from" for at in reading.rest[:16]):
        return True  # "from the hotel to Orly": a way, though its start is no name
    return (
        low in words.MOVEMENT or index not in reading.rest or low in ("best", "quickly", "fastest", "quickest", "there")
    )


def _link_index(text: Text, place: Place) -> int:
    """Where the preposition before a place stands."""
    index = place.start - 1
    while index > 0 and text.tokens[index].low in ("the", "both", "city", "town", "village", "of", '"', "“"):
        index -= 1
    return max(index, 0)


def named_place(text: Text, reading: Reading, index: int) -> Place | None:
    """The place right behind the token at ``index``: "hotels Paris"."""
    return read_place(text, index + 1, reading.piece.stop, small=False)
