"""Load a run's state from its latest snapshot and the log after it. Snapshots can be deleted at any time."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from leadhand.core.errors import StoreError
from leadhand.core.evolve import fold, replay
from leadhand.core.state import RunState
from leadhand.core.value import frozen
from leadhand.ports import ContextStore

EVERY = 20_000
"""The most entries between two snapshots of a run that is being driven: at first there are as many as entries before,
so that a host that joins a run folds at most half of its log, and snapshots of a growing state stay few.
"""
LONG = 5_000
"""Minimum entries of a log with a snapshot: folding that many takes some tens of milliseconds."""
CORE = Path(__file__).parents[1] / "core"


@cache
def _shape() -> str:
    """Return a digest of the code that defines a state; a snapshot with another digest is ignored.

    To write the JSON schema of the state instead takes longer than to fold the shortest log that has a snapshot.
    """
    code = b"".join(file.read_bytes() for file in sorted(CORE.rglob("*.py")))
    return hashlib.sha256(code).hexdigest()[:16]


@cache
def _adapter() -> TypeAdapter[RunState]:
    return TypeAdapter(RunState)


def _parse(body: bytes) -> RunState:
    """Return the state in the body of a snapshot. Raises ValueError for one that is damaged."""
    state = _adapter().validate_json(body)
    return replace(state, **{each.name: frozen(getattr(state, each.name)) for each in fields(state)})


async def load(store: ContextStore, run_id: str, known: RunState | None = None) -> RunState:
    """Return the current state of a run: from the state that is ``known``, if it is one of this run.

    Raises NoSuchRun.
    """
    listing = await store.run(run_id)
    if known is not None and known.created_at == listing.created_at and known.seq <= listing.head_seq:
        return known if known.seq == listing.head_seq else await catch_up(store, known)
    kept = await _kept(store, run_id) if listing.head_seq >= LONG else None
    if kept is not None:
        return fold(kept, await store.read(run_id, after=kept.seq))
    return replay(run_id, await store.read(run_id))


async def _kept(store: ContextStore, run_id: str) -> RunState | None:
    """Return the state in the latest snapshot of a run; None if it has no snapshot, or a damaged one."""
    kept = await store.snapshot(run_id, _shape())
    if kept is not None:
        with contextlib.suppress(ValueError):  # a damaged snapshot is ignored; the log has everything
            return await asyncio.to_thread(_parse, kept[1])
    return None


async def catch_up(store: ContextStore, state: RunState) -> RunState:
    """Return the current state of a run, from an earlier state."""
    entries = await store.read(state.run_id, after=state.seq)
    return fold(state, entries) if entries else state


async def keep(store: ContextStore, state: RunState) -> None:
    """Store a snapshot of a long run's state. Errors of the store are ignored, since a snapshot is only a cache."""
    if state.seq >= LONG:
        with contextlib.suppress(StoreError):
            await store.save_snapshot(
                state.run_id, state.seq, _shape(), await asyncio.to_thread(_adapter().dump_json, state)
            )


class SnapshotKeeper:
    """Stores snapshots of a run while it is driven, so that it loads faster after its process was killed."""

    def __init__(self, store: ContextStore, state: RunState) -> None:
        self._store = store
        self._kept = state.seq
        self._keeping: asyncio.Task[None] | None = None

    def note(self, state: RunState) -> None:
        """Store a snapshot if there are enough new entries; returns at once."""
        enough = min(EVERY, max(LONG, self._kept))
        if state.seq - self._kept >= enough and (self._keeping is None or self._keeping.done()):
            self._kept = state.seq
            self._keeping = asyncio.get_running_loop().create_task(keep(self._store, state))

    async def rest(self, state: RunState) -> None:
        """Store a snapshot of a run at rest, from which it will continue. For a finished run, which is only read, do so
        only if there are enough new entries."""
        if state.finished is None or state.seq - self._kept >= EVERY:
            await keep(self._store, state)

    async def aclose(self) -> None:
        """Wait for a snapshot that is being stored."""
        if self._keeping is not None:
            await asyncio.gather(self._keeping, return_exceptions=True)
