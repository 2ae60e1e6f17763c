"""Find the tool that a clause names, and its arguments in the request by their names and types."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from leadhand.domain.value import list_of, object_of, objects_of, text_of, texts_of

from . import words
from .clauses import Clause
from .tokens import Text, tokenize

WEATHER_TOOL, DIRECTIONS_TOOL = "weather_tool", "directions_tool"
_ROLES = {
    "place": "location city place town where address area region near locality",
    "places": "locations cities places towns",
    "day": "day date when",
    "days": "days num_days number_of_days day_count forecast_days",
    "units": "units unit unit_system",
    "mode": "mode travel_mode transport transport_mode profile",
    "origin": "origin from start source from_location from_city from_place departure start_location",
    "destination": "destination to end target to_location to_city to_place arrival end_location",
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names.split()}

# These words say that something is a tool, not what it is about.
_EMPTY = words.word_set("tool tools get find check fetch list query show read data info api service call run make do")


class Offer(NamedTuple):
    """An available tool. ``topic`` are the word stems of its name; ``about`` those of its name and description."""

    name: str
    parameters: Mapping[str, Any]
    topic: frozenset[str]
    about: frozenset[str]

    @property
    def properties(self) -> dict[str, Any]:
        """The parameters that the schema describes."""
        return object_of(self.parameters.get("properties"))

    @property
    def roles(self) -> set[str]:
        """The purposes of its parameters."""
        return {role_of(name) for name in self.properties}

    @property
    def required(self) -> list[str]:
        """The required parameters."""
        return texts_of(self.parameters.get("required"))

    def texts(self) -> list[str]:
        """The required parameters that take free text."""
        return [name for name in self.required if not role_of(name) and takes(self.properties.get(name), "string")]


class Match(NamedTuple):
    """A tool that a clause names, and the first and last token of the name."""

    offer: Offer
    at: int
    last: int
    named: bool = False


class Offers:
    """The tools of a run, found by the words of a request; built-in tools are found by their full name only."""

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        self.by_name: dict[str, Offer] = {}
        for tool in tools:
            if name := text_of(tool.get("name")):
                self.by_name.setdefault(name, _offer(name, tool))
        self._by_folded_name = {name.casefold(): offer for name, offer in self.by_name.items()}
        self._by_stem: dict[str, list[Offer]] = {}
        for offer in self.by_name.values():
            for stem in offer.topic if offer.name not in (WEATHER_TOOL, DIRECTIONS_TOOL) else ():
                self._by_stem.setdefault(stem, []).append(offer)

    @property
    def topics(self) -> frozenset[str]:
        """The words of tool names, in singular and plural."""
        return frozenset(form for stem in self._by_stem for form in (stem, f"{stem}s", f"{stem}es"))

    def match(self, text: Text, clause: Clause) -> Match | None:
        """Return the tool that a clause names: by its name, or by at least half of the words of its name."""
        said: dict[str, tuple[Offer, int, int, int]] = {}
        previous = ""
        for index in range(clause.start, clause.stop):
            token = text.tokens[index]
            if not token.low:
                previous = ""
                continue
            named = self._by_folded_name.get(token.low)
            if named is not None and stem_of(token.low) not in named.topic:
                return Match(named, index, index, named=True)
            stem = stem_of(token.low)
            for key in {stem, previous + stem}:
                for offer in self._by_stem.get(key, ()):
                    _, first, last, count = said.get(offer.name, (offer, index, index, 0))
                    # The words of a name are close together; a later mention is part of the question.
                    said[offer.name] = (offer, first, index if index <= last + 2 else last, count + 1)
            previous = stem
        shares = [
            (min(1.0, count / len(offer.topic)), Match(offer, at, last)) for offer, at, last, count in said.values()
        ]
        share, best = max(shares, key=lambda found: found[0], default=(0.0, None))
        return best if share >= 0.5 else None


def _offer(name: str, tool: Mapping[str, Any]) -> Offer:
    stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)] or [name]
    topic = frozenset(stem for stem in stems if stem not in _EMPTY) or frozenset(stems)
    described = tokenize(text_of(tool.get("description"))[:2_000])
    about = topic | {stem_of(token.low) for token in described}
    return Offer(name, object_of(tool.get("parameters")), topic, about)


def stem_of(low: str) -> str:
    """Return the singular of a word, good enough to match "hotels" with ``hotel_tool``."""
    if len(low) > 4 and low.endswith(("ies", "ses", "xes", "zes", "ches", "shes")):
        return low[:-3] + "y" if low.endswith("ies") else low[:-2]
    return low[:-1] if len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is")) else low


class Facts(NamedTuple):
    """The values in the request for one call.

    ``named`` are values by parameter; ``words`` the words of the clause; ``numbers`` its numbers; ``text`` is the value
    of the only required parameter that takes free text. ``mode`` and ``day`` may be defaults.
    """

    place: str = ""
    places: tuple[str, ...] = ()
    day: str = ""
    days: int = 1
    units: str = ""
    mode: str = ""
    origin: str = ""
    destination: str = ""
    text: str = ""
    named: Mapping[str, Any] = {}
    words: frozenset[str] = frozenset()
    numbers: tuple[str, ...] = ()


def fill(offer: Offer, facts: Facts, defaults: Iterable[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments for a tool by its JSON schema, and the required parameters that cannot be filled.

    A schema without ``properties`` receives ``defaults``. Optional parameters are filled if the request mentions them.
    """
    required, properties = offer.required, offer.properties
    if "properties" not in offer.parameters:
        properties = dict.fromkeys([*defaults, *required])
    args: dict[str, Any] = {}
    missing: list[str] = []
    lone = [name for name in offer.texts() if name not in facts.named]
    for name in dict.fromkeys([*properties, *required]):
        schema = object_of(properties.get(name))
        value = _value(name, schema, facts, required=name in required)
        if value is None and lone == [name] and not options_of(schema):
            value = facts.text or None
        if value is not None:
            args[name] = value
        elif name in required and "default" not in schema:
            missing.append(name)
    return args, missing


def role_of(name: str) -> str:
    """Return the purpose of a parameter by its name: ``place``, ``day``, …; "" for anything else."""
    low = name.casefold().replace("-", "_").removesuffix("_name")
    return _ROLE_OF.get(low) or _ROLE_OF.get(low.rpartition("_")[2] if "_" in low else "", "")


def takes(schema: object, kind: str) -> bool:
    """Whether a JSON schema allows values of the type ``kind``; a schema without a type allows all."""
    described = object_of(schema)
    kinds, options = described.get("type"), list_of(described.get("anyOf") or described.get("oneOf"))
    if options and not kinds:
        return any(takes(option, kind) for option in options)
    return kind == kinds if isinstance(kinds, str) else kind in (list_of(kinds) or [kind])


def _value(name: str, schema: Mapping[str, Any], facts: Facts, *, required: bool) -> Any:
    role, options = role_of(name), options_of(schema)
    if name in facts.named:
        return _option(facts.named[name], (str(facts.named[name]).casefold(),), options)
    match role:
        case "units":
            return _option(facts.units, words.UNIT_NAMES.get(facts.units, ()), options)
        case "mode":
            return _option(facts.mode, words.MODE_NAMES.get(facts.mode, ()), options)
        case "days" if takes(schema, "integer"):
            return facts.days if facts.days > 1 or required else None
        case "places":
            return list(facts.places) if facts.places and takes(schema, "array") else None
        case "place" | "day" | "origin" | "destination":
            said = str(getattr(facts, role))
            if not said and role == "destination" and required and not facts.origin:
                said = facts.place
            if said and options:
                return _option(said, (said.casefold(), "today" if said == "now" else ""), options)
            return said if said and takes(schema, "string") else None
        case _:
            pass
    if options or not required or len(facts.numbers) != 1 or takes(schema, "string"):
        return next((option for option in options if str(option).casefold() in facts.words), None)
    if takes(schema, "integer") and facts.numbers[0].isdigit():
        return int(facts.numbers[0])
    return float(facts.numbers[0]) if takes(schema, "number") else None


def options_of(schema: object) -> list[Any]:
    """Return the allowed values if a schema lists them; for an optional parameter, they are inside ``anyOf``."""
    described = object_of(schema)
    listed = [list_of(option.get("enum")) for option in [described, *objects_of(described.get("anyOf"))]]
    return next(filter(None, listed), listed[0])


def _option(said: Any, names: Collection[str], options: list[Any]) -> Any:
    """Return a value under the name that the schema uses for it."""
    if not said or not options:
        return said or None
    known = [option for option in options if isinstance(option, str) and option.casefold() in names]
    return min(known, key=lambda option: option.casefold() != said, default=None)
