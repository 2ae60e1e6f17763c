"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadhand.domain.value import Json, is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_TEXTS = frozenset(("answer", "text", "summary", "report", "result", "description"))
"""Fields that hold a text as a whole."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class _Missing(Exception):
    """Nothing was found for a field that is required."""


def shape(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Fill in the schema from ``facts``: lists of objects from the results, fields from data of the same name."""
    results = objects_of(facts.get("results"))
    if request.schema is None or "answer" not in facts:
        return None
    if request.objections:  # the same facts give the same value
        return request.give_up("the built-in model found no other value")
    text = text_of(facts.get("answer"))
    title = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), None)
    pool = [{"answer": text, "title": title}, *(part for each in results for part in _parts_of(each))]
    try:
        return _Filling(request.schema, results).object(dict(request.schema), pool)
    except _Missing as missing:
        return request.give_up(f"the built-in model found nothing for the field {missing}")


def _parts_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a result has, its data first."""
    texts = {"summary": result.get("summary"), "name": result.get("name")}
    return [object_of(result.get("data")), object_of(result.get("args")), texts]


class _Filling:
    """Fills in one schema."""

    def __init__(self, root: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> None:
        self._root = root
        self._results = results

    def object(self, schema: dict[str, Any], pool: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return an object from what the values of a pool have. Raises _Missing for a required field."""
        required, filled = texts_of(schema.get("required")), dict[str, Any]()
        for name, part in object_of(schema.get("properties")).items():
            found = self._field(name, object_of(part), pool)
            if found is not None:
                filled[name] = found
            elif name in required:
                if not self._may_be_null(object_of(part)):
                    raise _Missing(name)
                filled[name] = None
        return filled

    def _field(self, name: str, schema: dict[str, Any], pool: Sequence[Mapping[str, Any]]) -> Json:
        """Return the value of a field; None if nothing is found."""
        for branch in self._branches(schema):
            kind, choices = branch.get("type"), list_of(branch.get("enum")) or [branch.get("const")]
            if kind == "object" and object_of(branch.get("properties")):
                found = next((each[name] for each in pool if is_object(each.get(name))), None)
                try:
                    return self.object(branch, pool if found is None else [found])
                except _Missing:
                    continue
            if kind == "array" and (filled := self._list(name, branch, pool)) is not None:
                return filled
            for value in _named(name, pool):
                fits = isinstance(value, _TYPES.get(text_of(kind), (str, int, float, bool)))
                if fits and (type(value) is not bool or kind == "boolean") and (choices == [None] or value in choices):
                    return value
            if name in _TEXTS and kind == "string" and choices == [None]:
                return next((text for each in pool for key in _TEXTS if (text := text_of(each.get(key)))), None)
        return None

    def _list(self, name: str, schema: dict[str, Any], pool: Sequence[Mapping[str, Any]]) -> list[Any] | None:
        items = next(self._branches(object_of(schema.get("items"))), dict[str, Any]())
        if items.get("type") == "object":
            given = next((objects_of(each[name]) for each in pool if is_list(each.get(name))), None)
            pools = map(_parts_of, self._results) if given is None else [[each] for each in given]
            filled: list[Any] = []
            for each in pools:
                try:
                    filled.append(self.object(items, each))
                except _Missing:
                    continue
            return filled or None
        kinds = _TYPES.get(text_of(items.get("type")), ())
        found = next((list_of(each[name]) for each in pool if is_list(each.get(name))), None)
        if found is None and kinds == (str,):
            found = [text_of(each.get("summary")) for each in self._results]
        return [each for each in found if isinstance(each, kinds)] if found else None

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

    def _may_be_null(self, schema: dict[str, Any]) -> bool:
        return any(part.get("type") == "null" for part in objects_of(schema.get("anyOf"))) or schema == {}


def _named(name: str, pool: Sequence[Mapping[str, Any]]) -> Iterator[Json]:
    """The values with this name, then those whose name has the same words and more, or fewer."""
    words = _words(name)
    flat = [pair for each in pool for pair in _flat(each)]
    yield from (value for key, value in flat if key == name)
    yield from (value for key, value in flat if _words(key) == words)
    near = {key for key, _ in flat if (others := _words(key)) and (others > words or others < words)}
    yield from (value for key, value in flat if len(near) == 1 and key in near)


def _flat(value: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for key, part in value.items():
        yield key, part
        alone = part[0] if is_list(part) and len(part) == 1 else part
        if is_object(alone):
            yield from _flat(alone)


def _words(name: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(name))
