"""The base of every value of the domain, and JSON: its type, and functions that read JSON of unknown shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeGuard, cast

from pydantic import BaseModel, ConfigDict

Json = Any
"""Whatever JSON can say: null, bool, number, string, list or object with string keys."""


class Value(BaseModel):
    """A frozen, keyword-only value; unknown fields are refused, so that a misspelt name is never silence."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, json_schema_serialization_defaults_required=True
    )

    def evolve(self, **changes: Any) -> Self:
        """The same value with ``changes``, checked as a new one is."""
        return self.model_validate({**{name: getattr(self, name) for name in self.__class__.model_fields}, **changes})


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether this is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether this is a JSON list."""
    return isinstance(value, list)


def object_of(value: object) -> dict[str, Any]:
    """A JSON object; {} for anything else."""
    if is_object(value):
        return value
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def list_of(value: object) -> list[Any]:
    """A JSON list; [] for anything else."""
    return value if is_list(value) else []


def objects_of(value: object) -> list[dict[str, Any]]:
    """The objects in a JSON list; [] for anything else."""
    return [item for item in list_of(value) if is_object(item)]


def text_of(value: object) -> str:
    """A text; "" for anything else."""
    return value if isinstance(value, str) else ""


def texts_of(value: object) -> list[str]:
    """The texts in a JSON list; [] for anything else."""
    return [item for item in list_of(value) if isinstance(item, str)]
