"""One run as a store holds it in memory: its entries, and all that follows from them.

Judges appends (fences, allowance), numbers the entries, and folds them into the run's line in lists. A store writes the
entries that :meth:`RunRecord.append` returns, and after a restart rebuilds the record with :meth:`RunRecord.of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from .allowance import METERED, Budget
from .errors import Fenced, RunOwned, StaleAttempt, UsageError
from .events import AnyEvent, AttemptLost, AttemptSettled, Entry, RunClaimed, RunStarted
from .listing import APPROVAL_EVENTS, OpenApproval, RunListing, listing_change, open_approvals_after
from .run import ENDED, RunStatus

REQUEST_SHOWN = 200
"""Characters of a request that lists show."""


class RunRecord:
    """A run's entries, its line in lists, its budget, its open approvals, and which of its attempts are over."""

    def __init__(self, run_id: str, started: RunStarted, at: datetime, owner: str | None) -> None:
        definition = started.definition
        self.entries: list[Entry] = []
        self._budget = Budget.of(definition)
        self._approvals: dict[str, OpenApproval] = {}
        self._over: set[str] = set()
        self._listing = RunListing(
            run_id=run_id,
            flow=definition.flow,
            request=definition.request[:REQUEST_SHOWN],
            status=RunStatus.QUEUED,
            model=definition.models.default,
            created_at=at,
            head_seq=0,
            epoch=1,
            owner=owner,
            detached=definition.detached,
        )

    @classmethod
    def of(cls, run_id: str, entries: Sequence[Entry]) -> RunRecord:
        """Rebuild the record of a run without an owner from all of its entries."""
        started = entries[0].event
        assert isinstance(started, RunStarted)
        record = cls(run_id, started, entries[0].at, None)
        for entry in entries:
            record._apply([entry])
        return record

    @property
    def owner(self) -> str | None:
        """The host that drives the run."""
        return self._listing.owner

    @property
    def listing(self) -> RunListing:
        """The run's line in lists."""
        listing = self._listing
        requests, tokens, nanousd = self._budget.run.spent
        return listing.evolve(
            head_seq=len(self.entries),
            orphan=listing.owner is None and listing.status in (RunStatus.RUNNING, RunStatus.QUEUED),
            asking=0 if listing.status in ENDED else len(self._approvals),
            requests=requests,
            tokens=tokens,
            nanousd=nanousd,
        )

    def append(
        self, events: Sequence[AnyEvent], at: datetime, *, epoch: int | None = None, current: str | None = None
    ) -> list[Entry]:
        """Judge the events, all or none, and return them as entries; see :meth:`leadhand.ports.ContextStore.append`.

        Raises Fenced, StaleAttempt or AllowanceRefused; then nothing has changed.
        """
        listing = self._listing
        if epoch not in (None, listing.epoch):
            raise Fenced(f"run {listing.run_id} has another owner", "follow the run, or wait until that process ends")
        if current is not None and current in self._over:
            raise StaleAttempt(f"attempt {current} of run {listing.run_id} is over; its call must not begin")
        entries = [
            Entry(seq=seq, at=at, epoch=listing.epoch, event=event)
            for seq, event in enumerate(events, start=len(self.entries) + 1)
        ]
        if entries:
            self._apply(entries)
        return entries

    def claim(self, host: str, at: datetime, *, ended: bool = False) -> Entry:
        """Make ``host`` the owner under a new epoch and return the entry that says so.

        Raises RunOwned if the run has an owner, and UsageError if it is finished and ``ended`` is false.
        """
        listing = self._listing
        if listing.status in ENDED and not ended:
            raise UsageError(
                f"run {listing.run_id} is finished", f"see its answer: leadhand runs show {listing.run_id}"
            )
        if listing.owner is not None:
            raise RunOwned(
                f"run {listing.run_id} is driven by {listing.owner}", f"follow it: leadhand runs watch {listing.run_id}"
            )
        self._listing = listing.evolve(epoch=listing.epoch + 1, owner=host)
        return self.append([RunClaimed(owner=host)], at)[0]

    def release(self, epoch: int | None = None) -> None:
        """Remove the owner; with ``epoch``, only the owner of that epoch."""
        if epoch in (None, self._listing.epoch):
            self._listing = self._listing.evolve(owner=None)

    def _apply(self, entries: Sequence[Entry]) -> None:
        """Fold entries of one moment. Raises AllowanceRefused; then nothing has changed."""
        events = [entry.event for entry in entries]
        metered = [event for event in events if isinstance(event, METERED)]
        if metered:
            self._budget.apply(metered)
        last = entries[-1]
        self.entries += entries
        self._over |= {event.attempt for event in events if isinstance(event, AttemptSettled | AttemptLost)}
        if any(isinstance(event, APPROVAL_EVENTS) for event in events):
            self._approvals = open_approvals_after(self._approvals, events, last.at)
        listing = self._listing
        change = listing_change(events)
        if last.epoch == listing.epoch and not any(change):
            return
        finished_at = listing.finished_at
        if change.status is not None:
            finished_at = last.at if change.status in ENDED else None
        self._listing = listing.evolve(
            status=change.status or listing.status,
            finished_at=finished_at,
            epoch=last.epoch,
            subtasks=listing.subtasks + change.subtasks,
            completed=listing.completed + change.completed,
            failed=listing.failed + change.failed,
        )
