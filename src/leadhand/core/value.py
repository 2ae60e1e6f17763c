"""The base of every value of the core, and JSON: its type, how it is frozen, and how JSON of unknown shape is read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, NoReturn, Self, TypeGuard, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    JsonValue,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

_K = TypeVar("_K")
_T = TypeVar("_T")
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


def json_problem(value: object) -> str:
    """Return why a value cannot be stored as JSON, empty if it can. Every door checks the values it lets in."""
    if value is None or (type(value) is str and value.isascii() and 6 * len(value) < LARGEST):
        return ""
    try:
        _written(value, DEEPEST)
    except Unfit as error:
        return str(error)
    return ""


class Unfit(ValueError):
    """A value of user code does not fit where it goes; one line says why."""


def plain_json(value: Any, deepest: int = DEEPEST) -> Any:
    """Return a value as JSON gives it back. Raises Unfit for what JSON cannot represent."""
    try:
        return json.loads(_written(value, deepest))
    except Unfit as error:
        raise Unfit(f"cannot be stored as JSON: {error}") from error


def _written(value: object, deepest: int) -> str:
    """Return a value as JSON. Raises Unfit for one that cannot be stored."""
    try:
        written = _ENCODE(value)
        if not written.isascii():
            written.encode()
    except RecursionError as error:
        raise Unfit(TOO_DEEP) from error
    except UnicodeEncodeError as error:
        raise Unfit("the text is not valid UTF-8") from error
    except (TypeError, ValueError) as error:
        raise Unfit(str(error)) from error
    if len(written) > LARGEST:
        raise Unfit(f"{len(written):,} characters; the limit is {LARGEST:,}")
    if written.count("[") + written.count("{") > deepest:
        level: list[Any] = [value]
        for _ in range(deepest):
            level = [part for each in level if isinstance(each, dict | list | tuple) for part in _parts(each)]
            if not level:
                break
        if any(isinstance(each, dict | list | tuple) for each in level):
            raise Unfit(TOO_DEEP)
    return written


def fitting(type_: Any, value: object) -> Any:
    """Return a value of user code as one of this type. Raises Unfit for another, and for what JSON cannot represent."""
    try:
        fits = _adapter(type_).validate_python(value)
        _ = plain_json(_adapter(type_).dump_python(fits, mode="json"))
    except ValueError as error:  # pydantic's errors are ValueErrors
        raise Unfit(one_line(error)) from error
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


def _read_only(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("this value is read-only: change a copy.deepcopy() of it")


class FrozenDict(dict[_K, _T]):
    """A dict that cannot be changed; a copy of it can be."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _read_only

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __deepcopy__(self, _memo: object) -> dict[_K, _T]:  # the usual way takes six times as long
        return _thawed(self)


class FrozenList(list[_T]):
    """A list that cannot be changed; a copy of it can be."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _read_only
    append = clear = extend = insert = pop = remove = reverse = sort = _read_only

    def __reduce__(self) -> Any:
        return list, (list(self),)

    def __deepcopy__(self, _memo: object) -> list[_T]:
        return _thawed(self)


_kind: Any = type  # which does not narrow a value to a dict or list of unknown parts, as isinstance does
_SCALARS = frozenset({str, int, float, bool, type(None)})
_LEAVES = _SCALARS | {FrozenDict, FrozenList}


def _thawed(value: Any) -> Any:
    """Return a copy of JSON, or of tuples of it, that can be changed."""
    kind = _kind(value)
    if kind is FrozenDict or kind is dict:
        return {name: part if type(part) in _SCALARS else _thawed(part) for name, part in value.items()}
    if kind is FrozenList or kind is list:
        return [part if type(part) in _SCALARS else _thawed(part) for part in value]
    return deepcopy(value)


def frozen(value: Any) -> Any:
    """Return JSON, or tuples of it, as a copy that cannot be changed; anything else as it is."""
    kind = _kind(value)
    if kind in _LEAVES:
        return value
    try:
        if issubclass(kind, dict):
            return FrozenDict({name: part if type(part) in _LEAVES else frozen(part) for name, part in value.items()})
        if issubclass(kind, list):
            return FrozenList([part if type(part) in _LEAVES else frozen(part) for part in value])
        return getattr(value, "_make", tuple)(map(frozen, value)) if issubclass(kind, tuple) else value
    except RecursionError:
        return value  # no door lets in what is nested so deeply: see json_problem


class Value(BaseModel):
    """A frozen, keyword-only value. Unknown fields are rejected, so that a misspelt name is an error.

    It is frozen to its leaves: dicts and lists in it are copies that cannot be changed.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        defer_build=True,
        validate_by_name=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for field in cls.__pydantic_fields__.values():
            if _can_change(field.annotation) and _FREEZES not in field.metadata:
                field.metadata.append(_FREEZES)
                field.validate_default = isinstance(field.default, dict | list)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__pydantic_fields__:  # pydantic would set what a cached property keeps
            raise AttributeError(f"{type(self).__name__} is read-only")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ((name, self.__dict__[name]) for name in type(self).__pydantic_fields__)  # no cached properties

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        changes = {name: frozen(value) for name, value in (update or {}).items()}
        fields = {name: self.__dict__[name] for name in type(self).__pydantic_fields__}
        copy = type(self).__new__(type(self))  # that of pydantic takes three times as long, and keeps cached properties
        for name, value in (
            ("__dict__", {**fields, **changes}),
            ("__pydantic_fields_set__", {*self.model_fields_set, *changes}),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(copy, name, value)
        return copy

    def __deepcopy__(self, _memo: object = None) -> Self:
        return self  # it is frozen to its leaves

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with ``changes``, validated like a new value."""
        fields = {name: self.__dict__[name] for name in type(self).__pydantic_fields__}
        return self.model_validate({**fields, **changes})


_FREEZES = AfterValidator(frozen)


def _can_change(annotation: Any) -> bool:
    """Whether values of a type can be, or hold, dicts or lists. Values and named tuples of the core hold none."""
    kind = get_origin(annotation) or annotation
    return kind in (Any, JsonValue, dict, list) or any(map(_can_change, get_args(annotation)))


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON list."""
    return isinstance(value, list)


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if is_object(value) else value


def object_of(value: object) -> dict[str, Any]:
    """Return a JSON object; {} for anything else."""
    return value if is_object(value) else {}


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
        for part in _parts(value):
            yield from texts_in(part)
    elif value is not None:
        yield str(value)


def iso(moment: datetime) -> str:
    """Return a moment as ISO 8601 in UTC with a Z, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})
Moment = Annotated[datetime, PlainSerializer(iso, when_used="json"), _SCHEMA]
"""A time that JSON shows in the format of :func:`iso`."""

_PAIRS = PlainSerializer(lambda texts: [*texts.items()], return_type=list[tuple[str, str]], when_used="json")
ByName = Annotated[dict[str, str], BeforeValidator(dict), _PAIRS]
"""Texts by the names of arguments. JSON has them as pairs, because what a field with the name of a secret says is
redacted."""
