"""Call a tool by hand, outside a run, the way a worker calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from leadhand.app.clock import SystemClock
from leadhand.app.runtime import Runtime
from leadhand.core.events import AnyEvent, Entry
from leadhand.core.tool import CallState, ToolSpec
from leadhand.core.value import Json
from leadhand.engine.log import RunLog
from leadhand.engine.tool_calls import ToolCalls
from leadhand.ports import Toolbox

BY_HAND = "by-hand"


async def try_tool(
    runtime: Runtime, toolbox: Toolbox, spec: ToolSpec, args: dict[str, Json], *, offline: bool
) -> CallState:
    """Call a tool with valid arguments, with its timeout and classified failures."""
    log = _NoLog(runtime.store, BY_HAND, runtime.redactor)
    calls = ToolCalls(toolbox, runtime.web, SystemClock(), library=runtime.web.library)
    call_id = f"{BY_HAND}/t0/c0"
    if (failure := calls.unfit(spec, args)) is not None:
        return CallState(call_id=call_id, tool=spec.name, args=args, effect=spec.effect, failure=failure)
    settings = runtime.settings
    documents: dict[str, Any] = {"documents": settings.documents, "only_documents": settings.only_documents}
    return await calls.call(log, f"{BY_HAND}/a1", call_id, spec, args, offline=offline, **documents)


class _NoLog(RunLog):
    """A log for calls outside a run; it writes nothing."""

    def append(self, *events: AnyEvent, **_: object) -> Awaitable[list[Entry]]:
        nothing: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        nothing.set_result([])
        return nothing
