"""The size of a JSON schema with its references: a short one can stand for so many parts that no check of it ends."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from leadhand.core.value import Json, is_list, is_object

MOST_PARTS = 100_000
"""Parts of a schema, at most, each counted wherever it is referred to. A check takes about a microsecond for each."""
_INDEX = re.compile(r"\+?0*([0-9]{1,9})")
"""A place in a list, also as jsonschema_rs reads it: +1, 01."""
_DEFINITIONS = ("$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def is_too_large(schema: Mapping[str, Json]) -> bool:
    """Whether a schema has more than :data:`MOST_PARTS` parts. One that refers to itself is counted once on its way.

    So has a schema with so many identifiers and references that to look for what they stand for takes as long.
    """
    every = list(_objects(schema))
    places = _Places([schema, *(each for each in every if each is not schema and "$id" in each)], every)
    if sum(places.looks(name) for each in every for name in _referred(each)) > MOST_PARTS:
        return True
    counted: dict[int, int] = {}

    def count(value: Json) -> int:
        if is_list(value):
            return sum(map(count, value))
        if not is_object(value):
            return 0
        if id(value) not in counted:
            counted[id(value)] = 0  # what refers to itself
            inner = sum(count(each) for name, each in value.items() if name not in _DEFINITIONS)
            counted[id(value)] = 1 + inner + sum(count(each) for name in _referred(value) for each in places.of(name))
        return counted[id(value)]

    try:
        return count(dict(schema)) > MOST_PARTS
    except RecursionError:  # a chain of references
        return True


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    waiting: list[Json] = [value]
    while waiting:
        each = waiting.pop()
        if is_object(each):
            yield each
            waiting += each.values()
        elif is_list(each):
            waiting += each


def _referred(part: Mapping[str, Json]) -> list[str]:
    """The parts of the schema that one refers to: #/$defs/name, #name."""
    return [unquote(str(part[name]).partition("#")[2]) for name in _REFERENCES if name in part]


class _Places:
    """What a reference may stand for. Its document is not looked at: each part of the schema may be that one."""

    def __init__(self, roots: list[Mapping[str, Json]], every: list[Mapping[str, Json]]) -> None:
        self._roots = roots
        self._named: dict[str, list[Mapping[str, Json]]] = defaultdict(list)
        for each in every:
            for name in {str(each.get(kind)) for kind in ("$anchor", "$dynamicAnchor") if kind in each}:
                self._named[name].append(each)

    def looks(self, reference: str) -> int:
        """How many parts are looked at for a reference."""
        return len(self._named.get(reference, ()) if _is_name(reference) else self._roots)

    def of(self, reference: str) -> Iterator[Mapping[str, Json]]:
        if _is_name(reference):
            yield from self._named.get(reference, ())
            return
        steps = [step.replace("~1", "/").replace("~0", "~") for step in reference.split("/")[1:]]
        for root in self._roots:
            found: Json = root
            for step in steps:
                if is_list(found):
                    at = _INDEX.fullmatch(step)
                    found = found[int(at[1])] if at and int(at[1]) < len(found) else None
                else:
                    found = found.get(step) if is_object(found) else None
                if found is None:
                    break
            if is_object(found):
                yield found


def _is_name(reference: str) -> bool:
    return reference != "" and not reference.startswith("/")
