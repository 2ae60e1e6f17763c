"""The tools of a run as a request may name them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from leadhand.core.value import object_of, objects_of, text_of, texts_of

from .words import WORDS, stem_of

_USUAL = {"weather_tool": {"location", "day", "days"}, "directions_tool": {"origin", "destination"}}


class Offer(NamedTuple):
    """A tool: ``topic`` are the word stems of its name (none for a built-in tool), ``about`` those of its description.

    ``texts`` and ``numbers`` are its required parameters of these types, ``others`` the further required ones.
    """

    name: str
    topic: frozenset[str]
    about: frozenset[str]
    texts: list[str]
    numbers: list[str]
    others: list[str]


def offer_of(tool: Mapping[str, Any]) -> Offer:
    """Return a tool of a brief as a request may name it."""
    name, schema = text_of(tool.get("name")), object_of(tool.get("parameters"))
    given, found = object_of(schema.get("properties")), dict[str, list[str]](text=[], number=[], other=[])
    for each in texts_of(schema.get("required")):
        described = object_of(given.get(each))
        kinds = {text_of(part.get("type")) for part in (described, *objects_of(described.get("anyOf")))} - {"null"}
        kind = "number" if kinds & {"number", "integer"} else "text" if kinds <= {"string", ""} else "other"
        found["other" if "enum" in described else kind].append(each)
    stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)]
    usual = name in _USUAL and _USUAL[name] <= given.keys()
    topic = frozenset(() if usual else [each for each in stems if each not in WORDS["not-a-topic"]] or [*stems, name])
    about = map(stem_of, re.findall(r"\w+", text_of(tool.get("description"))[:2_000].casefold()))
    return Offer(name, topic, topic.union(about, given, [name.casefold()]), *found.values())
