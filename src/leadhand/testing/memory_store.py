"""A context store in memory: the port without a disk, for tests and for runs that need not be resumed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Unpack

from leadhand.core.access import ApiKey, key_exists, no_such_key
from leadhand.core.artifact import digest_of
from leadhand.core.budget import Account
from leadhand.core.errors import UsageError, no_such_run
from leadhand.core.events import AnyEvent, ArtifactWritten, Entry, RunStarted
from leadhand.core.hosts import HostLine
from leadhand.core.listing import RunListing, RunRecord, StoreInfo, earlier_file, may_share, newest_files
from leadhand.core.run import EarlierFile
from leadhand.core.run_filter import RunFilter, listed
from leadhand.core.value import Json
from leadhand.ports import Clock


class MemoryArtifacts:
    """An :class:`~leadhand.ports.ArtifactStore` in a dictionary."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    async def put(self, content: bytes) -> str:
        digest = digest_of(content)
        self._contents[digest] = bytes(content)
        return digest

    async def get(self, digest: str) -> bytes:
        return self._contents[digest]

    async def has(self, digest: str) -> bool:
        return digest in self._contents


class MemoryStore:
    """Everything in dictionaries, for one process; nothing survives it. ``clock`` dates the entries."""

    def __init__(self, clock: Clock, host: str = "memory") -> None:
        self.host = host
        self.artifacts = MemoryArtifacts()
        self._clock = clock
        self._records: dict[str, RunRecord] = {}
        self._shared: dict[str, Account] = {}
        self._keys: dict[str, ApiKey] = {}
        self._blobs: dict[str, bytes] = {}
        self._snapshots: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._gates: dict[str, tuple[datetime, datetime]] = {}
        self._cache: dict[str, tuple[float, str]] = {}
        self._changed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def create(self, run_id: str, started: RunStarted) -> Entry:
        if run_id in self._records:
            raise UsageError(f"run {run_id} exists already", "start the run under a new id")
        now = self._clock.now()
        self._records[run_id] = record = RunRecord(run_id, started, now, self.host, self._shared)
        return record.append([started], now)[0]

    def append(
        self,
        run_id: str,
        events: Sequence[AnyEvent],
        *,
        epoch: int | None = None,
        current: str | None = None,
        blobs: Mapping[str, bytes] | None = None,
    ) -> asyncio.Future[list[Entry]]:
        written: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        try:
            entries = self._record(run_id).append(events, self._clock.now(), epoch=epoch, current=current)
        except Exception as error:
            written.set_exception(error)
            return written
        self._blobs.update(blobs or {})
        self._changed[run_id].set()
        written.set_result(entries)
        return written

    def _record(self, run_id: str) -> RunRecord:
        if run_id not in self._records:
            raise no_such_run(run_id)
        return self._records[run_id]

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return self._record(run_id).entries[after:][:limit]

    async def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        record, changed = self._record(run_id), self._changed[run_id]
        while True:
            changed.clear()
            entries = record.entries[after:]
            if entries:
                after = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        entry = self._record(run_id).claim(self.host, self._clock.now(), ended=ended)
        self._changed[run_id].set()
        return entry.epoch

    async def release(self, run_id: str, epoch: int) -> None:
        self._record(run_id).release(epoch)

    async def run(self, run_id: str) -> RunListing:
        return self._record(run_id).listing

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        last = None if before is None else self._record(before).listing
        return listed(self._records.values(), self._clock.now(), last, **filters)[:limit]

    async def earlier_files(
        self, flow: str, key_id: str, limit: int, *, offline: bool, documents: str
    ) -> list[EarlierFile]:
        written = [
            earlier_file(entry.event.path, entry.event, run_id, entry.at)
            for run_id, record in self._records.items()
            if (record.listing.flow, record.listing.key_id) == (flow, key_id)
            and may_share(record.place, offline, documents)
            for entry in record.entries
            if isinstance(entry.event, ArtifactWritten)
        ]
        return newest_files(sorted(written, key=lambda file: file.at)[::-1], limit)

    async def hosts(self) -> list[HostLine]:
        driven = tuple(run_id for run_id, record in self._records.items() if record.owner == self.host)
        return [HostLine(host=self.host, here=True, runs=driven)]

    async def about(self) -> StoreInfo:
        counts = Counter(record.listing.status for record in self._records.values())
        return StoreInfo(kind="memory", name="memory", version=0, runs=dict(counts))

    async def add_key(self, key: ApiKey) -> None:
        if any(
            key.key_id == other.key_id
            or key.digest == other.digest
            or (key.name == other.name and key.revoked_at is other.revoked_at is None)
            for other in self._keys.values()
        ):
            raise key_exists(key)
        self._keys[key.key_id] = key

    async def keys(self) -> list[ApiKey]:
        by_id = sorted(self._keys.values(), key=lambda key: key.key_id)
        return sorted(by_id, key=lambda key: key.created_at, reverse=True)

    async def key_of(self, digest: str) -> ApiKey | None:
        return next((key for key in self._keys.values() if key.digest == digest), None)

    async def revoke_key(self, key_id: str) -> ApiKey:
        if key_id not in self._keys:
            raise no_such_key(key_id)
        key = self._keys[key_id]
        if key.revoked_at is None:
            self._keys[key_id] = key.evolve(revoked_at=self._clock.now())
        return self._keys[key_id]

    async def used_key(self, key_id: str, at: datetime) -> None:
        key = self._keys.get(key_id)
        if key is not None and (key.last_used_at is None or key.last_used_at < at):
            self._keys[key_id] = key.evolve(last_used_at=at)

    async def blob(self, digest: str) -> bytes:
        return self._blobs[digest]

    async def save_snapshot(self, run_id: str, seq: int, schema: str, body: bytes) -> None:
        self._record(run_id)
        kept = self._snapshots.get((run_id, schema))
        if kept is None or kept[0] <= seq:
            self._snapshots[run_id, schema] = (seq, body)

    async def snapshot(self, run_id: str, schema: str) -> tuple[int, bytes] | None:
        self._record(run_id)
        return self._snapshots.get((run_id, schema))

    async def pass_gate(self, name: str, interval_s: float) -> float:
        now = self._clock.now()
        free = self._free_at(name, now)
        self._gates[name] = free + timedelta(seconds=interval_s), now
        return (free - now).total_seconds()

    async def hold_gate(self, name: str, seconds: float) -> None:
        now = self._clock.now()
        self._gates[name] = max(now + timedelta(seconds=seconds), self._free_at(name, now)), now

    def _free_at(self, name: str, now: datetime) -> datetime:
        free_at, used_at = self._gates.get(name, (now, now))
        return max(now, now + (free_at - used_at) if used_at > now else free_at)

    async def cached(self, key: str) -> Json | None:
        kept = self._cache.get(key)
        return json.loads(kept[1]) if kept is not None and kept[0] > self._clock.now().timestamp() else None

    async def cache(self, key: str, value: Json, ttl_s: float) -> None:
        self._cache[key] = (self._clock.now().timestamp() + ttl_s, json.dumps(value))

    async def cache_new(self, key: str, value: Json, ttl_s: float, *, instead_of: Json = None) -> bool:
        until, kept = self._cache.get(key, (0.0, ""))
        there = until > self._clock.now().timestamp() and (instead_of is None or json.loads(kept) != instead_of)
        if not there:
            await self.cache(key, value, ttl_s)
        return not there

    async def aclose(self) -> None:
        for record in self._records.values():
            record.release()
