"""The runs of a database, page by page, how long finished ones are kept, and how they are deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from leadhand.app.export.formatting import one_line
from leadhand.core.errors import UsageError
from leadhand.core.events import RunStarted
from leadhand.core.limits import seconds
from leadhand.core.run import ENDED, RunDefinition
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing

if TYPE_CHECKING:
    from leadhand.app.project.manifest import Project

PAGE = 500


async def all_runs(store: ContextStore, **filters: Any) -> AsyncIterator[RunListing]:
    """Every run that meets the filters of :meth:`leadhand.ports.ContextStore.runs`, newest first."""
    before: str | None = None
    while page := await store.runs(**filters, limit=PAGE, before=before):
        for listing in page:
            yield listing
        if len(page) < PAGE:
            return
        before = page[-1].run_id


async def definition_of(store: ContextStore, run_id: str) -> RunDefinition:
    """Return the definition of a run, from its first entry. Raises NoSuchRun, UnreadableRun and StoreError."""
    (first,) = await store.read(run_id, limit=1)
    assert isinstance(first.event, RunStarted)
    return first.event.definition


LONGEST_AGE_S = 365_000 * 86_400


def duration(given: object, where: str) -> timedelta:
    """Return a duration such as ``90m``, ``12h``, ``30d`` or ``8w``, given to ``where``. Raises UsageError."""
    found = seconds(given)
    if not isinstance(found, float) or not found:
        how = "Give a number above 0 and a unit, s, m, h, d or w: 30d."
        raise UsageError(f"invalid value for {where}: {one_line(str(given))}", how)
    return timedelta(seconds=min(found, LONGEST_AGE_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Finished runs are kept for this time after their end, and at most so many of them. None: no limit."""

    keep_for: timedelta | None = None
    keep_runs: int | None = None

    def __bool__(self) -> bool:
        return self.keep_for is not None or self.keep_runs is not None

    async def expired(self, store: ContextStore, now: datetime) -> list[RunListing]:
        """Return the finished runs that are no longer kept, newest first. Runs that have not finished are kept."""
        oldest = None if self.keep_for is None else now - self.keep_for
        expired: list[RunListing] = []
        finished = 0
        async for run in all_runs(store, until=oldest if self.keep_runs is None else None):
            if run.status not in ENDED or run.finished_at is None:
                continue
            finished += 1
            too_many = self.keep_runs is not None and finished > self.keep_runs
            if too_many or (oldest is not None and run.finished_at < oldest):
                expired.append(run)
        return expired


def retention(keep_for: str | float | None, keep_runs: int | None, project: Project | None = None) -> Retention:
    """Return the retention that flags set, else that of the project. Raises UsageError."""
    if project is not None:
        keep_for = keep_for or project.manifest.retention.keep_for
        keep_runs = project.manifest.retention.keep_runs if keep_runs is None else keep_runs
    if keep_runs is not None and keep_runs < 1:
        raise UsageError(f"invalid value for --keep-runs: {keep_runs}", "Give 1 or more.")
    return Retention(keep_for=None if keep_for is None else duration(keep_for, "--keep-for"), keep_runs=keep_runs)
