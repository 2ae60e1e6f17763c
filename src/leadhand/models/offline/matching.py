"""Which of the tools on offer a piece of a request speaks of, by the words of the tool's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.models.json_values import object_of, text_of

from . import vocabulary as words
from .places import Text
from .reading import Piece
from .tokens import tokenize

WEATHER_TOOL = "weather_tool"
DIRECTIONS_TOOL = "directions_tool"

# They say that something is a tool, not what it is about.
_EMPTY = words.word_set(
    "tool tools get find check fetch list query show read give tell my the by for of and to in data info api service "
    "call run make use do current"
)


class Offer(NamedTuple):
    """A tool on offer. ``topic`` are the word stems of its name; ``about`` those of name and description."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    topic: frozenset[str]
    about: frozenset[str]


class Match(NamedTuple):
    """A tool that a piece speaks of: the first and the last token that say so, and the share of its name they say."""

    offer: Offer
    at: int
    last: int
    share: float
    by_name: bool = False


class Offers:
    """The tools of a run, ready to be looked up by the words of a request."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self.by_name: dict[str, Offer] = {}
        for tool in tools:
            offer = offer_of(tool)
            if offer is not None:
                self.by_name.setdefault(offer.name, offer)
        self._by_stem: dict[str, list[Offer]] = {}
        for offer in self.by_name.values():
            if offer.name not in (WEATHER_TOOL, DIRECTIONS_TOOL):
                for stem in offer.topic:
                    self._by_stem.setdefault(stem, []).append(offer)
        self._by_folded_name = {name.casefold(): offer for name, offer in self.by_name.items()}

    def match(self, text: Text, piece: Piece, head: str) -> Match | None:
        """The tool that the piece speaks of; ``head`` is its verb.

        A verb such as "book" asks for more than a look-up, so a tool has to mention it itself.
        """
        said: dict[str, tuple[Offer, int, int, int]] = {}
        previous = ""
        for index in range(piece.start, piece.stop):
            token = text.tokens[index]
            if token.mark:
                previous = ""
                continue
            named = self._by_folded_name.get(token.low)
            if named is not None:
                return Match(named, index, index, 1.0, by_name=True)
            stem = stem_of(token.low)
            for key in {stem, previous + stem}:
                for offer in self._by_stem.get(key, ()):
                    _, first, last, count = said.get(offer.name, (offer, index, index, 0))
                    # The words of a name stand together; a later mention is part of what is asked.
                    said[offer.name] = (offer, first, index if index <= last + 2 else last, count + 1)
            previous = stem
        best: Match | None = None
        for offer, first, last, count in said.values():
            share = min(1.0, count / len(offer.topic))
            if share < 0.5 or (head in words.OTHER_VERBS and stem_of(head) not in offer.about):
                continue
            if best is None or share > best.share:
                best = Match(offer, first, last, share)
        return best

    def about(self, *topics: str) -> Offer | None:
        """The first tool whose name speaks of one of ``topics``."""
        return next((offer for offer in self.by_name.values() if offer.topic & set(topics)), None)


def offer_of(tool: Mapping[str, Any]) -> Offer | None:
    """A tool as a brief describes it; None if it has no name."""
    name, description = text_of(tool.get("name")), text_of(tool.get("description"))
    if not name:
        return None
    stems = [stem_of(part) for part in _parts(name)]
    topic = frozenset(stem for stem in stems if stem not in _EMPTY) or frozenset(stems)
    about = topic | {stem_of(token.low) for token in tokenize(description[:2_000]) if not token.mark}
    return Offer(name, description, object_of(tool.get("parameters")), topic, about)


def _parts(name: str) -> list[str]:
    """The words of an identifier: ``hotelSearch_tool`` is hotel, search, tool."""
    spaced: list[str] = []
    for before, character in zip(" " + name, name, strict=False):
        if not character.isalnum():
            spaced.append(" ")
        else:
            spaced.append(f" {character}" if character.isupper() and before.islower() else character)
    return "".join(spaced).casefold().split()


def stem_of(low: str) -> str:
    """A word without its plural: enough to find "hotels" for ``hotel_tool``."""
    if len(low) > 4 and low.endswith("ies"):
        return low[:-3] + "y"
    if len(low) > 4 and low.endswith(("ses", "xes", "zes", "ches", "shes")):
        return low[:-2]
    if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")):
        return low[:-1]
    return low
