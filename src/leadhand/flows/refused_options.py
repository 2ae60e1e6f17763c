"""What a person reads about options that a flow refuses: the part that is wrong, and what can be written there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import is_object

_NUMBERS = {
    **dict.fromkeys(("greater_than", "greater_than_equal", "less_than", "less_than_equal"), "number"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "number"),
}
"""What has to be given instead of a value with an error of this type."""


def refusal(flow: str, options: type[BaseModel], given: Mapping[str, Any], error: ValidationError) -> UsageError:
    """Return the error of the first part of ``given`` that the ``options`` of a flow do not accept."""
    found = error.errors(include_url=False, include_context=False)[0]
    *path, last = found["loc"] or ("the options",)
    fields, inside = field_names(options, path), _named(given, path)
    known = ", ".join(fields)
    how = f"Choose from: {known}." if known else f"Leave it out: the flow {flow} has none."
    field = ".".join(str(part) for part in ("options", *found["loc"]))
    if found["type"] == "extra_forbidden":
        where, kind = (f"{inside} of the flow {flow}", "field") if path else (f"the flow {flow}", "option")
        return UsageError(f"{where} has no {kind} {last!r}", how + did_you_mean(str(last), fields), field=field)
    why, value = found["msg"], found["input"]
    if found["type"] in _NUMBERS:
        why, how = f"{value!r}", f"Give a {_NUMBERS[found['type']]} {_range(options, found['loc'])}".strip() + "."
    elif found["type"] == "string_type":
        why, how = f"{value!r} is not text", "Give a text. On the command line, quote what is a number or JSON: '\"3\"'"
    elif found["type"] == "string_too_short":
        why, how = f"{value!r} is too short", "Give a longer text."
    elif found["type"] in ("bool_parsing", "bool_type"):
        why, how = f"{value!r}", "Give true or false."
    if isinstance(value, str) and value.startswith(("[", "{")):
        why += f"; {value[:80]!r} is text, not JSON"
        how = f'Write it as JSON, such as ["a", "b"] or {{"a": 1}}. {how}'
    of = f"the field {last} of {inside}" if path and last in fields else f"the option {field.partition('.')[2] or last}"
    return UsageError(f"invalid value for {of} of the flow {flow}: {why}", how, field=field)


def _range(options: type[BaseModel], path: Sequence[int | str]) -> str:
    """Return the range of a numeric field in words, "" if it has none."""
    about = model_at(options, path[:-1]).model_fields.get(str(path[-1]))
    bounds: dict[str, Any] = {}
    for each in about.metadata if about is not None else ():
        bounds |= {name: getattr(each, name) for name in ("gt", "ge", "le", "lt") if hasattr(each, name)}
    if bounds.keys() == {"ge", "le"}:
        return f"from {bounds['ge']:,} to {bounds['le']:,}"
    words = {"gt": "above", "ge": "of at least", "le": "of at most", "lt": "below"}
    return " and ".join(f"{words[name]} {bound:,}" for name, bound in bounds.items())


def _named(given: object, path: Sequence[int | str]) -> str:
    """Return a part of the options in words, with its name if it has one."""
    for part in path:
        if isinstance(part, int) and isinstance(given, (list, tuple)):
            given = list(cast("Sequence[Any]", given))[part]
        elif is_object(given) and part in given:  # a part can also name a member of a union
            given = given[str(part)]
    name = given.get("name") if is_object(given) else None
    place = ".".join(map(str, path))
    return f"{name} (option {place})" if isinstance(name, str) else f"the option {place}"


def field_names(kind: type[BaseModel], place: Iterable[str | int]) -> list[str]:
    """Return the names of the fields at a place of a value, as people write them; see :func:`model_at`."""
    fields = model_at(kind, place).model_fields
    return [field.alias or name for name, field in fields.items() if not field.exclude]


def model_at(kind: type[BaseModel], place: Iterable[str | int]) -> type[BaseModel]:
    """Return the model at a place of a value: the keys that lead there. Where none is, that of what encloses it."""
    for step in place:
        field = kind.model_fields.get(str(step))
        kind = (_model_in(field.annotation) if field is not None else None) or kind
    return kind


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each)) is not None), None)
