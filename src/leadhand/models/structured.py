"""Find the JSON object in a model's text, however it is wrapped."""

from __future__ import annotations

import json
from typing import Any

from .json_values import decode_json, is_object, list_of

_MOST_STARTS = 20


def decode_object(text: str) -> dict[str, Any] | None:
    """The JSON object that ``text`` is or contains: bare, in a code fence, or inside prose; else None.

    A list of one object counts as that object: small models like to wrap.
    """
    text = text.strip()
    if not text:
        return None
    try:
        return _object(decode_json(text, finite=True))
    except ValueError:
        pass
    decoder = json.JSONDecoder()
    position = -1
    # Each failed start costs a scan of the rest, so the number of tries is limited.
    for _ in range(_MOST_STARTS):
        position = text.find("{", position + 1)
        if position < 0:
            return None
        try:
            _, end = decoder.raw_decode(text, position)
            return _object(decode_json(text[position:end], finite=True))
        except (ValueError, RecursionError):
            continue
    return None


def _object(found: object) -> dict[str, Any] | None:
    wrapped = list_of(found)
    if len(wrapped) == 1:
        found = wrapped[0]
    return found if is_object(found) else None
