"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadhand.domain.value import Json, is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_TEXTS = frozenset(("answer", "text", "summary", "report", "result", "description"))
"""Fields that hold a text as a whole."""
_TYPES = {"string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,)}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class _Missing(Exception):
    """Nothing was found for a field that is required."""


def shape(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Fill in the schema from ``facts``: lists of objects from the results, fields from data of the same name."""
    if request.schema is None or "answer" not in facts:
        return None
    if request.objections:  # the same facts give the same value
        return request.give_up("the built-in model found no other value")
    text = text_of(facts.get("answer"))
    title = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), None)
    results = [
        [object_of(each.get("data")), object_of(each.get("args")), {key: each.get(key) for key in ("summary", "name")}]
        for each in objects_of(facts.get("results"))
    ]
    pool = [{"answer": text, "title": title}, *(part for parts in results for part in parts)]
    try:
        return _Filling(request.schema, results).object(request.schema, pool)
    except _Missing as missing:
        return request.give_up(f"the built-in model found nothing for the field {missing}")


class _Filling:
    """Fills in one schema; without a list of its own in the data, a list of objects has one for each result."""

    def __init__(self, root: Mapping[str, Any], results: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        self._root, self._results = root, results

    def object(self, schema: Mapping[str, Any], pool: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return an object from what the values of a pool have. Raises _Missing for a required field."""
        required, filled = texts_of(schema.get("required")), dict[str, Any]()
        for name, part in object_of(schema.get("properties")).items():
            found = [self._field(name, branch, pool) for branch in self._branches(object_of(part))]
            value = next((each for each in found if each is not None), None)
            if value is not None or (name in required and len(found) < len(objects_of(object_of(part).get("anyOf")))):
                filled[name] = value  # a branch that is left out allows null
            elif name in required:
                raise _Missing(name)
        return filled

    def _field(self, name: str, schema: dict[str, Any], pool: Sequence[Mapping[str, Any]]) -> Json:
        """Return the value of a field; None if nothing is found."""
        kind, choices = text_of(schema.get("type")), list_of(schema.get("enum")) or [schema.get("const")]
        values = list(_named(name, pool))
        if kind == "array":
            given = next((list_of(each) for each in values if is_list(each)), None)
            return self._list(object_of(schema.get("items")), given)
        if kind == "object" and object_of(schema.get("properties")):
            return self._object(schema, next(([each] for each in values if is_object(each)), pool))
        if name in _TEXTS and kind == "string" and not values:
            values = [text for each in pool for key in _TEXTS if (text := text_of(each.get(key)))]
        for value in values:
            fits = isinstance(value, _TYPES.get(kind, (str, int, float, bool))) and not is_list(value)
            if fits and (type(value) is not bool or kind == "boolean") and (choices == [None] or value in choices):
                return value
        return None

    def _object(self, schema: dict[str, Any], pool: Sequence[Mapping[str, Any]]) -> Json:
        try:
            return self.object(schema, pool)
        except _Missing:
            return None

    def _list(self, items: dict[str, Any], given: list[Any] | None) -> Json:
        items = next(self._branches(items), dict[str, Any]())
        if items.get("type") == "object":
            pools = self._results if given is None else [[each] for each in objects_of(given)]
            return [each for pool in pools if (each := self._object(items, pool)) is not None] or None
        kinds = _TYPES.get(text_of(items.get("type")), ())
        return [each for each in given or () if isinstance(each, kinds)] or None

    def _branches(self, schema: dict[str, Any], depth: int = 0) -> Iterator[dict[str, Any]]:
        """The alternatives of a schema, without null."""
        reference = text_of(schema.get("$ref"))
        if reference.startswith("#/$defs/"):
            schema = object_of(object_of(self._root.get("$defs")).get(reference.removeprefix("#/$defs/")))
        if depth < 5 and (parts := objects_of(schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"))):
            for part in parts:
                yield from self._branches(part, depth + 1)
        elif schema.get("type") != "null":
            yield schema


def _named(name: str, pool: Sequence[Mapping[str, Any]]) -> Iterator[Json]:
    """The values with this name, then those whose name has the same words and more."""
    flat = [pair for each in pool for pair in _flat(each)]
    words = frozenset(map(str.casefold, _WORD.findall(name)))
    yield from (value for key, value in flat if key == name)
    near = {key for key, _ in flat if words and words <= frozenset(map(str.casefold, _WORD.findall(key)))}
    yield from (value for key, value in flat if len(near) == 1 and key in near)


def _flat(value: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for key, part in value.items():
        yield key, part
        alone = part[0] if is_list(part) and len(part) == 1 else part
        if is_object(alone):
            yield from _flat(alone)
