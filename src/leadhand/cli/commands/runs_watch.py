"""``leadhand runs watch``: follow a run that another process drives."""

from __future__ import annotations

import asyncio

from leadhand.api import Leadhand
from leadhand.cli.console import OutputClosed, say
from leadhand.cli.driving import Feed, code_of, new_view, print_outcome, say_end
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import definition_of, find_run
from leadhand.cli.options import ANSWER, HERE, Output, Place, open_reader
from leadhand.cli.telling import kept_in, opening, say_table, tools_of
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus
from leadhand.runs import Run

LOOK_EVERY_S = 0.2
UNDER_WAY = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})


async def runs_watch(run_id: str, /, *, output: Output = ANSWER, place: Place = HERE) -> int:
    """Follow a run until it ends, is parked, waits for people, or is left behind.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    """
    output.check()
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, run_id)
        definition = await definition_of(runtime.store, listing.run_id)
        say_table(opening(listing.run_id, definition, why="", kept=kept_in(runtime)))
        shown = new_view(output)
        feed = Feed(runtime.store, listing.run_id, shown, stream=output.stream_json)
        try:
            with shown.shown():
                listing = await _follow(lead, listing, feed)
        except asyncio.CancelledError:
            say("No longer watched; the run goes on.")
            raise
        if feed.closed:
            raise OutputClosed
        run = Run(runtime, await runtime.load(listing.run_id), drive=False)
        await print_outcome(run, run.state, output)
        resume = place.command("runs", "resume", listing.run_id, tools=tools_of(definition))
        say_end(run.state, place, resume=resume)
        if listing.orphan:
            say(f"The process that drove it is gone. Go on with it: {resume}")
            return Exit.FAILED
    return code_of(run.state)


async def _follow(lead: Leadhand, listing: RunListing, feed: Feed) -> RunListing:
    """Show the run until nothing more happens in it; its line then."""
    store = (await lead.runtime()).store
    reading = asyncio.ensure_future(feed.read())
    try:
        while listing.status in UNDER_WAY and not listing.orphan:
            await asyncio.wait({reading}, timeout=LOOK_EVERY_S)
            if reading.done():
                reading.result()
                return listing
            listing = await store.run(listing.run_id)
        await feed.reach(listing.head_seq, reading)
        return listing
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
