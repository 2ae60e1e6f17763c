"""The upkeep that a server does: it indexes runs for searches, and deletes those that are no longer kept."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from leadhand.app.runtime.driver import Periodic
from leadhand.app.runtime.listings import Retention
from leadhand.app.runtime.runtime import Runtime
from leadhand.app.steering.questions import delete_runs

LOGGER = logging.getLogger("leadhand.server")
INDEX_EVERY_S = 30.0
DELETE_EVERY_S = 3_600.0


class Upkeep(Periodic):
    """The upkeep of a server: indexes runs that have come to rest, and once an hour deletes those that are not kept."""

    name = "upkeep"
    stopped = "runs are not indexed or deleted"
    logger = LOGGER

    def __init__(self, runtime: Runtime, kept: Retention, *, every_s: float = INDEX_EVERY_S) -> None:
        super().__init__(every_s)
        self._kept = kept
        self._looked_at: datetime | None = None
        """When it last looked for runs to delete."""
        self._runtime = runtime

    async def look(self) -> None:
        """Delete what is not kept, if it is time, and index what is new. Raises StoreError."""
        store, now = self._runtime.database, datetime.now(UTC)
        due = self._looked_at is None or (now - self._looked_at).total_seconds() >= DELETE_EVERY_S
        if self._kept and due:
            self._looked_at = now
            await self._delete(now)
        await store.index_runs()

    async def _delete(self, now: datetime) -> None:
        store = self._runtime.database
        # Servers that share a database take turns: another has just looked.
        if not await store.cache_new("retention", None, DELETE_EVERY_S / 2):
            return
        expired = await self._kept.expired(store, now)
        if not expired:
            return
        deleted = await delete_runs(self._runtime, [run.run_id for run in expired], ended_only=True)
        LOGGER.info("deleted %d runs that are no longer kept", len(deleted))
