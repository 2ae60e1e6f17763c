"""The tools that this process can call, by name. There is no global registry."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from leadhand.domain.errors import UsageError
from leadhand.domain.tool import ToolSpec
from leadhand.ports import BoundTool
from leadhand.tools.decorator import Tool


class Toolbox:
    """Tools by name. Accepts tools and plain functions; names must be unique."""

    def __init__(self, tools: Iterable[Tool[..., Any] | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool[..., Any]] = {}
        for given in tools:
            self.add(given)

    def add(self, given: Tool[..., Any] | Callable[..., Any]) -> None:
        """Add a tool or a plain function. Raises UsageError for anything else, and for a duplicate name."""
        if not isinstance(given, Tool):
            if not callable(given):
                raise UsageError(
                    f"{given!r} is not a tool", "Pass functions, or functions decorated with @tool, in tools=[…]."
                )
            given = Tool(given)
        if given.name in self._tools:
            raise UsageError(f"two tools have the name {given.name}", 'Rename one of them: @tool(name="…").')
        self._tools[given.name] = given

    def specs(self) -> tuple[ToolSpec, ...]:
        """The specification of every tool, in the order of addition."""
        return tuple(bound.spec for bound in self._tools.values())

    def find(self, name: str) -> BoundTool | None:
        return self._tools.get(name)

    def get(self, name: str) -> Tool[..., Any]:
        """The tool with this name. Raises UsageError, which lists the available tools."""
        if name in self._tools:
            return self._tools[name]
        near = difflib.get_close_matches(name, self._tools, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(f"unknown tool {name!r}", f"{hint}Available tools: {', '.join(self._tools) or 'none'}.")
