"""Takes JSON of unknown shape apart without trusting it: each function gives its own empty value for anything else."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from leadhand.domain.json_values import is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

__all__ = ["decode_json", "is_list", "is_object", "list_of", "object_of", "objects_of", "text_of", "texts_of"]

_DEEPEST = 100  # levels; a log entry that nests far deeper cannot be written


def decode_json(written: str | bytes, *, finite: bool = False) -> Any:
    """The value that ``written`` is, from a server that may not have written it well.

    A byte-order mark, bytes that are no UTF-8 and halves of surrogate pairs do no harm: nothing in the value is unfit
    for a log. ``finite`` refuses NaN and infinities, which nothing after us could read back as they were.

    Raises ValueError for what is no JSON, or is nested deeper than any answer.
    """
    try:
        return from_json(written, allow_inf_nan=not finite)
    except (ValueError, TypeError):  # TypeError: a text that holds half a surrogate pair
        pass
    # The fast parser is also the strict one: what it refuses may still be an answer.
    text = written if isinstance(written, str) else written.decode("utf-8", "replace")
    try:
        found = json.loads(text.removeprefix("\ufeff"), parse_constant=_refused if finite else None)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return _mended(found, 0)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _mended(value: object, depth: int) -> Any:
    """``value`` with a question mark for each half of a surrogate pair."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if is_list(value):
        return [_mended(item, depth + 1) for item in value]
    if is_object(value):
        return {_mended(key, depth): _mended(item, depth + 1) for key, item in value.items()}
    return value
