"""The tools that this process can call, by name. There is no global registry."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, cast

from leadhand.core.errors import UsageError
from leadhand.core.tool import DYNAMIC_WORKERS, ToolSpec
from leadhand.core.worker import WILDCARDS
from leadhand.ports import BoundTool
from leadhand.tools.decorator import Tool
from leadhand.tools.limits import ToolSettings, applied


class Toolbox:
    """Tools by name. Accepts tools and plain functions; names must be unique.

    ``on_request`` returns tools that a run has only if a worker of its flow names them. An added tool replaces the one
    of the same name. ``deps_of_runs`` is what the program gives the tools of runs besides their arguments, ``settings``
    are those of a project, by the name of the tool.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]] = (),
        on_request: Callable[[], Iterable[Tool[..., Any]]] = tuple,
        settings: Mapping[str, ToolSettings] | None = None,
    ) -> None:
        self.deps_of_runs: dict[str, Any] = {}
        self.settings = dict(settings or {})
        self._tools: dict[str, Tool[..., Any]] = {}
        self._offered = on_request
        for given in tools:
            self.add(given)

    def deps_of(self, run_id: str) -> Any:
        """Return what the program gives the tools of a run besides their arguments."""
        return self.deps_of_runs.get(run_id)

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

    @cached_property
    def _on_request(self) -> dict[str, Tool[..., Any]]:
        return {each.name: each for each in self._offered()}

    def offer(self, given: Tool[..., Any] | Callable[..., Any]) -> None:
        """Add a tool that a run has only if a worker names it, in place of an earlier one. Raises UsageError if another
        tool of all runs has its name."""
        tool = cast("Tool[..., Any]", given if isinstance(given, Tool) else Tool(given))
        known = self._tools.get(tool.name)
        if known is not None and known.function is not tool.function:
            raise UsageError(f"two tools have the name {tool.name}", 'Rename one of them: @tool(name="…").')
        self._on_request[tool.name] = tool

    def specs(self, named: Iterable[str] = ()) -> tuple[ToolSpec, ...]:
        """The specification of every tool, in the order of addition, and of those on request that are ``named``."""
        extra = [name for name in dict.fromkeys(named) if name not in self._tools and name not in WILDCARDS]
        found = [self._on_request[name] for name in extra if name in self._on_request]
        return tuple(self.spec(bound) for bound in (*self._tools.values(), *found))

    def spec(self, tool: Tool[..., Any]) -> ToolSpec:
        """The specification of a tool, with the settings of the project."""
        given = self.settings.get(tool.name)
        return tool.spec if given is None else applied(tool.spec, given)

    def known(self, *, every: bool = False) -> tuple[ToolSpec, ...]:
        """The specification of every tool, those on request last.

        Unless ``every``, without those of research and those that make and call workers.
        """
        hidden = () if every else ("research", DYNAMIC_WORKERS)
        return self.specs(name for name, each in self._on_request.items() if each.spec.toolset not in hidden)

    def find(self, name: str) -> BoundTool | None:
        return self._tools.get(name) or self._on_request.get(name)

    def get(self, name: str) -> Tool[..., Any]:
        """The tool with this name. Raises UsageError, which lists the available tools."""
        found = self._tools.get(name) or self._on_request.get(name)
        if found is not None:
            return found
        tools = {**self._on_request, **self._tools}
        near = difflib.get_close_matches(name, tools, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(f"unknown tool {name!r}", f"{hint}Available tools: {', '.join(tools) or 'none'}.")
