"""What installed packages offer by entry points."""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata


def entry_points(group: str) -> metadata.EntryPoints:
    """Return the entry points of a group. The packages are searched once for each state of ``sys.path``."""
    return _entry_points(group, tuple(sys.path))


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> metadata.EntryPoints:
    return metadata.entry_points(group=group)
