"""A context store in memory: the port without a disk, for tests and for runs nobody will want to resume."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime, timedelta

from leadhand.domain.access import ApiKey
from leadhand.domain.agents import AgentSettings
from leadhand.domain.asking import Question, still_open
from leadhand.domain.errors import Fenced, NoSuchRun, RunOwned, UsageError
from leadhand.domain.events import AnyEvent, AttemptLost, AttemptSettled, Entry, RunClaimed, RunStarted
from leadhand.domain.listing import HostLine, RunListing, StoreInfo, listing_change
from leadhand.domain.run import ENDED, RunStatus
from leadhand.domain.value import Json
from leadhand.ports import Clock, StaleAttempt
from leadhand.stores.api_keys import key_exists, no_such_key
from leadhand.stores.budget import METERED, Budget, ceilings, counted


class MemoryStore:
    """Everything in dictionaries; one process, nothing survives it. ``clock`` stamps the entries."""

    def __init__(self, clock: Clock, host: str = "memory") -> None:
        self._clock = clock
        self._host = host
        self._logs: dict[str, list[Entry]] = {}
        self._listings: dict[str, RunListing] = {}
        self._budgets: dict[str, Budget] = {}
        self._asking: dict[str, dict[str, Question]] = {}
        self._keys: dict[str, ApiKey] = {}
        self._agents: dict[str, AgentSettings] = {}
        self._over: set[tuple[str, str]] = set()
        self._blobs: dict[str, bytes] = {}
        self._snapshots: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._gates: dict[str, datetime] = {}
        self._cache: dict[str, tuple[float, str]] = {}
        self._changed: dict[str, asyncio.Event] = {}

    @property
    def host(self) -> str:
        return self._host

    async def create(self, run_id: str, started: RunStarted) -> Entry:
        if run_id in self._listings:
            raise UsageError(f"run {run_id} exists already", "start the run under a new id")
        definition = started.definition
        now = self._clock.now()
        self._logs[run_id] = []
        self._budgets[run_id] = Budget(ceilings(definition.limits.ceiling), counted(definition.held_back))
        self._listings[run_id] = RunListing(
            run_id=run_id,
            flow=definition.flow,
            request=definition.request[:200],
            status=RunStatus.RUNNING,
            model=definition.models.default,
            created_at=now,
            head_seq=0,
            epoch=1,
            owner=self._host,
            detached=definition.detached,
        )
        return self._write(run_id, [started], now)[0]

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
            self._admit(run_id, events, epoch, current)
            self._blobs.update(blobs or {})
            written.set_result(self._write(run_id, events, self._clock.now()))
        except Exception as error:
            written.set_exception(error)
        return written

    def _admit(self, run_id: str, events: Sequence[AnyEvent], epoch: int | None, current: str | None) -> None:
        """Take what the events reserve, or raise what refuses them; then nothing of them has happened."""
        if epoch not in (None, self._listing(run_id).epoch):
            raise Fenced(f"run {run_id} has another owner", "Follow it, or wait until that process has ended.")
        if current is not None and (run_id, current) in self._over:
            raise StaleAttempt(f"{current} is over", "Its result no longer counts.")
        self._budgets[run_id].apply(event for event in events if isinstance(event, METERED))

    def _write(self, run_id: str, events: Sequence[AnyEvent], now: datetime) -> list[Entry]:
        listing = self._listing(run_id)
        entries = [
            Entry(seq=listing.head_seq + n, at=now, epoch=listing.epoch, event=event)
            for n, event in enumerate(events, start=1)
        ]
        self._logs[run_id] += entries
        self._over |= {(run_id, event.attempt) for event in events if isinstance(event, AttemptSettled | AttemptLost)}
        change = listing_change(list(events))
        if change.status is not None:
            finished_at = now if change.status in ENDED else None
            listing = listing.evolve(status=change.status, finished_at=finished_at)
        self._listings[run_id] = listing.evolve(
            head_seq=listing.head_seq + len(events),
            subtasks=listing.subtasks + change.subtasks,
            completed=listing.completed + change.completed,
            failed=listing.failed + change.failed,
        )
        self._asking[run_id] = still_open(self._asking.get(run_id, {}), events, now)
        self._changed.setdefault(run_id, asyncio.Event()).set()
        return entries

    def _listing(self, run_id: str) -> RunListing:
        if run_id not in self._listings:
            raise NoSuchRun(f"there is no run {run_id}", "List the runs there are: leadhand runs list")
        return self._listings[run_id]

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        self._listing(run_id)
        found = self._logs[run_id][after:]
        return found if limit is None else found[:limit]

    async def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        self._listing(run_id)
        changed = self._changed.setdefault(run_id, asyncio.Event())
        while True:
            changed.clear()
            entries = self._logs[run_id][after:]
            if entries:
                after = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        listing = self._listing(run_id)
        if listing.status in ENDED and not ended:
            raise UsageError(f"run {run_id} is finished", f"See what came of it: leadhand runs show {run_id}")
        if listing.owner is not None:
            raise RunOwned(f"run {run_id} is driven by {listing.owner}", f"Follow it: leadhand runs watch {run_id}")
        self._listings[run_id] = listing.evolve(epoch=listing.epoch + 1, owner=self._host)
        self._write(run_id, [RunClaimed(owner=self._host)], self._clock.now())
        return listing.epoch + 1

    async def release(self, run_id: str, epoch: int) -> None:
        listing = self._listing(run_id)
        if listing.epoch == epoch:
            self._listings[run_id] = listing.evolve(owner=None)

    async def run(self, run_id: str) -> RunListing:
        listing = self._listing(run_id)
        orphan = listing.owner is None and listing.status in (RunStatus.RUNNING, RunStatus.QUEUED)
        requests, tokens, nanousd = self._budgets[run_id].spent
        asking = 0 if listing.status in ENDED else len(self._asking[run_id])
        return listing.evolve(orphan=orphan, asking=asking, requests=requests, tokens=tokens, nanousd=nanousd)

    async def runs(
        self,
        *,
        status: RunStatus | None = None,
        text: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        asking: bool = False,
        detached: bool | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[RunListing]:
        newest_first = list(reversed(self._listings))  # a dictionary keeps the order in which they were made
        if before is not None:
            self._listing(before)
            newest_first = newest_first[newest_first.index(before) + 1 :]
        found = [await self.run(run_id) for run_id in newest_first]
        wanted = [
            run
            for run in found
            if status in (None, run.status)
            and text.lower() in run.request.lower()
            and (since is None or run.created_at >= since)
            and (until is None or run.created_at < until)
            and (run.asking or not asking)
            and detached in (None, run.detached)
        ]
        return wanted[:limit]

    async def hosts(self) -> list[HostLine]:
        driven = tuple(run_id for run_id, listing in self._listings.items() if listing.owner == self._host)
        return [HostLine(host=self._host, here=True, runs=driven)]

    async def about(self) -> StoreInfo:
        counts = Counter(listing.status for listing in self._listings.values())
        return StoreInfo(kind="memory", name="memory", version=0, runs=dict(counts))

    async def add_key(self, key: ApiKey) -> None:
        if any(key.key_id == other.key_id or key.digest == other.digest for other in self._keys.values()):
            raise key_exists(key.key_id)
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

    async def agents(self) -> list[AgentSettings]:
        return sorted(self._agents.values(), key=lambda agent: agent.name)

    async def set_agent(self, agent: AgentSettings) -> None:
        self._agents[agent.name] = agent

    async def unset_agent(self, name: str) -> None:
        self._agents.pop(name, None)

    async def blob(self, digest: str) -> bytes:
        return self._blobs[digest]

    async def save_snapshot(self, run_id: str, seq: int, schema: str, body: bytes) -> None:
        self._listing(run_id)
        kept = self._snapshots.get((run_id, schema))
        if kept is None or kept[0] <= seq:
            self._snapshots[run_id, schema] = (seq, body)

    async def snapshot(self, run_id: str, schema: str) -> tuple[int, bytes] | None:
        self._listing(run_id)
        return self._snapshots.get((run_id, schema))

    async def pass_gate(self, name: str, interval_s: float) -> float:
        now = self._clock.now()
        free = max(now, self._gates.get(name, now))
        self._gates[name] = free + timedelta(seconds=interval_s)
        return (free - now).total_seconds()

    async def hold_gate(self, name: str, seconds: float) -> None:
        until = self._clock.now() + timedelta(seconds=seconds)
        self._gates[name] = max(until, self._gates.get(name, until))

    async def cached(self, key: str) -> Json | None:
        kept = self._cache.get(key)
        return json.loads(kept[1]) if kept is not None and kept[0] > self._clock.now().timestamp() else None

    async def cache(self, key: str, value: Json, ttl_s: float) -> None:
        self._cache[key] = (self._clock.now().timestamp() + ttl_s, json.dumps(value))

    async def aclose(self) -> None:
        for run_id, listing in self._listings.items():
            if listing.owner == self._host:
                self._listings[run_id] = listing.evolve(owner=None)
