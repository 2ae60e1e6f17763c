"""Merge patches (RFC 7396), from what is shown and what is to be shown: https://www.rfc-editor.org/rfc/rfc7396."""

from __future__ import annotations

from typing import Any

Part = dict[str, Any]
"""A part of a view, or of a patch on one."""


def show(shown: Part, values: Part) -> Part:
    """Put values in place of those that are shown (None removes one), and return what differs, as a merge patch."""
    patch: Part = {}
    for key, value in values.items():
        if (was := shown.get(key)) == value:
            continue
        if value.__class__ is dict:
            inner: Part = was if was is not None else {}
            changed = show(inner, value)
            if changed or was is None:
                shown[key], patch[key] = inner, changed
        else:
            patch[key] = value
            if value is None:
                del shown[key]
            else:
                shown[key] = value
    return patch
