"""The tools that the unfinished part of a run needs: are they in this process, and has their code changed?"""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.domain.errors import ConfigurationError
from leadhand.domain.lifecycle import SETTLED
from leadhand.domain.state import RunState
from leadhand.domain.tool import ToolSpec
from leadhand.tools.toolbox import Toolbox


def needed_tools(state: RunState) -> list[ToolSpec]:
    """The pinned tools that the unfinished part of a run names: all of them before there is an order."""
    if state.finished is not None:
        return []
    if not state.orders:
        return list(state.definition.tools)
    waiting = (each.assignment.subtask for each in state.assignments.values() if each.status not in SETTLED)
    named = {subtask.tool for subtask in waiting if subtask is not None}
    return [tool for tool in state.definition.tools if tool.name in named]


def check_tools(needed: Iterable[ToolSpec], toolbox: Toolbox) -> None:
    """Raise ConfigurationError when one of these tools is not in this process."""
    for tool in needed:
        if toolbox.find(tool.name) is None:
            raise ConfigurationError(
                f"the run needs the tool {tool.name}, which came from {tool.import_path} and is not here",
                "Resume it where that tool is: with --tools FILE, or with Leadhand(tools=[…]).",
            )


def changed_tools(state: RunState, toolbox: Toolbox) -> list[ToolSpec]:
    """The tools that the unfinished part of a run needs and whose code is another now than when it was started."""
    here = {tool.name: tool.fingerprint for tool in toolbox.specs()}
    return [
        tool
        for tool in needed_tools(state)
        if tool.fingerprint and here.get(tool.name, tool.fingerprint) != tool.fingerprint
    ]
