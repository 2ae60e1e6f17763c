"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from leadhand.core.value import Json, is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_Data: TypeAlias = Mapping[str, Any]
_Pool: TypeAlias = Sequence[_Data]
_TEXTS = frozenset(("answer", "text", "summary", "report", "result", "description"))
"""Fields that hold a text as a whole."""
_TYPES = {"string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,)}


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
    filled, missing = _object(request.schema, pool, request.schema, results)
    return request.give_up(f"the built-in model found nothing for the field {missing}") if missing else filled


def _object(schema: _Data, pool: _Pool, root: _Data, results: Sequence[_Pool] = ()) -> tuple[dict[str, Any], str]:
    """Return an object from what the values of a pool have, and a required field that none of them has.

    Without a list of its own in the data, a list of objects has one for each of the ``results``. What is inside such
    objects and lists is filled in from their own data only, since a schema can contain itself.
    """
    required, filled, missing = texts_of(schema.get("required")), dict[str, Any](), ""
    for name, part in object_of(schema.get("properties")).items():
        branches = list(_branches(object_of(part), root))
        found = (_field(name, branch, pool, root, results) for branch in branches)
        value = next((each for each in found if each is not None), None)
        nullable = len(branches) < len(objects_of(object_of(part).get("anyOf")))
        if value is not None or (name in required and nullable):
            filled[name] = value
        elif name in required:
            missing = missing or name
    return filled, missing


def _field(name: str, schema: _Data, pool: _Pool, root: _Data, results: Sequence[_Pool]) -> Json:
    """Return the value of a field; None if nothing is found."""
    kind, choices = text_of(schema.get("type")), list_of(schema.get("enum")) or [schema.get("const")]
    values = [value for each in pool for key, value in _flat(each) if key == name]
    if kind == "array":
        given = next((list_of(each) for each in values if is_list(each)), None)
        items = next(_branches(object_of(schema.get("items")), root), dict[str, Any]())
        if items.get("type") != "object":
            kinds = _TYPES.get(text_of(items.get("type")), ())
            return [each for each in given or () if isinstance(each, kinds)] or None
        pools = results if given is None else [[each] for each in objects_of(given)]
        parts = (_object(items, inner, root) for inner in pools)
        return [each for each, missing in parts if each and not missing] or None
    if kind == "object" and object_of(schema.get("properties")):
        own = next(([each] for each in values if is_object(each)), pool if results else ())
        filled, missing = _object(schema, own, root) if own else ({}, name)
        return None if missing else filled
    if name in _TEXTS and kind == "string" and not values:
        values = [text for each in pool for key in _TEXTS if (text := text_of(each.get(key)))]
    for value in values:
        fits = isinstance(value, _TYPES.get(kind, (str, int, float, bool)))
        if fits and (type(value) is not bool or kind == "boolean") and (choices == [None] or value in choices):
            return value
    return None


def _branches(schema: _Data, root: _Data, depth: int = 0) -> Iterator[_Data]:
    """The alternatives of a schema, without null."""
    reference = text_of(schema.get("$ref"))
    if reference.startswith("#/$defs/"):
        schema = object_of(object_of(root.get("$defs")).get(reference.removeprefix("#/$defs/")))
    if depth < 5 and (parts := objects_of(schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"))):
        for part in parts:
            yield from _branches(part, root, depth + 1)
    elif schema.get("type") != "null":
        yield schema


def _flat(value: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    for key, part in value.items():
        yield key, part
        alone = part[0] if is_list(part) and len(part) == 1 else part
        if is_object(alone):
            yield from _flat(alone)
