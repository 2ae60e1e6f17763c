"""The tools that this process can call, by name. There is no global registry."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Self, cast

from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.text import did_you_mean
from leadhand.core.tool import DYNAMIC_WORKERS, ToolSpec
from leadhand.core.worker import WILDCARDS
from leadhand.ports import BoundTool
from leadhand.tools.decorator import tool
from leadhand.tools.limits import ToolSettings, applied
from leadhand.tools.source import Connection, ToolSource, origin_of, variables_in
from leadhand.tools.tool import Tool

RENAME = 'Rename one of them: @tool(name="…"), or tool(name="…")(thing.method) for the method of an object.'


class Toolbox:
    """Tools by name. Accepts tools, plain functions, and sources of tools; names must be unique.

    ``on_request`` returns tools that a run has only if a worker of its flow names them. An added tool replaces the one
    of the same name. ``deps_of_runs`` is what the program gives the tools of runs besides their arguments, ``settings``
    are those of a project, by the name of the tool. Sources read their keys from the ``environment``. Their tools are
    there after :meth:`open`.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any] | ToolSource] = (),
        on_request: Callable[[], Iterable[Tool[..., Any]]] = tuple,
        settings: Mapping[str, ToolSettings] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.deps_of_runs: dict[str, Any] = {}
        self.settings = dict(settings or {})
        self._tools: dict[str, Tool[..., Any]] = {}
        self._offered = on_request
        self._environment = environment
        self._sources: dict[str, ToolSource] = {}
        self._connections: dict[str, Connection] = {}
        self._of_sources: dict[str, Tool[..., Any]] = {}
        for given in tools:
            self.add(given)

    @property
    def keys(self) -> Iterator[str]:
        """The names of the variables from which sources read their keys."""
        for source in self._sources.values():
            kept: list[Mapping[str, str]] = [getattr(source, each, None) or {} for each in ("env", "headers")]
            yield from (name for given in kept for each in given.values() for name in variables_in(each))

    def deps_of(self, run_id: str) -> Any:
        """Return what the program gives the tools of a run besides their arguments."""
        return self.deps_of_runs.get(run_id)

    def add(self, given: Tool[..., Any] | Callable[..., Any] | ToolSource) -> Tool[..., Any] | None:
        """Add a tool, a plain function or a source of tools; return the tool, None for a source. Raises UsageError for
        anything else, and for a duplicate name."""
        if isinstance(given, ToolSource):
            if origin_of(given) in self._sources:
                how = f'Name one of them, with {given.kind}(…, name="…") or as [{given.kind}.NAME] in leadhand.toml.'
                raise UsageError(f"two sources of tools have the name {given.name}", how)
            self._sources[origin_of(given)] = given
            return None
        if not isinstance(given, Tool):
            if not callable(given):
                raise UsageError(
                    f"{given!r} is not a tool", "Pass functions, or functions decorated with @tool, in tools=[…]."
                )
            given = tool(given)
        if given.name in self._tools:
            raise UsageError(f"two tools have the name {given.name}", RENAME)
        added = cast("Tool[..., Any]", given)
        self._tools[added.name] = added
        return added

    async def open(self) -> None:
        """Ask every source for its tools, as they are now. A name that is taken gets the name of its source before it.

        Raises ConfigurationError for a source that cannot be reached or used.
        """
        sources = list(self._sources.values())
        listed = await asyncio.gather(*(self._connection(origin_of(each)).tools() for each in sources))
        found: dict[str, Tool[..., Any]] = {}
        for source, tools in zip(sources, listed, strict=True):
            for each in tools:
                taken = each.name in self._tools or each.name in found or each.name in self._on_request
                name = f"{source.name}_{each.name}" if taken else each.name
                if name in found or name in self._tools:
                    how = f'Leave one of them out (include=[…]), or name the source: {source.kind}(…, name="…").'
                    raise ConfigurationError(f"two tools have the name {name}", how)
                found[name] = each if name == each.name else each.named(name)
        self._of_sources = found

    def _connection(self, origin: str) -> Connection:
        if origin not in self._connections:
            self._connections[origin] = self._sources[origin].connect(self._environment)
        return self._connections[origin]

    def bound(self, spec: ToolSpec) -> BoundTool | None:
        """Return the tool that a run has recorded, with its code; None if it is not in this process. A source is not
        asked for it: it need not be reachable yet, and it may offer something else under the same name now."""
        if spec.origin in self._sources:
            return self._connection(spec.origin).bind(spec)
        return self.find(spec.name)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to sources; they are opened again when they are needed."""
        connections, self._connections = self._connections, {}
        for each in connections.values():
            await each.aclose()

    @cached_property
    def _on_request(self) -> dict[str, Tool[..., Any]]:
        return {each.name: each for each in self._offered()}

    def offer(self, given: Tool[..., Any] | Callable[..., Any]) -> None:
        """Add a tool that a run has only if a worker names it, in place of an earlier one. Raises UsageError if another
        tool of all runs has its name."""
        found = cast("Tool[..., Any]", given if isinstance(given, Tool) else tool(given))
        known = self._tools.get(found.name)
        if known is not None and known.function != found.function:
            raise UsageError(f"two tools have the name {found.name}", RENAME)
        self._on_request[found.name] = found

    def specs(self, named: Iterable[str] = ()) -> tuple[ToolSpec, ...]:
        """The specification of every tool, in the order of addition, and of those on request that are ``named``."""
        always = {**self._tools, **self._of_sources}
        extra = [name for name in dict.fromkeys(named) if name not in always and name not in WILDCARDS]
        found = [self._on_request[name] for name in extra if name in self._on_request]
        return tuple(self.spec(bound) for bound in (*always.values(), *found))

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

    def find(self, name: str) -> Tool[..., Any] | None:
        return self._tools.get(name) or self._of_sources.get(name) or self._on_request.get(name)

    def get(self, name: str) -> Tool[..., Any]:
        """The tool with this name. Raises UsageError, which lists the available tools."""
        if (found := self.find(name)) is not None:
            return found
        for each in self._of_sources.values():
            if (operation := name.removeprefix(f"{each.spec.toolset}_")) in each.spec.operations:
                how = f"Call it with {each.name}: operation={operation} arguments='{{…}}'."
                raise UsageError(f"{name} is an operation of {each.spec.origin}, not a tool of its own", how)
        known = [*self._on_request, *self._of_sources, *self._tools]
        how = f"Available tools: {', '.join(known) or 'none'}.{did_you_mean(name, known)}"
        raise UsageError(f"unknown tool {name!r}", how)
