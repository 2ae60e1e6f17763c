"""The runs of a database, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from leadhand.domain.listing import RunListing
from leadhand.ports import ContextStore

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
