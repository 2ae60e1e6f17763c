"""The tools of a process: the built-in ones, toolboxes made from tools, and those that a run still needs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import metadata
from typing import Any

from leadhand.core.errors import ConfigurationError, UsageError
from leadhand.core.run import SETTLED, RunDefinition
from leadhand.core.state import RunState
from leadhand.core.tool import ToolSpec
from leadhand.engine.hooks import Hooks
from leadhand.tools.decorator import tool
from leadhand.tools.limits import ToolSettings
from leadhand.tools.source import ToolSource
from leadhand.tools.tool import Tool
from leadhand.tools.toolbox import Toolbox

GROUP = "leadhand.tools"
"""The entry points by which installed packages offer tools."""


def entry_points(group: str) -> metadata.EntryPoints:
    """Return the entry points of a group. The packages are searched once for each state of ``sys.path``."""
    return _entry_points(tuple(sys.path)).select(group=group)


@cache
def _entry_points(path: tuple[str, ...]) -> Any:
    return metadata.entry_points()


def loaded(point: metadata.EntryPoint, what: str, made: Callable[[Any], Any] = lambda found: found) -> Any:
    """Return what an installed package offers. Raises ConfigurationError if it cannot be loaded."""
    try:
        return made(point.load())
    except Exception as error:
        problem = f"the {what} {point.name} of {point.value} cannot be loaded: {error}"
        raise ConfigurationError(problem, "Fix or uninstall the package that provides it.") from error


def shipped_tools() -> list[Tool[..., Any]]:
    """``weather_tool`` and ``directions_tool``."""
    from leadhand.tools.travel.directions import directions_tool
    from leadhand.tools.travel.weather import weather_tool

    return [
        tool(name="weather_tool")(weather_tool),
        tool(name="directions_tool")(directions_tool),
    ]


def tools_on_request() -> list[Tool[..., Any]]:
    """The tools of the web, of research and for workers: a run has them only if a worker or its project names them."""
    from leadhand.tools import research
    from leadhand.tools.dynamic_workers import DynamicWorkersToolset
    from leadhand.tools.web import web_fetch, web_search

    found = [getattr(research, name) for name in research.__all__]
    return [web_search, web_fetch, *found, *DynamicWorkersToolset.tools]


def installed_tools(name: str) -> list[Any]:
    """Return the tools that installed packages offer under a name. Raises UsageError if none does, ConfigurationError
    for one that cannot be loaded."""
    points = entry_points(GROUP)
    if found := [loaded(point, "tool") for point in points if point.name == name]:
        return found
    known = ", ".join(dict.fromkeys(point.name for point in points)) or "none"
    raise UsageError(f"no installed package offers the tool {name}", f"Choose from those installed: {known}.")


def toolbox(
    tools: Iterable[Tool[..., Any] | Callable[..., Any] | ToolSource] | None,
    settings: Mapping[str, ToolSettings] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Toolbox:
    """Return a toolbox of these tools (None: the built-in ones), with these settings, by name.

    Raises UsageError for a value that is not a tool.
    """
    settings = settings or {}
    if tools is None:
        return Toolbox(shipped_tools(), tools_on_request, settings, environment)
    how = "Pass a list of functions, or of functions decorated with @tool: tools=[…]."
    if isinstance(tools, str) or not hasattr(tools, "__iter__"):
        raise UsageError(f"tools is a {type(tools).__name__}, not a list", how)
    box = Toolbox((), tools_on_request, settings, environment)
    for each in tools:
        try:
            if (added := box.add(each)) is not None:
                _ = added.spec
        except (AttributeError, TypeError, ValueError) as error:  # a callable without a name or a signature
            raise UsageError(f"{each!r} cannot be used as a tool: {error}", how) from error
    return box


def needed_tools(state: RunState) -> list[ToolSpec]:
    """Return the pinned tools that the unfinished part of a run uses: all of them while it has no order."""
    if state.finished is not None:
        return []
    if not state.orders:
        return list(state.definition.tools)
    waiting = (each.step.subtask for each in state.steps.values() if each.status not in SETTLED)
    named = {subtask.tool for subtask in waiting if subtask is not None}
    return [spec for spec in state.definition.tools if spec.name in named]


def check_tools(needed: Iterable[ToolSpec], toolbox: Toolbox) -> None:
    """Raise ConfigurationError if this process lacks one of these tools."""
    for spec in needed:
        if spec.import_path and toolbox.bound(spec) is None:  # a worker as a tool has none
            raise ConfigurationError(
                f"the run needs the tool {spec.name} of {spec.import_path}, which is not available in this process",
                f"Pass {_given_by(spec)}, or with Leadhand(tools=[…]).",
            )


def _given_by(spec: ToolSpec) -> str:
    kind = spec.origin.partition(":")[0]
    flags = {"mcp": "its server with --mcp COMMAND_OR_URL", "openapi": "its document with --openapi FILE_OR_URL"}
    return flags.get(kind, "the tool with --tools FILE")


def check_hooks(hooks: Hooks, definition: RunDefinition) -> None:
    """Raise ConfigurationError if this process lacks a hook of a run."""
    if missing := hooks.missing(definition):
        raise ConfigurationError(
            f"the run is checked by the hook {missing[0]}, which is not in this process",
            "Pass the file of the hook with --hooks, name it in leadhand.toml (hooks = […]), or continue the run from"
            " the program that started it, with the same Leadhand(hooks=[…]).",
        )
