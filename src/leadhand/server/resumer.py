"""Sees to it that no run of the service stays where it is: those left behind, those answered, those whose time is up.

Only detached runs: what somebody parked or left in a terminal is theirs to go on with.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from leadhand.app.listings import all_runs
from leadhand.domain.approval import ApprovalStatus
from leadhand.domain.decide import due
from leadhand.domain.errors import LeadhandError, RunOwned, StoreError
from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus
from leadhand.domain.state import RunState
from leadhand.server.service import Service

LOGGER = logging.getLogger("leadhand.server")
EVERY_S = 1.0


class Keeper:
    """Looks once a second; each look is a query or two, whatever the number of runs that are over.

    A run that cannot go on is told of once, and costs the others nothing.
    """

    def __init__(self, service: Service, *, every_s: float = EVERY_S) -> None:
        self._service = service
        self._runtime = service.runtime
        self._every_s = every_s
        self._resting: dict[str, tuple[int, datetime | None]] = {}
        self._refused: dict[str, int] = {}
        """Runs that cannot go on here, and the head of their log then: they are tried again when it has moved."""
        self._told: dict[str, str] = {}
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
            async for listing in all_runs(store, status=status, detached=True):
                if listing.orphan and self._may_be_tried(listing):
                    await self._keep(listing, self._take_orphan)
        waiting = [listing async for listing in all_runs(store, status=RunStatus.WAITING, detached=True)]
        for listing in waiting:
            if listing.owner is None and self._may_be_tried(listing):
                await self._keep(listing, self._take_answered)
        self._resting = {each.run_id: self._resting[each.run_id] for each in waiting if each.run_id in self._resting}

    def _may_be_tried(self, listing: RunListing) -> bool:
        return self._refused.get(listing.run_id) != listing.head_seq and self._service.may_go_on(listing.run_id)

    async def _keep(self, listing: RunListing, go_on: Callable[[RunListing], Awaitable[None]]) -> None:
        """Go on with a run; one that cannot is told of, once, and left as it is."""
        run_id = listing.run_id
        try:
            await go_on(listing)
            self._told.pop(run_id, None)
        except RunOwned:
            return  # somebody was quicker
        except StoreError as error:  # it may be this run alone, or the database, which comes back
            self._tell(run_id, f"cannot be read: {error.what}")
        except LeadhandError as error:
            self._refused[run_id] = listing.head_seq
            self._tell(run_id, f"cannot go on here: {error.what} {error.how}")
        except Exception:
            self._refused[run_id] = listing.head_seq
            LOGGER.exception("run %s cannot go on", run_id)

    def _tell(self, run_id: str, what: str) -> None:
        if self._told.get(run_id) != what:
            self._told[run_id] = what
            LOGGER.warning("run %s %s", run_id, what)

    async def _take_orphan(self, listing: RunListing) -> None:
        state = await self._runtime.reopen(listing.run_id, ended=False)
        LOGGER.info("going on with run %s, which its process left behind", listing.run_id)
        self._service.drive(state)

    async def _take_answered(self, listing: RunListing) -> None:
        """Go on with a run that waits for people, if it need not wait longer. Its log is read when it has changed."""
        known = self._resting.get(listing.run_id)
        if known is not None and known[0] == listing.head_seq:
            if known[1] is None or known[1] > datetime.now(UTC):
                return
        else:
            state = await self._runtime.load(listing.run_id)
            if not due(state):
                self._resting[listing.run_id] = (listing.head_seq, first_end(state))
                return
        self._service.drive(await self._runtime.reopen(listing.run_id, ended=False))


def first_end(state: RunState) -> datetime | None:
    """When the first of a run's open questions ends by itself."""
    ends = [
        approval.expires_at
        for approval in state.approvals.values()
        if approval.status is ApprovalStatus.PENDING and approval.expires_at is not None
    ]
    return min(ends, default=None)
