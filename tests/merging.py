"""JSON merge patches (RFC 7396), as a client of views applies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge(document: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Apply a merge patch to a document in place."""
    for key, value in patch.items():
        if isinstance(value, dict):
            inner = document.get(key)
            document[key] = inner if isinstance(inner, dict) else {}
            merge(document[key], value)
        elif value is None:
            document.pop(key, None)
        else:
            document[key] = value
