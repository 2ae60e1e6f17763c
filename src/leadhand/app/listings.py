"""The runs of a database, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from leadhand.core.events import RunStarted
from leadhand.core.run import RunDefinition
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing

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
