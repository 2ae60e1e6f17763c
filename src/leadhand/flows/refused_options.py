"""What a person reads about options that a flow refuses: the part that is wrong, and what can be written there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from leadhand.core.errors import UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.value import is_object, shown


def refusal(flow: str, options: type[BaseModel], given: Mapping[str, Any], error: ValidationError) -> UsageError:
    """Return the error of the first part of ``given`` that the ``options`` of a flow do not accept."""
    found = error.errors(include_url=False, include_context=False)[0]
    *path, last = found["loc"] or ("the options",)
    fields, inside = field_names(options, path), _named(given, path)
    field = ".".join(map(str, ("options", *found["loc"])))
    if found["type"] == "extra_forbidden":
        where, kind = (f"{inside} of the flow {flow}", "field") if path else (f"the flow {flow}", "option")
        how = f"Choose from: {', '.join(fields)}." if fields else f"Leave it out: the flow {flow} has none."
        return UsageError(f"{where} has no {kind} {last!r}", how + did_you_mean(str(last), fields), field=field)
    of = f"the field {last} of {inside}" if path and last in fields else f"the option {field.partition('.')[2] or last}"
    value, how = found["input"], f"{found['msg']}."
    about = model_at(options, path).model_fields.get(str(last))
    most = {name: each for limit in (about.metadata if about is not None else ()) for name, each in _bounds(limit)}
    if most.keys() == {"ge", "le"}:
        how = f"Give a number from {most['ge']:,} to {most['le']:,}."
    elif isinstance(value, str) and value.startswith(("[", "{")):
        how = f'Write it as JSON, such as ["a", "b"] or {{"a": 1}}. The options are: {", ".join(fields)}.'
    return UsageError(f"invalid value for {of} of the flow {flow}: {shown(value)}", how, field=field)


def _bounds(limit: object) -> Iterator[tuple[str, Any]]:
    yield from ((name, getattr(limit, name)) for name in ("ge", "le") if hasattr(limit, name))


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
