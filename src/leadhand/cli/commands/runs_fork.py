"""``leadhand runs fork``: another run that begins as one did, up to an event of its log."""

from __future__ import annotations

import json

from leadhand.api import Leadhand
from leadhand.app import operator
from leadhand.app.formatting import one_line
from leadhand.app.runtime import needed_tools
from leadhand.cli.asking import agreed
from leadhand.cli.console import may_ask, say
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import find_run
from leadhand.cli.options import ANSWER, HERE, Output, Place, open_reader
from leadhand.cli.own_tools import all_tools
from leadhand.cli.taking_up import carry_on
from leadhand.domain.errors import UsageError
from leadhand.engine.forking import MadeEffect
from leadhand.runs import Run


async def runs_fork(
    run_id: str,
    /,
    *,
    at: int,
    yes: bool = False,
    tools: tuple[str, ...] = (),
    output: Output = ANSWER,
    place: Place = HERE,
) -> int:
    """Make another run that begins as this one did, up to an event of its log, and carry it out from there.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    at
        The last event that both have, by its number: leadhand runs export lists them.
    yes
        Do it, although the first run did things after that event which cannot be taken back.
    tools
        Add the tools of this Python file or module (may be given again): those the run was started with.
    """
    output.check()
    all_tools(tools)
    async with open_reader(place) as reader:
        runtime = await reader.runtime()
        listing = await find_run(runtime.store, run_id)
        cut = await operator.cut(runtime, listing.run_id, at)
    if cut.done:
        _tell(cut.done, at)
        if not yes and not may_ask():
            raise UsageError(
                f"after event {at} the run did what cannot be taken back, and the fork may do it again",
                "If that is well, confirm it with --yes.",
            )
        if not yes and not agreed("The fork may do it again. Go on? (yes or no)"):
            say("Nothing was forked.")
            return Exit.USAGE

    async def take(lead: Leadhand) -> Run:
        run = await lead.fork(listing.run_id, at, confirmed=True)
        say(f"{run.run_id} begins as {listing.run_id} did, up to event {at}.")
        return run

    needed = needed_tools(cut.state)
    return await carry_on(cut.state.definition, needed, take, tools=tools, output=output, place=place) or Exit.ANSWERED


def _tell(done: list[MadeEffect], at: int) -> None:
    """List what the first run did after the cut."""
    say(f"After event {at} the run did what cannot be taken back:")
    for each in done:
        say(f"  {one_line(f'event {each.seq}: {each.tool} {json.dumps(each.args, ensure_ascii=False)}')}")
