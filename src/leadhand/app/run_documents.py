"""Run documents of the runs in a database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from leadhand.app.host_waits import host_wait
from leadhand.app.new_limits import proposed_limits
from leadhand.core.document.report_task import ReportTask
from leadhand.core.document.run_document import run_document
from leadhand.core.document.shapes import RunDocument, RunLine
from leadhand.core.limits import usd
from leadhand.core.run import ENDED
from leadhand.core.state import RunState
from leadhand.engine import snapshots
from leadhand.flows.unjudged import judgement_of
from leadhand.ports import ContextStore
from leadhand.ports.runs import RunListing


async def document_of(
    store: ContextStore,
    run_id: str,
    held: RunState | None,
    task: Callable[[RunState], ReportTask | None],
    followed_by: Callable[[RunListing], Awaitable[list[str]]],
) -> RunDocument:
    """Return the document of a run as of now; ``held`` is its state here, if it is driven here. Raises NoSuchRun."""
    entries = await store.read(run_id)
    state, listing = await snapshots.replayed(store, run_id, entries, held), await store.run(run_id)
    return run_document(
        state,
        entries,
        owner=listing.owner,
        task=task(state),
        followed_by=await followed_by(listing),
        wait=await host_wait(store, state, listing),
        proposed=proposed_limits(state),
        judgement=judgement_of(state),
    )


def run_line(listing: RunListing) -> RunLine:
    """Return a run in a list; its process releases it only some time after its end."""
    same = listing.model_dump(exclude={"head_seq", "epoch", "nanousd", "unpriced", "owner", "key_id", "follows"})
    owner = None if listing.status in ENDED else listing.owner
    cost_usd = None if listing.unpriced else usd(listing.nanousd)
    return RunLine(last_seq=listing.head_seq, cost_usd=cost_usd, owner=owner, follows=listing.follows or None, **same)
