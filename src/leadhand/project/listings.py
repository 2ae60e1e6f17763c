"""The runs of a database, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from leadhand.domain.listing import RunListing
from leadhand.domain.run import RunStatus
from leadhand.ports import ContextStore

PAGE = 500


async def all_runs(store: ContextStore, status: RunStatus | None = None) -> AsyncIterator[RunListing]:
    """Every run, newest first."""
    before: str | None = None
    while page := await store.runs(status=status, limit=PAGE, before=before):
        for listing in page:
            yield listing
        if len(page) < PAGE:
            return
        before = page[-1].run_id
