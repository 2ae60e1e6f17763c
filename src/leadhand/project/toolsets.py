"""The tools that ship, as a toolbox offers them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from leadhand.tools.decorator import Tool
from leadhand.tools.toolbox import Toolbox


def shipped_tools() -> list[Tool[..., Any]]:
    """``weather_tool`` and ``directions_tool``."""
    from leadhand.tools.directions import directions_tool
    from leadhand.tools.weather import weather_tool

    return [
        Tool(weather_tool, name="weather_tool", effect="pure", timeout=30, retries=2),
        Tool(directions_tool, name="directions_tool", effect="pure", timeout=30, retries=2),
    ]


def toolbox(tools: Iterable[Tool[..., Any] | Callable[..., Any]] | None) -> Toolbox:
    """A toolbox of these tools; None: of those that ship."""
    return Toolbox(shipped_tools() if tools is None else tools)
