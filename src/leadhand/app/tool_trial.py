"""Trying a tool by hand: as a worker would call it, and belonging to no run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

from leadhand.app.clock import SystemClock
from leadhand.app.runtime import Runtime
from leadhand.domain.events import AnyEvent, Entry
from leadhand.domain.tool import ToolResult, ToolSpec
from leadhand.domain.value import Json
from leadhand.engine.log import RunLog
from leadhand.engine.tool_calls import ToolCalls
from leadhand.ports import Toolbox

BY_HAND = "by-hand"


async def try_tool(
    runtime: Runtime, toolbox: Toolbox, spec: ToolSpec, args: dict[str, Json], *, offline: bool
) -> ToolResult:
    """Call a tool of this toolbox with arguments that fit its schema: bounded in time, failures classed."""
    log = _NoLog(runtime.store, BY_HAND, runtime.redactor)
    calls = ToolCalls(toolbox, runtime.web, SystemClock())
    return await calls.call(log, f"{BY_HAND}/a1", f"{BY_HAND}/t0/c0", spec, args, offline=offline)


class _NoLog(RunLog):
    """The log of a call that belongs to no run: nothing is written."""

    def append(
        self,
        *events: AnyEvent,
        epoch: int | None = None,
        current: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
    ) -> Awaitable[list[Entry]]:
        nothing: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        nothing.set_result([])
        return nothing
