"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core.value import Json, is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_TEXTS = ("answer", "text", "summary", "report", "result", "description")
_TYPES = {"string": str, "number": (int, float), "integer": int, "boolean": bool, "array": list, "object": dict}


def shape(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Fill in the schema from ``facts``: lists of objects from the results, fields from data of the same name."""
    if request.schema is None or "answer" not in facts:
        return None
    text, results = text_of(facts.get("answer")), list[Mapping[str, Any]]()
    for each in objects_of(facts.get("results")):
        results.append({**each, **_flat(object_of(each.get("data"))), **object_of(each.get("args"))})
    title = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
    pool = [{**dict.fromkeys(_TEXTS, text), "title": title}, *results]
    filled, missing = _object(request.schema, pool, request.schema)
    if missing or request.objections:  # the same facts give the same value
        return request.give_up(f"the built-in model found nothing else for {missing or 'the typed answer'}")
    return filled


def _object(schema: Json, pool: list[Mapping[str, Any]], root: Json) -> tuple[dict[str, Any], str]:
    """Return an object from what the values of a pool have, and a required field that is in none of them."""
    filled: dict[str, Any] = {}
    for name, part in object_of(schema.get("properties")).items():
        value = next((each for each in _values(name, part, pool, root) if each is not None), None)
        if value is not None or {"type": "null"} in list_of(part.get("anyOf")):
            filled[name] = value
        elif name in texts_of(schema.get("required")):
            return {}, name
    return filled, ""


def _values(name: str, schema: Json, pool: list[Mapping[str, Any]], root: Json) -> list[Json]:
    """Return the values for a field, the best first. A list of objects has one for each of the results."""
    if parts := objects_of(schema.get("anyOf")):
        return [value for part in parts for value in _values(name, part, pool, root)]
    schema = _resolved(schema, root)
    kind, items = text_of(schema.get("type")), _resolved(object_of(schema.get("items")), root)
    found = [each[name] for each in pool if isinstance(each.get(name), _TYPES.get(kind, object))]
    if kind == "array" and items.get("type") == "object":
        given = [_flat(each) for values in found[:1] for each in objects_of(values)]
        return [[each for one in given or pool[1:] if (each := _object(items, [one], root)[0])] or None]
    if kind == "object":
        return (
            [_object(schema, [_flat(found[0])] if found else pool, root)[0] or None] if found or len(pool) > 1 else []
        )
    choices = list_of(schema.get("enum"))
    return [
        each for each in found if (kind == "boolean") == isinstance(each, bool) and (not choices or each in choices)
    ]


def _resolved(schema: Json, root: Json) -> dict[str, Any]:
    name = text_of(schema.get("$ref")).removeprefix("#/$defs/")
    return object_of(object_of(root.get("$defs")).get(name)) if name else object_of(schema)


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object, and those of the objects in it; the outermost of a name counts."""
    found: dict[str, Any] = {}
    for part in value.values():
        alone = part[0] if is_list(part) and len(part) == 1 else part
        found = {**(_flat(alone) if is_object(alone) else {}), **found}
    return {**found, **value}
