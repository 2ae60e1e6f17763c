"""The one base of every value on the ground floor: frozen, closed, changed only by making another."""

from __future__ import annotations

from typing import Any, Self

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
