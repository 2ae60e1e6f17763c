"""Call a tool by hand, outside a run, the way a worker calls it."""

from __future__ import annotations

from leadhand.app.runtime.clock import SystemClock
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.tool import CallState, ToolReturn, ToolSpec
from leadhand.core.value import Json
from leadhand.engine.calls.tool_calls import ToolCalls
from leadhand.tools.toolbox import Toolbox

BY_HAND = "by-hand"


async def try_tool(
    runtime: Runtime, toolbox: Toolbox, spec: ToolSpec, args: dict[str, Json], *, offline: bool
) -> CallState:
    """Call a tool with valid arguments, with its timeout and classified failures."""
    calls = ToolCalls(
        toolbox.bound, runtime.web, SystemClock(), runtime.store, runtime.web.library, deps=toolbox.deps_of
    )
    spec = spec.called_with(args)
    call = CallState(call_id=f"{BY_HAND}/t0/c0", tool=spec.name, args=args, effect=spec.effect)
    if (failure := calls.unfit(spec, args)) is not None:
        return call._replace(failure=failure)
    settings = runtime.settings
    context = calls.context(BY_HAND, call.call_id, offline, settings.documents, settings.only_documents)
    returned, failure = await calls.run(spec, args, context)
    said = returned or ToolReturn()
    return call._replace(
        summary=said.summary, raw=said.raw, sources=said.sources, sample=said.sample, asks=said.asks, failure=failure
    )
