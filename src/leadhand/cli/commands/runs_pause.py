"""``leadhand runs pause``: park a run."""

from __future__ import annotations

from leadhand.app.requests import settle
from leadhand.cli.console import say
from leadhand.cli.exit_codes import Exit
from leadhand.cli.finding import definition_of, find_run
from leadhand.cli.options import HERE, Place, open_reader
from leadhand.cli.telling import tools_of
from leadhand.domain.errors import UsageError
from leadhand.domain.events import PauseRequested
from leadhand.domain.run import ENDED, RunStatus
from leadhand.runs import user


async def runs_pause(run_id: str, /, *, place: Place = HERE) -> int:
    """Park a run: what is finished is kept, what is under way is done again when it is resumed.

    Parameters
    ----------
    run_id
        The run, or the beginning of its id.
    """
    async with open_reader(place) as lead:
        runtime = await lead.runtime()
        listing = await find_run(runtime.store, run_id)
        definition = await definition_of(runtime.store, listing.run_id)
        resume = place.command("runs", "resume", listing.run_id, tools=tools_of(definition))
        if listing.status in ENDED:
            raise UsageError(
                f"run {listing.run_id} is finished ({listing.status.value})", "Only a run that goes on can be parked."
            )
        if listing.status is not RunStatus.PAUSED:
            request = PauseRequested(by=user(), reason=f"asked for by {user()}")
            status = await settle(runtime, listing, request, until=frozenset({RunStatus.PAUSED, *ENDED}))
            if status is not RunStatus.PAUSED:
                say(f"{listing.run_id} ended before it could be parked: {status.value}.")
                return Exit.FAILED
        say(f"{listing.run_id} is parked. Resume with: {resume}")
    return Exit.ANSWERED
