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

    ``kinds`` are the types of its required parameters: ``text``, ``number``, ``integer`` or ``other``.
    """

    name: str
    topic: frozenset[str]
    about: frozenset[str]
    kinds: dict[str, str]

    @property
    def texts(self) -> list[str]:
        """The required parameters that take text."""
        return [name for name, kind in self.kinds.items() if kind == "text"]


def offer_of(tool: Mapping[str, Any]) -> Offer:
    """Return a tool of a brief as a request may name it."""
    name, schema = text_of(tool.get("name")), object_of(tool.get("parameters"))
    given, found = object_of(schema.get("properties")), dict[str, str]()
    for each in texts_of(schema.get("required")):
        described = object_of(given.get(each))
        kinds = {text_of(part.get("type")) for part in (described, *objects_of(described.get("anyOf")))} - {"null", ""}
        kind = next(
            (kind for kind in ("number", "integer") if kind in kinds), "text" if kinds <= {"string"} else "other"
        )
        found[each] = "other" if "enum" in described else kind
    stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)]
    usual = name in _USUAL and _USUAL[name] <= given.keys()
    topic = frozenset(() if usual else [each for each in stems if each not in WORDS["not-a-topic"]] or [*stems, name])
    about = map(stem_of, re.findall(r"\w+", text_of(tool.get("description"))[:2_000].casefold()))
    return Offer(name, topic, topic.union(about, given, [name.casefold()]), found)
