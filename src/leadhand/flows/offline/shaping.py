"""How the built-in model gives an answer the shape of a JSON schema: it finds its fields by their names in the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core.value import is_object, list_of, object_of, objects_of, text_of, texts_of

from .rule import OfflineRequest, Reply

_TEXTS = ("answer", "text", "summary", "report", "result", "description")


def shape(facts: Mapping[str, Any], request: OfflineRequest) -> Reply | None:
    """Fill in the schema from ``facts``: lists of objects from the results, fields from data of the same name."""
    if request.schema is None or "answer" not in facts:
        return None
    text, filled = text_of(facts.get("answer")), dict[str, Any]()
    title = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
    rows = [_flat(each) for each in objects_of(facts.get("results"))]
    known = {**_flat(dict(enumerate(rows))), **dict.fromkeys(_TEXTS, text), "title": title}
    for name, part in object_of(request.schema.get("properties")).items():
        item = object_of(object_of(part).get("items"))
        defined = object_of(request.schema.get("$defs")).get(text_of(item.get("$ref")).removeprefix("#/$defs/"), item)
        fields = object_of(object_of(defined).get("properties"))
        if fields and rows:
            filled[name] = [{field: row[field] for field in fields if field in row} for row in rows]
        elif name in known:
            filled[name] = known[name]
    missing = [name for name in texts_of(request.schema.get("required")) if name not in filled]
    if missing or request.objections:  # the same facts give the same value
        return request.give_up(f"the built-in model found nothing more for {', '.join(missing) or 'the typed answer'}")
    return filled


def _flat(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the fields of an object, and those of the objects in it; the outermost of a name counts."""
    parts = [list_of(part)[0] if len(list_of(part)) == 1 else part for part in reversed(list(value.values()))]
    return {name: each for part in parts if is_object(part) for name, each in _flat(part).items()} | dict(value)
