"""Find the tool that a clause names, and its arguments in the request by their names and types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from leadhand.core.value import list_of, object_of, objects_of, text_of, texts_of

from .clauses import Clause
from .tokens import Text, tokenize
from .words import ALIASES, WORDS, stem_of

USUAL = {"weather": "weather_tool", "route": "directions_tool"}
"""The built-in tools for what a request asks for."""
_PURPOSES = ("place", "day", "days", "units", "mode", "origin", "destination")
_ROLE_OF = {name: role for role in _PURPOSES for name in WORDS[role]}


class Offer(NamedTuple):
    """An available tool. ``topic`` are the word stems of its name; ``about`` those of its name and description.

    ``properties`` are its parameters, each with its schema.
    """

    name: str
    properties: Mapping[str, Any]
    required: list[str]
    topic: frozenset[str]
    about: frozenset[str]

    def texts(self) -> list[str]:
        """The required parameters that take free text."""
        return [name for name in self.required if not role_of(name) and takes(self.properties.get(name), "string")]


class Offers:
    """The tools of a run, found by the words of a request; built-in tools are found by their full name only.

    ``topics`` are the stems of the words in the names of the others.
    """

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        self.by_name: dict[str, Offer] = {}
        for tool in tools:
            if name := text_of(tool.get("name")):
                self.by_name.setdefault(name.casefold(), _offer(name, tool))
        self.topics = frozenset(stem for offer in self.by_name.values() for stem in offer.topic)

    def match(self, text: Text, clause: Clause) -> tuple[Offer | None, int, int]:
        """Return the tool that a clause names, and the tokens of the name: its first, and where it stops.

        A clause names a tool by its name, or by at least half of the words of its name.
        """
        lows = [text.tokens[index].low for index in range(clause.start, clause.stop)]
        stems, most = [stem_of(low) for low in lows], 0.49
        best: tuple[Offer | None, int, int] = (None, 0, 0)
        for name, offer in self.by_name.items():
            named = [at for at, low in enumerate(lows, start=clause.start) if low == name]
            hits = named or [at for at, stem in enumerate(stems, start=clause.start) if stem in offer.topic]
            share = 2.0 if named else len(hits) / max(len(hits), len(offer.topic), 1)
            if share > most:
                # The words of a name are close together; a later mention is part of the question.
                last = max(at for n, at in enumerate(hits) if n == 0 or at <= hits[n - 1] + 2)
                best, most = (offer, hits[0], last + 1), share
        return best


def _offer(name: str, tool: Mapping[str, Any]) -> Offer:
    stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)] or [name]
    kept = [stem for stem in stems if stem not in WORDS["not-a-topic"]] or stems
    topic = frozenset(kept if name not in USUAL.values() else ())
    about = topic | {stem_of(token.low) for token in tokenize(text_of(tool.get("description"))[:2_000])}
    parameters = object_of(tool.get("parameters"))
    required = texts_of(parameters.get("required"))
    described = object_of(parameters.get("properties"))
    properties = {each: object_of(described.get(each)) for each in (*described, *required)}
    return Offer(name, properties, required, topic, about)


def fill(offer: Offer, facts: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments for a tool by its JSON schema, and the required parameters that cannot be filled.

    ``facts`` are the values in the request by purpose (``place``, ``day``, …), those for a parameter by its name
    (``named``), its ``words`` and ``number``, and the ``text`` of the only required parameter that takes free text.
    Optional parameters are filled if the request mentions them.
    """
    args: dict[str, Any] = {}
    named = object_of(facts.get("named"))
    for name, schema in offer.properties.items():
        value = named.get(name) or _value(name, schema, facts, required=name in offer.required)
        if value is None and offer.texts() == [name] and not options_of(schema):
            value = facts.get("text") or None
        if value is not None:
            args[name] = value
    missing = [name for name in offer.required if name not in args and "default" not in offer.properties[name]]
    return args, missing


def role_of(name: str) -> str:
    """Return the purpose of a parameter by its name: ``place``, ``day``, …; "" for anything else."""
    low = name.casefold().replace("-", "_").removesuffix("_name")
    return _ROLE_OF.get(low) or _ROLE_OF.get(low.rpartition("_")[2] if "_" in low else "", "")


def takes(schema: object, kind: str) -> bool:
    """Whether a JSON schema allows values of the type ``kind``; a schema without a type allows all."""
    described = object_of(schema)
    if options := list_of(described.get("anyOf") or described.get("oneOf")):
        return any(takes(option, kind) for option in options)
    return kind in (list_of(described.get("type")) or [described.get("type", kind)])


def _value(name: str, schema: Mapping[str, Any], facts: Mapping[str, Any], *, required: bool) -> Any:
    role, options, number = role_of(name), options_of(schema), text_of(facts.get("number"))
    said = facts.get(role)
    if role in ("units", "mode"):
        names = ALIASES.get(text_of(said), frozenset())
        known = (option for option in options if str(option).casefold() in names)
        return next(known, None) if options else said or None
    if role == "days" and takes(schema, "integer"):
        return said if required or said != 1 else None
    if role == "destination" and required and not facts.get("origin"):
        said = said or facts.get("place")
    if role:
        return said if said and takes(schema, "string") and (not options or said in options) else None
    if options or not required or not number or takes(schema, "string"):
        return next((option for option in options if str(option).casefold() in facts["words"]), None)
    as_float = float(number) if takes(schema, "number") else None
    return int(number) if takes(schema, "integer") and number.isdigit() else as_float


def options_of(schema: object) -> list[Any]:
    """Return the allowed values if a schema lists them; for an optional parameter, they are inside ``anyOf``."""
    described = object_of(schema)
    listed = [list_of(option.get("enum")) for option in [described, *objects_of(described.get("anyOf"))]]
    return next(filter(None, listed), listed[0])
