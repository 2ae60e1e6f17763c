"""The size of a JSON schema with its references: a short one can stand for so many parts that no check of it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from leadhand.domain.value import Json, is_list, is_object

MOST_PARTS = 100_000
"""Parts of a schema, at most, each counted wherever it is referred to. A check takes about a microsecond for each."""
_DEFINITIONS = ("$defs", "definitions")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def is_too_large(schema: Mapping[str, Json]) -> bool:
    """Whether a schema has more than :data:`MOST_PARTS` parts. One that refers to itself is counted once on its way."""
    counted: dict[int, int] = {}
    every = list(_objects(schema))
    roots = [schema, *(each for each in every if each is not schema and "$id" in each)]

    def count(value: Json) -> int:
        if is_list(value):
            return sum(map(count, value))
        if not is_object(value):
            return 0
        if id(value) not in counted:
            counted[id(value)] = 0  # what refers to itself
            inner = sum(count(each) for name, each in value.items() if name not in _DEFINITIONS)
            named = [str(value[name]) for name in _REFERENCES if name in value]
            counted[id(value)] = 1 + inner + sum(count(each) for name in named for each in _targets(name, roots, every))
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


def _targets(
    reference: str, roots: list[Mapping[str, Json]], every: list[Mapping[str, Json]]
) -> Iterator[Mapping[str, Json]]:
    """Yield what a reference may stand for. Its document is not looked at: each part of the schema may be that one."""
    fragment = unquote(reference.partition("#")[2])
    if fragment and not fragment.startswith("/"):
        yield from (each for each in every if fragment in (each.get("$anchor"), each.get("$dynamicAnchor")))
        return
    for root in roots:
        found: Json = root
        for step in fragment.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if is_list(found) and name.isdecimal():
                found = dict(enumerate(found)).get(int(name))
            else:
                found = found.get(name) if is_object(found) else None
        if is_object(found):
            yield found
