"""What a person reads about options that a flow refuses: the part that is wrong, and what can be written there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import shown


def refusal(flow: str, options: type[BaseModel], error: ValidationError) -> UsageError:
    """Return the error of the first part that the ``options`` of a flow do not accept."""
    found = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(map(str, found["loc"])) or "options"
    field, said = f"options.{place}", found["msg"]
    if found["type"] == "extra_forbidden":
        *path, last = found["loc"]
        known = field_names(options, path)
        how = f"Choose from: {', '.join(known)}." if known else f"Leave it out: the flow {flow} has none."
        return UsageError(f"the flow {flow} has no option {place!r}", how + did_you_mean(str(last), known), field=field)
    how = f"Correct it: {said[:1].lower()}{said[1:]}."
    return UsageError(
        f"invalid value for the option {place} of the flow {flow}: {shown(found['input'])}", how, field=field
    )


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
