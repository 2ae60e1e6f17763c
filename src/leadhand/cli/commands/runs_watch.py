"""``leadhand runs watch``: follow a run that another process drives."""

from __future__ import annotations

import asyncio

from leadhand.cli.errors import Exit
from leadhand.cli.foreground import Transcript, code_of, new_view, print_result, say_end
from leadhand.cli.options import DEFAULT_OUTPUT, DEFAULT_STORE, Output, RunId, StoreFlags, open_reader
from leadhand.cli.run_lookup import definition_of, find_run
from leadhand.cli.terminal.messages import database_name, opening, say_table, tools_of
from leadhand.cli.terminal.streams import say
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus
from leadhand.ports import ContextStore
from leadhand.runs import Run

POLL_S = 0.2
ACTIVE = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})


async def runs_watch(run_id: RunId, /, *, output: Output = DEFAULT_OUTPUT, store: StoreFlags = DEFAULT_STORE) -> int:
    """Follow a run until it ends, pauses, waits, or its process dies."""
    output.check()
    async with open_reader(store) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, run_id)
        definition = await definition_of(runtime.store, listing.run_id)
        say_table(opening(listing.run_id, definition, why="", database=database_name(runtime)))
        shown = new_view(output)
        try:
            with shown.shown():
                transcript = Transcript(shown, stream=output.stream_json)
                listing = await _follow(runtime.store, listing, transcript)
        except asyncio.CancelledError:
            say("Stopped watching. The run continues.")
            raise
        run = Run(runtime, await runtime.load(listing.run_id), drive=False)
        await print_result(run, run.state, output)
        resume = store.command("runs", "resume", listing.run_id, tools=tools_of(definition))
        say_end(run.state, store, resume=resume)
        if listing.orphan:
            say(f"The process of this run died. Resume with: {resume}")
            return Exit.FAILED
    return code_of(run.state)


async def _follow(log: ContextStore, listing: RunListing, transcript: Transcript) -> RunListing:
    """Show a run until it rests or its process dies; return its listing then."""
    following = asyncio.ensure_future(transcript.follow(log, listing.run_id))
    try:
        while listing.status in ACTIVE and not listing.orphan and not following.done():
            await asyncio.wait({following}, timeout=POLL_S)
            listing = await log.run(listing.run_id)
    finally:
        following.cancel()
        (failed,) = await asyncio.gather(following, return_exceptions=True)
    if isinstance(failed, Exception):
        raise failed
    await transcript.catch_up(log, listing.run_id)
    return listing
