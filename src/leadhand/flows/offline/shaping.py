"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.value import Json, is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_TEXTS = ("answer", "text", "summary", "report", "result", "description")
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
    pool = [{**dict.fromkeys(_TEXTS, text), "title": title}]
    for each in objects_of(facts.get("results")):
        pool.append({"name": each.get("name"), "summary": each.get("summary"), **object_of(each.get("args"))})
        pool[-1] |= _flat(object_of(each.get("data")))
    filled = _object(request.schema, pool, request.schema, whole=True)
    return filled if isinstance(filled, dict) else request.give_up(f"the built-in model found nothing for {filled}")


def _object(
    schema: Json, pool: Sequence[Mapping[str, Any]], root: Json, *, whole: bool = False
) -> dict[str, Any] | str:
    """Return an object from what the values of a pool have, or the name of a required field that none of them has."""
    filled: dict[str, Any] = {}
    for name, part in object_of(schema.get("properties")).items():
        parts = objects_of(part.get("anyOf")) or [part]
        found = (_field(name, _resolved(each, root), pool, root, whole=whole) for each in parts)
        value = next((each for each in found if each is not None), None)
        if value is not None:
            filled[name] = value
        elif name in texts_of(schema.get("required")):
            if {"type": "null"} not in parts:
                return name
            filled[name] = None
    return filled


def _field(name: str, schema: Json, pool: Sequence[Mapping[str, Any]], root: Json, *, whole: bool) -> Json:
    """Return the value of a field, None if nothing is found. Only the ``whole`` is filled in from all results."""
    kind, choices = text_of(schema.get("type")), list_of(schema.get("enum"))
    values = [each[name] for each in pool if each.get(name) is not None]
    items = _resolved(schema.get("items"), root)
    if kind == "array" and items.get("type") == "object":
        given = next(map(objects_of, filter(is_list, values)), None)
        parts = (_object(items, [each], root) for each in (pool[1:] if given is None else map(_flat, given)))
        return [each for each in parts if isinstance(each, dict) and each] or None
    if kind == "object":
        own = [_flat(each) for each in values if is_object(each)] or (pool if whole else ())
        filled = _object(schema, own, root) if own else name
        return filled if isinstance(filled, dict) else None
    if kind == "array":
        kinds = _TYPES.get(text_of(items.get("type")), (object,))
        return next(([part for part in each if isinstance(part, kinds)] for each in values if is_list(each)), None)
    kinds = _TYPES.get(kind, (str, int, float, bool))
    fitting = (each for each in values if isinstance(each, kinds) and (type(each) is not bool or kind == "boolean"))
    return next((each for each in fitting if not choices or each in choices), None)


def _resolved(schema: object, root: Json) -> dict[str, Any]:
    described = object_of(schema)
    name = text_of(described.get("$ref")).removeprefix("#/$defs/")
    return object_of(object_of(root.get("$defs")).get(name)) if name else described


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object, and those of the objects in it; the outermost of a name counts."""
    inner = (part[0] if is_list(part) and len(part) == 1 else part for part in value.values())
    found: dict[str, Any] = {}
    for part in filter(is_object, inner):
        found = {**_flat(part), **found}
    return {**found, **value}
