"""``leadhand runs cancel``: end a run for good."""

from __future__ import annotations

from leadhand.app.requests import settle
from leadhand.cli.console import say
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import find_run
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.domain.errors import UsageError
from leadhand.domain.events import CancelRequested
from leadhand.domain.run import ENDED, RunStatus
from leadhand.runs import user


async def runs_cancel(run_id: str, /, *, place: Place = HERE) -> int:
    """End a run for good: nothing new starts, requests in flight are closed, what is finished stays on record.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    """
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, run_id)
        if listing.status is RunStatus.CANCELLED:
            say(f"{listing.run_id} is cancelled already.")
            return Exit.ANSWERED
        if listing.status in ENDED:
            raise UsageError(
                f"run {listing.run_id} is finished ({listing.status.value})",
                f"Read it with: {place.command('runs', 'show', listing.run_id)}",
            )
        status = await settle(runtime, listing, CancelRequested(by=user()), until=ENDED)
        if status is not RunStatus.CANCELLED:
            say(f"{listing.run_id} ended before it could be cancelled: {status.value}.")
            return Exit.FAILED
        say(f"{listing.run_id} is cancelled. What it found: {place.command('runs', 'show', listing.run_id)}")
    return Exit.ANSWERED
