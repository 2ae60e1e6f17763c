"""What a person reads about options that a flow refuses: the part that is wrong, and what can be written there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from leadhand.domain.errors import UsageError
from leadhand.domain.text import did_you_mean
from leadhand.domain.value import is_object


def refusal(flow: str, options: type[BaseModel], given: Mapping[str, Any], error: ValidationError) -> UsageError:
    """Return the error of the first part of ``given`` that the ``options`` of a flow do not accept."""
    found = error.errors(include_url=False, include_context=False)[0]
    *path, last = found["loc"] or ("the options",)
    fields, inside = _fields(options, path), _named(given, path)
    known = ", ".join(fields)
    how = f"Choose from: {known}." if known else f"Leave it out: the flow {flow} has none."
    field = ".".join(str(part) for part in ("options", *found["loc"]))
    if found["type"] == "extra_forbidden":
        where, kind = (f"{inside} of the flow {flow}", "field") if path else (f"the flow {flow}", "option")
        return UsageError(f"{where} has no {kind} {last!r}", how + did_you_mean(str(last), fields), field=field)
    why, value = found["msg"], found["input"]
    if isinstance(value, str) and value.startswith(("[", "{")):
        why += f"; {value[:80]!r} is text, not JSON"
        how = f'Write it as JSON, such as ["a", "b"] or {{"a": 1}}. {how}'
    of = f"the field {last} of {inside}" if path and last in fields else f"the option {field.partition('.')[2] or last}"
    return UsageError(f"invalid value for {of} of the flow {flow}: {why}", how, field=field)


def _fields(options: type[BaseModel], path: Sequence[int | str]) -> Sequence[str]:
    """Return the names of the fields of the part of the options that a path leads to; those above it if it has none."""
    for part in path:
        about = options.model_fields.get(str(part))
        options = next(_models(about.annotation), options) if about is not None else options
    return list(options.model_fields)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


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
