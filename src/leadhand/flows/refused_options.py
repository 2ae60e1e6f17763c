"""What a person reads about options that a flow refuses: the part that is wrong, and what can be written there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import is_list, object_of, shown, text_of


def refusal(flow: str, options: type[BaseModel], given: object, error: ValidationError) -> UsageError:
    """Return the error of the first part of ``given`` that the ``options`` of a flow do not accept."""
    found = error.errors(include_url=False, include_context=False)[0]
    *path, last = found["loc"] or ("options",)
    inner: Any = given
    for part in path:  # a part can also name a member of a union
        inner = inner[part] if part in _keys(inner) else inner
    named = text_of(object_of(inner).get("name")) if path else ""
    where = f"the option {'.'.join(map(str, path))}{f' ({named})' if named else ''} of the flow {flow}" if path else ""
    where, known = where or f"the flow {flow}", field_names(options, path)
    place, said, value = ".".join(map(str, ("options", *found["loc"]))), found["msg"], found["input"]
    if found["type"] == "extra_forbidden":
        how = f"Choose from: {', '.join(known)}." if known else f"Leave it out: the flow {flow} has none."
        return UsageError(f"{where} has no option {last!r}", how + did_you_mean(str(last), known), field=place)
    how = f"Correct it: {said[:1].lower()}{said[1:]}."
    about = model_at(options, path).model_json_schema().get("properties", {}).get(str(last), {})
    if about.keys() >= {"minimum", "maximum"}:
        how = f"Give a number from {about['minimum']:,} to {about['maximum']:,}."
    if isinstance(value, str) and value.startswith(("[", "{")):
        how += f' Write it as JSON, such as ["a", "b"] or {{"a": 1}}. The options are: {", ".join(known)}.'
    return UsageError(f"invalid value for {last} of {where}: {shown(value)}", how, field=place)


def _keys(given: Any) -> Iterable[Any]:
    return range(len(given)) if is_list(given) else object_of(given)


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
