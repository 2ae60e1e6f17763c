"""``leadhand runs resume``: resume runs that were paused or whose process died."""

from __future__ import annotations

from typing import Annotated

from leadhand.api import Leadhand
from leadhand.app.listings import all_runs
from leadhand.app.toolsets import needed_tools
from leadhand.cli.errors import Exit
from leadhand.cli.options import (
    DEFAULT_DRIVER,
    DEFAULT_OUTPUT,
    DriverFlags,
    Flag,
    Output,
    SameTools,
    StoreFlags,
    open_reader,
)
from leadhand.cli.resume_run import resume_run
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.streams import say
from leadhand.cli.tool_files import all_tools
from leadhand.domain.errors import UsageError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.domain.tool import ToolSpec
from leadhand.runs import Run


async def runs_resume(
    run_id: Annotated[str | None, Flag("The run's id, or the beginning of it.", "RUN")] = None,
    /,
    *,
    all: Annotated[bool, Flag("Resume every run that is paused or whose process died, oldest first.")] = False,
    tools: SameTools = (),
    output: Output = DEFAULT_OUTPUT,
    store: DriverFlags = DEFAULT_DRIVER,
) -> int:
    """Resume a run that was paused or whose process died."""
    output.check()
    if (run_id is None) is not all:
        raise UsageError("name one run, or use --all", "See: leadhand runs list")
    all_tools(tools)  # so that a wrong --tools fails first
    wanted = await _wanted(store, run_id)
    if not wanted:
        say("No run to resume: none is paused, and no process died.")
    codes: list[int] = []
    for each, definition, needed in wanted:

        async def take(lead: Leadhand, run_id: str = each) -> Run:
            return await lead.resume(run_id)

        code = await resume_run(definition, needed, take, tools=tools, output=output, store=store)
        codes.append(code or Exit.ANSWERED)
        if codes[-1] == Exit.INTERRUPTED:
            break
    return next((code for code in codes if code), Exit.ANSWERED)


async def _wanted(store: StoreFlags, run_id: str | None) -> list[tuple[str, RunDefinition, list[ToolSpec]]]:
    """Return the runs to resume, oldest first, with their definitions and the tools they still need."""
    async with open_reader(store) as reader:
        runtime = await reader.runtime()
        if run_id is not None:
            found = [await find_run(runtime.store, run_id)]
        else:
            found = [listing async for listing in all_runs(runtime.store) if _can_resume(listing)]
        states = [await runtime.load(each.run_id) for each in reversed(found)]
        return [(state.run_id, state.definition, needed_tools(state)) for state in states]


def _can_resume(listing: RunListing) -> bool:
    return listing.orphan or (listing.status is RunStatus.PAUSED and listing.owner is None)
