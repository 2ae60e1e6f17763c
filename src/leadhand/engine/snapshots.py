"""Loads a run's state from its log, a long one from its latest snapshot on; snapshots may be lost at any time."""

from __future__ import annotations

import hashlib
import json
from functools import cache

from pydantic import TypeAdapter, ValidationError

from leadhand.domain.evolve import fold, replay
from leadhand.domain.state import RunState
from leadhand.ports import ContextStore

LONG = 5_000
"""Entries from which on a log is worth a snapshot: folding so many takes some tens of milliseconds."""


@cache
def _shape() -> tuple[TypeAdapter[RunState], str]:
    """How a state is written, and a digest of that: a snapshot of another shape is none."""
    adapter = TypeAdapter(RunState)
    schema = json.dumps(adapter.json_schema(mode="serialization"), sort_keys=True)
    return adapter, hashlib.sha256(schema.encode()).hexdigest()[:16]


async def load(store: ContextStore, run_id: str) -> RunState:
    """The state of a run as its log has it now. Raises NoSuchRun."""
    listing = await store.run(run_id)
    if listing.head_seq >= LONG:
        adapter, schema = _shape()
        kept = await store.snapshot(run_id, schema)
        if kept is not None:
            seq, body = kept
            try:
                return fold(adapter.validate_json(body), await store.read(run_id, after=seq))
            except ValidationError:
                pass  # a damaged cache is no cache; the log has it all
    return replay(run_id, await store.read(run_id))


async def keep(store: ContextStore, state: RunState) -> None:
    """Keep a snapshot of a long run's state."""
    if state.seq >= LONG:
        adapter, schema = _shape()
        await store.save_snapshot(state.run_id, state.seq, schema, adapter.dump_json(state))
