"""The base of every value of the core, and JSON: its type, and functions that read JSON of unknown shape."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Self, TypeGuard, cast

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema

from .frozen import can_change, frozen, frozen_schema

Json = Any
"""Any JSON value: null, bool, number, string, list or object with string keys."""


DEEPEST = 100
"""Levels of lists and objects in a value, at most. Readers of JSON stop at 200, and an event encloses its values."""
LARGEST = 10_000_000
"""Characters of a value as JSON, at most."""


TOO_DEEP = f"nested more than {DEEPEST} levels deep"


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Return a value as JSON as it is sent to models, and as it is measured before."""


def json_problem(value: object, deepest: int = DEEPEST) -> str:
    """Return why a value cannot be stored as JSON, empty if it can. Every door checks the values it lets in."""
    if value is None or (type(value) is str and value.isascii() and 6 * len(value) < LARGEST):
        return ""
    return _written(value, deepest)[0]


def _written(value: object, deepest: int) -> tuple[str, str]:
    """Return why a value cannot be stored as JSON ("": it can), and the value as JSON."""
    try:
        written = _ENCODE(value)
        written.encode()
    except RecursionError:
        return TOO_DEEP, ""
    except UnicodeEncodeError:
        return "the text is not valid UTF-8", ""
    except (TypeError, ValueError) as error:
        return str(error), ""
    if len(written) > LARGEST:
        return f"{len(written):,} characters; the limit is {LARGEST:,}", ""
    if written.count("[") + written.count("{") <= deepest:
        return "", written
    level = [value]
    for _ in range(deepest):
        level = [item for each in level if isinstance(each, _NESTING) for item in _items(cast("object", each))]
    return (TOO_DEEP if any(isinstance(each, _NESTING) for each in level) else ""), written


_NESTING = (dict, list, tuple)


def _items(value: object) -> Iterable[object]:
    return cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("Iterable[object]", value)


class Unfit(ValueError):
    """A value of user code does not fit where it goes; one line says why."""


def plain_json(value: Any, deepest: int = DEEPEST) -> Any:
    """Return a value as JSON gives it back. Raises Unfit for what JSON cannot represent."""
    problem, written = _written(value, deepest)
    if problem:
        raise Unfit(f"cannot be stored as JSON: {problem}")
    return json.loads(written)


def fitting(type_: Any, value: object) -> Any:
    """Return a value of user code as one of this type. Raises Unfit for another, and for what JSON cannot represent."""
    try:
        fits = _adapter(type_).validate_python(value)
        problem = json_problem(_adapter(type_).dump_python(fits, mode="json"))
    except ValueError as error:  # pydantic's errors are ValueErrors
        raise Unfit(one_line(error)) from error
    if problem:
        raise Unfit(f"cannot be stored as JSON: {problem}")
    return fits


_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(maxsize=64)(TypeAdapter)


def one_line(error: BaseException) -> str:
    """What an exception says, as one line; of a validation error its first fault: ``Worker.name: Field required``."""
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False, include_context=False)[0]
        where = ".".join((error.title, *map(str, fault["loc"])))
        return f"{where}: {fault['msg'].removeprefix('Value error, ')}"
    return " ".join(str(error).split())


def shown(value: object) -> str:
    """Format a value for a message."""
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:57]}..."


def unset(value: object) -> bool:
    """Whether an optional field has no value, so that JSON leaves it out."""
    return value is None or value == ()


class Value(BaseModel):
    """A frozen, keyword-only value. Unknown fields are rejected, so that a misspelt name is an error.

    It is frozen to its leaves: dicts and lists in it are copies that cannot be changed.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, json_schema_serialization_defaults_required=True
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler, /) -> CoreSchema:
        schema: Any = handler(source)
        inner = schema
        while inner["type"] != "model-fields" and "schema" in inner:
            inner = inner["schema"]
        for name, field in inner.get("fields", {}).items():
            plain = field["schema"]["type"] == "function-plain"  # it makes a value of its own
            if not plain and can_change(cls.__pydantic_fields__[name].annotation):
                field["schema"] = frozen_schema(field["schema"])
        return schema

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__pydantic_fields__:  # pydantic would set what a cached property keeps
            raise AttributeError(f"{type(self).__name__} is read-only")
        super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        return super().model_copy(update={name: frozen(value) for name, value in (update or {}).items()})

    def __deepcopy__(self, _memo: object = None) -> Self:
        return self  # it is frozen to its leaves

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with ``changes``, validated like a new value."""
        return self.model_validate(
            {**{name: self.__dict__[name] for name in type(self).__pydantic_fields__}, **changes}
        )


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON list."""
    return isinstance(value, list)


def object_of(value: object) -> dict[str, Any]:
    """Return a JSON object; {} for anything else."""
    if is_object(value):
        return value
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[Any]:
    """Return a JSON list; [] for anything else."""
    return value if is_list(value) else []


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the objects in a JSON list; [] for anything else."""
    return [item for item in list_of(value) if is_object(item)]


def text_of(value: object) -> str:
    """Return a text; "" for anything else."""
    return value if isinstance(value, str) else ""


def texts_in(value: Json) -> Iterator[str]:
    """Yield the texts and numbers in a value."""
    if is_object(value) or is_list(value):
        for part in value.values() if is_object(value) else value:
            yield from texts_in(part)
    elif value is not None:
        yield str(value)


def texts_of(value: object) -> list[str]:
    """Return the texts in a JSON list; [] for anything else."""
    return [item for item in list_of(value) if isinstance(item, str)]
