"""``leadhand runs fork``: start a new run from an event of an earlier one."""

from __future__ import annotations

import json
from typing import Annotated

from leadhand.api import Leadhand
from leadhand.app import operator
from leadhand.app.formatting import one_line
from leadhand.app.toolsets import needed_tools
from leadhand.cli.errors import Exit
from leadhand.cli.options import (
    DEFAULT_DRIVER,
    DEFAULT_OUTPUT,
    DriverFlags,
    Flag,
    Output,
    RunId,
    SameTools,
    open_reader,
)
from leadhand.cli.resume_run import resume_run
from leadhand.cli.run_lookup import find_run
from leadhand.cli.terminal.prompt import confirmed
from leadhand.cli.terminal.streams import can_prompt, say
from leadhand.cli.tool_files import all_tools
from leadhand.domain.errors import UsageError
from leadhand.engine.forking import MadeEffect
from leadhand.runs import Run


async def runs_fork(
    run_id: RunId,
    /,
    *,
    at: Annotated[int, Flag("The last event to keep, by its number. leadhand runs export lists the events.", "SEQ")],
    yes: Annotated[bool, Flag("Fork even if the run made irreversible calls after that event.")] = False,
    tools: SameTools = (),
    output: Output = DEFAULT_OUTPUT,
    store: DriverFlags = DEFAULT_DRIVER,
) -> int:
    """Start a new run with the events of this one up to ``at``, and drive it from there."""
    output.check()
    all_tools(tools)
    async with open_reader(store) as reader:
        runtime = await reader.runtime()
        listing = await find_run(runtime.store, run_id)
        cut = await operator.cut(runtime, listing.run_id, at)
    if cut.done:
        _say_calls(cut.done, at)
        if not yes and not can_prompt():
            raise UsageError(
                f"after event {at} the run made irreversible calls, and the fork may repeat them",
                "Add --yes to fork anyway.",
            )
        if not yes and not confirmed("The fork may repeat them. Continue? (yes or no)"):
            say("Not forked.")
            return Exit.USAGE

    async def take(lead: Leadhand) -> Run:
        run = await lead.fork(listing.run_id, at, confirmed=True)
        say(f"{run.run_id} is a fork of {listing.run_id} at event {at}.")
        return run

    needed = needed_tools(cut.state)
    code = await resume_run(cut.state.definition, needed, take, tools=tools, output=output, store=store)
    return code or Exit.ANSWERED


def _say_calls(done: list[MadeEffect], at: int) -> None:
    """List the irreversible calls that the earlier run made after the event."""
    say(f"After event {at} the run made irreversible calls:")
    for each in done:
        say(f"  {one_line(f'event {each.seq}: {each.tool} {json.dumps(each.args, ensure_ascii=False)}')}")
