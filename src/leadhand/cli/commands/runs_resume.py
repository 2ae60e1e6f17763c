"""``leadhand runs resume``: go on with runs that were parked or left behind."""

from __future__ import annotations

from leadhand.api import Leadhand
from leadhand.app.listings import all_runs
from leadhand.app.runtime import needed_tools
from leadhand.cli.console import say
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import find_run
from leadhand.cli.options import ANSWER, HERE, Output, Place, open_reader
from leadhand.cli.own_tools import all_tools
from leadhand.cli.taking_up import carry_on
from leadhand.domain.errors import UsageError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunDefinition, RunStatus
from leadhand.domain.tool import ToolSpec
from leadhand.runs import Run


async def runs_resume(
    run_id: str | None = None,
    /,
    *,
    all: bool = False,
    tools: tuple[str, ...] = (),
    output: Output = ANSWER,
    place: Place = HERE,
) -> int:
    """Go on with a run that was parked or left behind.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    all
        Go on with every run that is parked or was left behind, one after the other, oldest first.
    tools
        Add the tools of this Python file or module (may be given again): those the run was started with.
    """
    output.check()
    if (run_id is None) is not all:
        raise UsageError("name one run, or --all of them", "leadhand runs list shows what there is.")
    all_tools(tools)  # what is wrong with them is said first
    wanted = await _wanted(place, run_id)
    if not wanted:
        say("No run is parked, and none was left behind.")
    codes: list[int] = []
    for each, definition, needed in wanted:

        async def take(lead: Leadhand, run_id: str = each) -> Run:
            return await lead.resume(run_id)

        code = await carry_on(definition, needed, take, tools=tools, output=output, place=place)
        codes.append(code or Exit.ANSWERED)
        if codes[-1] == Exit.INTERRUPTED:
            break
    return next((code for code in codes if code), Exit.ANSWERED)


async def _wanted(place: Place, run_id: str | None) -> list[tuple[str, RunDefinition, list[ToolSpec]]]:
    """The runs to go on with, oldest first, what they are pinned to, and the tools they still need."""
    async with open_reader(place) as reader:
        runtime = await reader.runtime()
        if run_id is not None:
            found = [await find_run(runtime.store, run_id)]
        else:
            found = [listing async for listing in all_runs(runtime.store) if _is_left(listing)]
        states = [await runtime.load(each.run_id) for each in reversed(found)]
        return [(state.run_id, state.definition, needed_tools(state)) for state in states]


def _is_left(listing: RunListing) -> bool:
    return listing.orphan or (listing.status is RunStatus.PAUSED and listing.owner is None)
