"""Send a request to a run and wait for its effect, driving the run if no other process does."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from leadhand.app.runtime import Runtime
from leadhand.domain.errors import LeadhandError, RunOwned, UsageError
from leadhand.domain.events import CancelRequested, PauseRequested
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus

ANSWERED_WITHIN_S = 30.0
LOOK_EVERY_S = 0.05


async def settle(
    runtime: Runtime, listing: RunListing, request: CancelRequested | PauseRequested, *, until: Collection[RunStatus]
) -> RunStatus:
    """Append a request, wait until the run has one of these statuses, and return the status.

    Raises LeadhandError if the process that drives the run does not react.
    """
    await runtime.log(listing.run_id).append(request)
    for _ in range(round(ANSWERED_WITHIN_S / LOOK_EVERY_S)):
        listing = await runtime.store.run(listing.run_id)
        if listing.status in until:
            return listing.status
        if listing.owner is None:
            try:
                await runtime.store.claim(listing.run_id)
            except (RunOwned, UsageError):
                continue  # another process was faster: it reads the request or has ended the run
            return (await runtime.drive(await runtime.load(listing.run_id))).status
        await asyncio.sleep(LOOK_EVERY_S)
    raise LeadhandError(
        f"the process that drives {listing.run_id} ({listing.owner}) does not react",
        "The request is recorded. To apply it now, end that process and try again.",
    )
