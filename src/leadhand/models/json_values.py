"""Read JSON of unknown shape safely: each function returns an empty value for a value of another type."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from leadhand.domain.value import is_list, is_object, list_of, object_of, objects_of, text_of, texts_of

__all__ = ["decode_json", "is_list", "is_object", "list_of", "object_of", "objects_of", "text_of", "texts_of"]

_DEEPEST = 100  # levels; a log entry that nests far deeper cannot be written


def decode_json(written: str | bytes, *, finite: bool = False) -> Any:
    """Decode JSON from a server that may not be well-formed text.

    Accepts a byte-order mark, invalid UTF-8 and lone surrogates, and replaces them so that the log can store the value.
    ``finite`` refuses NaN and infinities, which other JSON readers reject.

    Raises ValueError for invalid JSON, and for values that are nested too deeply.
    """
    try:
        return from_json(written, allow_inf_nan=not finite)
    except (ValueError, TypeError):  # TypeError: text with a lone surrogate
        pass
    # The fast parser is strict: the lenient one may still accept what it refuses.
    text = written if isinstance(written, str) else written.decode("utf-8", "replace")
    try:
        found = json.loads(text.removeprefix("\ufeff"), parse_constant=_refused if finite else None)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return _repaired(found, 0)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")


def _repaired(value: object, depth: int) -> Any:
    """``value`` with a question mark in place of each lone surrogate."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if is_list(value):
        return [_repaired(item, depth + 1) for item in value]
    if is_object(value):
        return {_repaired(key, depth): _repaired(item, depth + 1) for key, item in value.items()}
    return value
