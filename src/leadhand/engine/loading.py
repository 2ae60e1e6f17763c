"""Load the state of a run from its log, or from an earlier state and what was written since."""

from __future__ import annotations

from leadhand.core.evolve import fold, replay
from leadhand.core.state import RunState
from leadhand.ports import ContextStore


async def load(store: ContextStore, run_id: str, known: RunState | None = None) -> RunState:
    """Return the current state of a run: from the state that is ``known``, if it is one of this run.

    Raises NoSuchRun.
    """
    listing = await store.run(run_id)
    if known is not None and known.created_at == listing.created_at and known.seq <= listing.head_seq:
        return known if known.seq == listing.head_seq else await catch_up(store, known)
    return replay(run_id, await store.read(run_id))


async def catch_up(store: ContextStore, state: RunState) -> RunState:
    """Return the current state of a run, from an earlier state."""
    entries = await store.read(state.run_id, after=state.seq)
    return fold(state, entries) if entries else state
