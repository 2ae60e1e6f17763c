"""JSON schemas as models get them."""

from typing import Any

from leadhand.core.value import is_list, is_object

_NAMED_PARTS = frozenset({"properties", "$defs", "definitions", "patternProperties"})


def lean_schema(schema: Any) -> Any:
    """Return a JSON schema without what says nothing to a model: titles, and that further properties are forbidden."""
    if is_list(schema):
        return [lean_schema(part) for part in schema]
    if not is_object(schema):
        return schema
    return {
        key: {name: lean_schema(part) for name, part in value.items()}
        if key in _NAMED_PARTS and is_object(value)
        else value
        if key in ("const", "default", "enum", "examples")
        else lean_schema(value)
        for key, value in schema.items()
        if key != "title" and not (key == "additionalProperties" and value is False)
    }
