"""What a person reads about options that a flow refuses: the part that is wrong, and what can be written there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import shown


def refusal(flow: str, options: type[BaseModel], error: ValidationError) -> UsageError:
    """Return the error of the first part of the options of a flow that these ``options`` do not accept."""
    found = error.errors(include_url=False, include_context=False)[0]
    place, path, said, value = ".".join(map(str, found["loc"])), found["loc"][:-1], found["msg"], found["input"]
    if found["type"] == "extra_forbidden":
        known = field_names(options, path)
        how = f"Choose from: {', '.join(known)}." if known else f"Leave it out: the flow {flow} has none."
        how += did_you_mean(str(found["loc"][-1]), known)
        return UsageError(f"the flow {flow} has no option {place!r}", how, field=f"options.{place}")
    how = f"Correct it: {said[:1].lower()}{said[1:]}."
    about = model_at(options, path).model_json_schema().get("properties", {}).get(str(found["loc"][-1]), {})
    if about.keys() >= {"minimum", "maximum"}:
        how = f"Give a number from {about['minimum']:,} to {about['maximum']:,}."
    if isinstance(value, str) and value.startswith(("[", "{")):
        how += ' Write it as JSON, such as ["a", "b"] or {"a": 1}.'
    what = f"invalid value for the option {place} of the flow {flow}: {shown(value)}"
    return UsageError(what, how, field=f"options.{place}")


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
