"""Asks something of a run: of the process that drives it, or, when that is gone, by driving the run that far."""

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
    """Append a request and wait until the run has one of these statuses, which is returned.

    Raises LeadhandError when the process that drives it does not react.
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
                continue  # somebody was quicker: either reads the request, or has ended the run
            return (await runtime.drive(await runtime.load(listing.run_id))).status
        await asyncio.sleep(LOOK_EVERY_S)
    raise LeadhandError(
        f"the process that drives {listing.run_id} ({listing.owner}) does not react",
        "The request is on record and will be seen when it does; or end that process, and ask again.",
    )
