"""Sources of tools that flags and the manifest name, by their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from leadhand.tools.mcp import mcp
from leadhand.tools.openapi import openapi
from leadhand.tools.source import ToolSource

KINDS: Mapping[str, Callable[[str], ToolSource]] = {"mcp": mcp, "openapi": openapi}
"""What makes a source of a kind from the value of its flag, which has the name of the kind, as has its table in the
manifest."""


def sources_named(given: Iterable[tuple[str, str]]) -> list[ToolSource]:
    """Return the sources that flags name, each with its kind, once. Raises UsageError for one that cannot be used."""
    return [KINDS[kind](named) for kind, named in dict.fromkeys(given)]
