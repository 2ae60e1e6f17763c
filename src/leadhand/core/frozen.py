"""JSON that cannot be changed, since a run and everybody who looks at it share it."""

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast, get_args, get_origin

from pydantic import JsonValue
from pydantic_core import CoreSchema, core_schema

_K = TypeVar("_K")
_T = TypeVar("_T")


def _read_only(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("this value is read-only: change a copy.deepcopy() of it")


class FrozenDict(dict[_K, _T]):
    """A dict that cannot be changed; a copy of it can be."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _read_only

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - its leaves do not change either
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.any_schema()


class FrozenList(list[_T]):
    """A list that cannot be changed; a copy of it can be."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _read_only
    append = clear = extend = insert = pop = remove = reverse = sort = _read_only

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] - its leaves do not change either
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return list, (list(self),)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.any_schema()


_set: Any = cast("Any", dict).__setitem__
_kind: Any = type
_SCALARS = frozenset({str, int, float, bool, type(None)})
_LEAVES = _SCALARS | {FrozenDict, FrozenList}


def frozen(value: Any) -> Any:
    """Return JSON, or tuples of it, as a copy that cannot be changed; anything else as it is."""
    kind = _kind(value)
    if kind in _LEAVES:
        return value
    try:
        if issubclass(kind, dict):
            fields: Any = FrozenDict(value)
            for name, field in fields.items():
                if type(field) not in _LEAVES:
                    _set(fields, name, frozen(field))
            return fields
        if issubclass(kind, list):
            return FrozenList([item if type(item) in _LEAVES else frozen(item) for item in value])
        if issubclass(kind, tuple):
            return getattr(value, "_make", tuple)(map(frozen, value))
    except RecursionError:
        pass  # no door lets in what is nested so deeply: see json_problem
    return value


def thawed(value: Any) -> Any:
    """Return a copy of JSON that can be changed, of plain dicts and lists."""
    kind = _kind(value)
    if issubclass(kind, dict):
        return {name: field if type(field) in _SCALARS else thawed(field) for name, field in value.items()}
    if issubclass(kind, list):
        return [item if type(item) in _SCALARS else thawed(item) for item in value]
    return value


def can_change(annotation: Any) -> bool:
    """Whether values of a type can be, or hold, dicts or lists. Values and named tuples of the core hold none."""
    kind = get_origin(annotation) or annotation
    return kind in _CHANGEABLE or any(can_change(part) for part in get_args(annotation))


_CHANGEABLE = (Any, JsonValue, dict, list)


def frozen_schema(schema: Any) -> Any:
    """Return the schema of a field of pydantic whose values are frozen."""
    if schema["type"] != "default":
        after = core_schema.no_info_after_validator_function(frozen, schema)
        if (schema["schema"] if schema["type"] == "nullable" else schema) != _OBJECT:
            return after
        kept = core_schema.no_info_wrap_validator_function(_frozen_object, schema)
        return core_schema.json_or_python_schema(after, kept)
    return {**schema, "schema": frozen_schema(schema["schema"]), "default": frozen(schema["default"])}


_OBJECT = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())


def _frozen_object(value: Any, validate: Callable[[Any], Any]) -> Any:
    """Return a JSON object that cannot be changed: the same one, if it is one already."""
    kind = _kind(value)
    return value if kind is FrozenDict and _TEXT.issuperset(map(_kind, value)) else frozen(validate(value))


_TEXT = frozenset({str})
