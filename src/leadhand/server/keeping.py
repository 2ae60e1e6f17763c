"""Sees to it that no run of the service stays where it is: those left behind, those answered, those whose time is up.

Only detached runs: what somebody parked or left in a terminal is theirs to go on with.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from leadhand.domain.approval import ApprovalStatus
from leadhand.domain.decisions import due
from leadhand.domain.errors import ConfigurationError, LeadhandError, RunOwned, StoreError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.project.listings import PAGE
from leadhand.server.service import Service

LOGGER = logging.getLogger("leadhand.server")
EVERY_S = 1.0


class Keeper:
    """Looks once a second; each look is a query or two, whatever the number of runs that are over."""

    def __init__(self, service: Service, *, every_s: float = EVERY_S) -> None:
        self._service = service
        self._runtime = service.runtime
        self._every_s = every_s
        self._resting: dict[str, tuple[int, datetime | None]] = {}
        self._refused: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._failed = False

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.get_running_loop().create_task(self._look_on(), name="keeper of runs")

    async def aclose(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look_on(self) -> None:
        while True:
            try:
                await self.look()
                self._failed = False
            except StoreError as error:
                if not self._failed:
                    LOGGER.warning("runs cannot be looked after while the database does not answer: %s", error.what)
                self._failed = True
            await asyncio.sleep(self._every_s)

    async def look(self) -> None:
        """Go on with every run that should go on and that nobody drives. Raises StoreError."""
        store = self._runtime.store
        for status in (RunStatus.QUEUED, RunStatus.RUNNING):
            for listing in await store.runs(status=status, detached=True, limit=PAGE):
                if listing.orphan and self._refused.get(listing.run_id) != listing.head_seq:
                    LOGGER.info("going on with run %s, which its process left behind", listing.run_id)
                    await self._take(listing)
        waiting = await store.runs(status=RunStatus.WAITING, detached=True, limit=PAGE)
        for listing in waiting:
            if listing.owner is None and await self._can_go_on(listing):
                await self._take(listing)
        self._resting = {each.run_id: self._resting[each.run_id] for each in waiting if each.run_id in self._resting}

    async def _can_go_on(self, listing: RunListing) -> bool:
        """Whether a run that waits for people need not wait longer. Its log is read only when it has changed."""
        if self._refused.get(listing.run_id) == listing.head_seq:
            return False
        known = self._resting.get(listing.run_id)
        if known is not None and known[0] == listing.head_seq:
            return known[1] is not None and known[1] <= datetime.now(UTC)
        state = await self._runtime.load(listing.run_id)
        if due(state):
            return True
        self._resting[listing.run_id] = (listing.head_seq, first_end(state))
        return False

    async def _take(self, listing: RunListing) -> None:
        try:
            self._service.drive(await self._runtime.reopen(listing.run_id, ended=False))
        except RunOwned:
            return  # somebody was quicker
        except StoreError:
            raise
        except ConfigurationError as error:
            self._refused[listing.run_id] = listing.head_seq
            LOGGER.warning("run %s cannot go on here: %s %s", listing.run_id, error.what, error.how)
        except LeadhandError as error:
            self._refused[listing.run_id] = listing.head_seq
            LOGGER.error("run %s cannot go on: %s", listing.run_id, error)


def first_end(state: RunState) -> datetime | None:
    """When the first of a run's open questions ends by itself."""
    ends = [
        approval.expires_at
        for approval in state.approvals.values()
        if approval.status is ApprovalStatus.PENDING and approval.expires_at is not None
    ]
    return min(ends, default=None)
