"""The tools of a run as a request may name them, and their arguments by the types of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from leadhand.core.value import list_of, object_of, objects_of, text_of, texts_of

from .words import WORDS, stem_of

_USUAL = {"weather_tool": {"location", "day", "days"}, "directions_tool": {"origin", "destination"}}


class Offer(NamedTuple):
    """A tool: ``topic`` are the word stems of its name, ``about`` those of its description, too.

    Built-in tools have no topic: what they are for is found by other words.
    """

    name: str
    properties: Mapping[str, Any]
    required: list[str]
    topic: frozenset[str]
    about: frozenset[str]

    def texts(self) -> list[str]:
        """The required parameters that take free text."""
        return [name for name in self.required if name not in WORDS["day"] and _takes(self.properties[name], "string")]

    def fill(self, texts: Sequence[str], numbers: Sequence[str], day: str, words: set[str]) -> dict[str, Any] | str:
        """Return arguments with these values, in order, or the name of a required parameter that none of them fits."""
        args: dict[str, Any] = {}
        left, digits = list(texts), list(numbers)
        for name, schema in self.properties.items():
            options = [
                option for each in (schema, *objects_of(schema.get("anyOf"))) for option in list_of(each.get("enum"))
            ]
            if name in self.texts() and left:
                args[name] = left.pop(0)
            elif name in WORDS["day"] and day:
                args[name] = day
            elif option := next((each for each in options if str(each).casefold() in words), None):
                args[name] = option
            elif name in self.required and digits and _takes(schema, "number"):
                args[name] = float(digits.pop(0))
            elif name in self.required and digits and digits[0].isdigit() and _takes(schema, "integer"):
                args[name] = int(digits.pop(0))
            elif name in self.required and "default" not in schema:
                return name
        return args


def offers(tools: Iterable[Mapping[str, Any]]) -> dict[str, Offer]:
    """Return the tools by name, in lower case."""
    found: dict[str, Offer] = {}
    for tool in tools:
        if name := text_of(tool.get("name")):
            stems = [stem_of(part.casefold()) for part in re.findall(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*", name)] or [name]
            about = map(stem_of, re.findall(r"\w+", text_of(tool.get("description"))[:2_000].casefold()))
            schema = object_of(tool.get("parameters"))
            required, given = texts_of(schema.get("required")), object_of(schema.get("properties"))
            properties = {each: object_of(given.get(each)) for each in (*given, *required)}
            usual = name in _USUAL and _USUAL[name] <= properties.keys()
            topic = frozenset(() if usual else [each for each in stems if each not in WORDS["not-a-topic"]] or stems)
            found.setdefault(name.casefold(), Offer(name, properties, required, topic, topic.union(about)))
    return found


def _takes(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether a JSON schema allows values of the type ``kind``; one without a type allows text."""
    kinds = [schema.get("type"), *(each.get("type") for each in objects_of(schema.get("anyOf")))]
    return kind in kinds or (kind == "string" and not any(kinds) and "enum" not in schema)
