"""The tools of a run as a request may name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from leadhand.core.value import object_of, objects_of, text_of, texts_of

from .words import WORDS, stem_of

_USUAL = {"weather_tool": {"location", "day", "days"}, "directions_tool": {"origin", "destination"}}


class Offer(NamedTuple):
    """A tool: ``topic`` are the word stems of its name, ``about`` those of its description, too.

    ``texts`` and ``numbers`` are the required parameters of these types, ``others`` the further required ones. Built-in
    tools have no topic: what they are for is found by other words.
    """

    name: str
    topic: frozenset[str]
    about: frozenset[str]
    texts: list[str]
    numbers: list[str]
    others: list[str]


def offers(tools: Iterable[Mapping[str, Any]]) -> dict[str, Offer]:
    """Return the tools by name, in lower case."""
    found: dict[str, Offer] = {}
    for tool in tools:
        if not (name := text_of(tool.get("name"))) or name.casefold() in found:
            continue
        schema = object_of(tool.get("parameters"))
        given = object_of(schema.get("properties"))
        types: dict[str, list[str]] = {"string": [], "number": [], "": []}
        for each in texts_of(schema.get("required")):
            described = object_of(given.get(each))
            kinds = {text_of(part.get("type")) for part in (described, *objects_of(described.get("anyOf")))}
            kind = "number" if kinds & {"number", "integer"} else "" if kinds.isdisjoint(("string", "")) else "string"
            types["" if "enum" in described else kind].append(each)
        stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)] or [name]
        usual = name in _USUAL and _USUAL[name] <= given.keys()
        topic = frozenset(() if usual else [each for each in stems if each not in WORDS["not-a-topic"]] or stems)
        about = map(stem_of, re.findall(r"\w+", text_of(tool.get("description"))[:2_000].casefold()))
        found[name.casefold()] = Offer(name, topic, topic.union(about, given), *types.values())
    return found
