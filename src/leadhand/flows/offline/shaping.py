"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core.value import Json, is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_TEXTS = ("answer", "text", "summary", "report", "result", "description")
_TYPES = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def shape(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Fill in the schema from ``facts``: lists of objects from the results, fields from data of the same name."""
    if request.schema is None or "answer" not in facts:
        return None
    text = text_of(facts.get("answer"))
    title = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
    pool = [{**dict.fromkeys(_TEXTS, text), "title": title}, *map(_flat, objects_of(facts.get("results")))]
    filled = _filled(request.schema, pool, request.schema)
    missing = [name for name in texts_of(request.schema.get("required")) if name not in filled]
    if missing or request.objections:  # the same facts give the same value
        return request.give_up(f"the built-in model found nothing more for {', '.join(missing) or 'the typed answer'}")
    return filled


def _filled(schema: Json, pool: list[dict[str, Any]], root: Json) -> dict[str, Any]:
    """Return an object from what the values of a pool have; a list of objects has one for each of the results."""
    filled: dict[str, Any] = {}
    for name, part in object_of(schema.get("properties")).items():
        for option in (_resolved(each, root) for each in objects_of(part.get("anyOf")) or [part]):
            kind, items = text_of(option.get("type")), _resolved(object_of(option.get("items")), root)
            found = [each[name] for each in pool if name in each and isinstance(each[name], _TYPES.get(kind, object))]
            if kind == "array" and "properties" in items:
                rows = objects_of(found[0]) if found else pool[1:]
                found = [[_filled(items, [_flat(each)], root) for each in rows]] if rows else []
            elif "properties" in option:
                found = [_filled(option, [_flat(each)], root) for each in found or pool[1:2]]
            filled |= {name: found[0]} if found and name not in filled else {}
    return filled


def _resolved(schema: Json, root: Json) -> dict[str, Any]:
    name = text_of(schema.get("$ref")).removeprefix("#/$defs/")
    return object_of(object_of(root.get("$defs")).get(name)) if name else object_of(schema)


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object, and those of the objects in it; the outermost of a name counts."""
    parts = [list_of(part)[0] if len(list_of(part)) == 1 else part for part in reversed(list(value.values()))]
    return {name: each for part in parts if is_object(part) for name, each in _flat(part).items()} | dict(value)
