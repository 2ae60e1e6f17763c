"""Errors by what a program can tell from them: their class, their fields, and the data that their text names."""

from __future__ import annotations

from typing import TypeVar

import pytest

E = TypeVar("E", bound=Exception)


def refused(class_: type[E], *named: object, **fields: object) -> pytest.RaisesExc[E]:
    """Like ``pytest.raises``, for an error whose text names these data and whose attributes have these values."""

    def fits(error: E) -> bool:
        has_fields = all(getattr(error, name) == value for name, value in fields.items())
        return has_fields and all(str(each) in str(error) for each in named)

    return pytest.raises(class_, check=fits)
