"""A context store in memory: the port without a disk, for tests and for runs that need not be resumed."""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Unpack

from leadhand.core.artifact import FileVersion, digest_of, newest_files
from leadhand.core.budget import METERED, Account, Budget
from leadhand.core.errors import Fenced, RunOwned, StaleAttempt, UsageError, no_such_run
from leadhand.core.events import (
    AnyEvent,
    ArtifactWritten,
    AttemptReturned,
    Entry,
    ModelCallReturned,
    RunClaimed,
    RunStarted,
    StepSettled,
)
from leadhand.core.run import ENDED
from leadhand.core.secret import Secret
from leadhand.core.value import Json
from leadhand.ports import Clock
from leadhand.ports.heads import RunHead, status_after
from leadhand.ports.hosts import HostLine
from leadhand.ports.runs import (
    DRIVEN,
    REQUEST_SHOWN,
    STATUS_ORDER,
    RunFilter,
    RunListing,
    RunSort,
    duration_s,
)


class RunRecord:
    """A run's entries, its line in lists, its budget, and which of its attempts are over."""

    def __init__(
        self, run_id: str, started: RunStarted, at: datetime, owner: str | None, shared: dict[str, Account]
    ) -> None:
        """``shared`` are the accounts that the store's runs share."""
        definition = started.definition
        self.place = (definition.offline, definition.documents)
        self.run_id = run_id
        self.entries: list[Entry] = []
        self.head = RunHead(0)
        self._budget = Budget(Account(definition.limits.ceiling), shared)
        self._over: set[str] = set()
        self._line: dict[str, Any] = {
            "run_id": run_id,
            "flow": definition.flow,
            "request": definition.request[:REQUEST_SHOWN],
            "model": definition.models.default,
            "created_at": at,
            "epoch": 1,
            "owner": owner,
            "detached": definition.detached,
            "key_id": definition.key_id,
            "follows": definition.follows.run_id if definition.follows is not None else "",
            "name": definition.name,
            "tags": definition.tags,
        }

    @property
    def owner(self) -> str | None:
        """The host that drives the run."""
        return self._line["owner"]

    @property
    def listing(self) -> RunListing:
        """The run's line in lists."""
        spent = asdict(self._budget.run.spent)
        orphan = self.owner is None and self._line["status"] in DRIVEN
        head = {name: value for name, value in self.head._asdict().items() if name != "seq"}
        return RunListing(head_seq=len(self.entries), orphan=orphan, **head, **spent, **self._line)

    def append(
        self,
        events: Sequence[AnyEvent],
        at: datetime,
        *,
        epoch: int | None = None,
        current: str | None = None,
        head: RunHead | None = None,
    ) -> list[Entry]:
        """Accept all events or none, and return them as entries; see :meth:`leadhand.ports.ContextStore.append`.

        Raises Fenced, StaleAttempt or BudgetRefused; then nothing has changed.
        """
        run_id, owned = self.run_id, self._line["epoch"]
        if epoch not in (None, owned):
            raise Fenced(f"run {run_id} has another owner", "watch the run, or wait until that process ends")
        if current is not None and current in self._over:
            raise StaleAttempt(f"attempt {current} of run {run_id} has ended, so it must not start another call")
        last = len(self.entries) + len(events)
        entries = [
            Entry(seq=seq, at=at, epoch=owned, event=event)
            for seq, event in enumerate(events, start=len(self.entries) + 1)
        ]
        self.add(entries, head if head is not None and (epoch is not None or head.seq == last) else None)
        return entries

    def add(self, entries: Sequence[Entry], head: RunHead | None = None) -> None:
        """Add entries that may be added, and the head after them. Raises BudgetRefused; then nothing has changed."""
        self._budget.apply([entry.event for entry in entries if isinstance(entry.event, METERED)])
        self.entries += entries
        for entry in entries:
            self._line["epoch"] = entry.epoch
            match entry.event:
                case StepSettled() | AttemptReturned():
                    self._over.add(entry.event.subject)
                case ModelCallReturned() if entry.event.usage is not None and entry.event.usage.nanousd is None:
                    self._line["unpriced"] = True
                case _:
                    status = status_after(entry.event)
                    if status is not None:
                        self._line |= {"status": status, "finished_at": entry.at if status in ENDED else None}
        if head is not None:
            self.head = head

    def claim(self, host: str, at: datetime, *, ended: bool = False) -> Entry:
        """Make ``host`` the owner under a new epoch and return the entry that records it.

        Raises RunOwned if the run has an owner, and UsageError if it is finished and ``ended`` is false.
        """
        run_id = self.run_id
        if self._line["status"] in ENDED and not ended:
            raise UsageError(f"run {run_id} is finished", f"see its answer: leadhand runs show {run_id}")
        if self.owner is not None:
            raise RunOwned(f"run {run_id} is driven by {self.owner}", f"follow it: leadhand runs watch {run_id}")
        self._line |= {"epoch": self._line["epoch"] + 1, "owner": host}
        return self.append([RunClaimed(owner=host)], at)[0]

    def release(self, epoch: int | None = None) -> None:
        """Remove the owner; with ``epoch``, only the owner of that epoch."""
        if epoch in (None, self._line["epoch"]):
            self._line["owner"] = None


class MemoryStore:
    """Everything in dictionaries, for one process; nothing survives it. ``clock`` dates the entries.

    It does not search in the words of runs.
    """

    def __init__(self, clock: Clock, host: str = "memory") -> None:
        self.host = host
        self.records: dict[str, RunRecord] = {}
        self.shared: dict[str, Account] = {}
        self.blobs: dict[str, bytes] = {}
        self.secret_key = os.urandom(32)
        self.kept_secrets: dict[str, dict[tuple[str, str], Secret]] = {}
        self._clock = clock
        self._gates: dict[str, tuple[datetime, datetime]] = {}
        self._cache: dict[str, tuple[float, str]] = {}
        self._changed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def create(self, run_id: str, started: RunStarted, *, secrets: Sequence[Secret] = ()) -> Entry:
        if run_id in self.records:
            raise UsageError(f"run {run_id} exists already", "start the run under a new id")
        now = self._clock.now()
        record = RunRecord(run_id, started, now, self.host, self.shared)
        (entry,) = self.keep(record, record.append([started], now))
        self.records[run_id] = record
        self._keep_secrets(run_id, secrets)
        return entry

    def append(
        self,
        run_id: str,
        events: Sequence[AnyEvent],
        *,
        blobs: Mapping[str, bytes] | None = None,
        secrets: Sequence[Secret] = (),
        **fences: Any,
    ) -> asyncio.Future[list[Entry]]:
        written: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        try:
            record = self.record(run_id)
            entries = record.append(events, self._clock.now(), **fences)
            self._keep_secrets(run_id, secrets)
            written.set_result(self.keep(record, entries, blobs))
        except Exception as error:
            written.set_exception(error)
            written.exception()  # a caller that does not wait must not be warned about
        return written

    def keep(self, record: RunRecord, entries: list[Entry], blobs: Mapping[str, bytes] | None = None) -> list[Entry]:
        """Store what a run accepted, wake who follows the run, and return the entries."""
        self.blobs.update(blobs or {})
        self._changed[record.run_id].set()
        return entries

    def _keep_secrets(self, run_id: str, secrets: Sequence[Secret]) -> None:
        for secret in secrets:
            self.kept_secrets.setdefault(run_id, {}).setdefault((secret.secret_id, secret.origin), secret)

    async def secrets(self, run_id: str) -> list[Secret]:
        return [*self.kept_secrets.get(run_id, {}).values()]

    def record(self, run_id: str) -> RunRecord:
        """Return the record of a run. Raises NoSuchRun."""
        if run_id not in self.records:
            raise no_such_run(run_id)
        return self.records[run_id]

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return self.record(run_id).entries[after:][:limit]

    async def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        record, changed = self.record(run_id), self._changed[run_id]
        while True:
            changed.clear()
            entries = record.entries[after:]
            if entries:
                after = entries[-1].seq
                yield entries
            else:
                await changed.wait()

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        record = self.record(run_id)
        return self.keep(record, [record.claim(self.host, self._clock.now(), ended=ended)])[0].epoch

    async def release(self, run_id: str, epoch: int) -> None:
        self.record(run_id).release(epoch)

    async def run(self, run_id: str) -> RunListing:
        return self.record(run_id).listing

    async def runs(
        self, *, limit: int = 50, before: str | None = None, **filters: Unpack[RunFilter]
    ) -> list[RunListing]:
        last, now = None if before is None else self.record(before).listing, self._clock.now()
        runs = sorted((record.listing for record in self.records.values()), key=_sort_key(filters, now))
        if not filters.get("ascending"):
            runs.reverse()
        if last is not None:
            runs = runs[runs.index(last) + 1 :]
        return [run for run in runs if _matches(run, filters, now)][:limit]

    async def earlier_files(
        self, flow: str, key_id: str, limit: int, *, offline: bool, documents: str
    ) -> list[FileVersion]:
        written = [
            FileVersion(**entry.event.model_dump(exclude={"type", "attempt"}), run_id=run_id, at=entry.at)
            for run_id, record in self.records.items()
            if (record.listing.flow, record.listing.key_id) == (flow, key_id)
            and record.place in ((offline, ""), (offline, documents))
            for entry in record.entries
            if isinstance(entry.event, ArtifactWritten)
        ]
        return newest_files(sorted(written, key=lambda file: file.at)[::-1], limit)

    async def hosts(self) -> list[HostLine]:
        driven = tuple(run_id for run_id, record in self.records.items() if record.owner == self.host)
        return [HostLine(host=self.host, here=True, runs=driven)]

    async def blob(self, digest: str) -> bytes:
        return self.blobs[digest]

    async def put_blob(self, content: bytes) -> str:
        self.blobs[digest := digest_of(content)] = bytes(content)
        return digest

    async def keep_blobs(self, digests: Collection[str]) -> set[str]:
        return {digest for digest in digests if digest in self.blobs}

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

    async def aclose(self) -> None:
        for record in self.records.values():
            record.release()


def _sort_key(filters: RunFilter, now: datetime) -> Callable[[RunListing], Any]:
    match RunSort(filters.get("sort", RunSort.CREATED)):
        case RunSort.CREATED:
            return lambda run: run.created_at
        case RunSort.COST:
            return lambda run: run.nanousd
        case RunSort.DURATION:
            return lambda run: duration_s(run, now)
        case RunSort.STATUS:
            return lambda run: STATUS_ORDER[run.status]
        case RunSort.FLOW:
            return lambda run: run.flow


def _matches(run: RunListing, filters: RunFilter, now: datetime) -> bool:
    """Whether a run meets every filter but ``search``."""
    since, until = filters.get("since"), filters.get("until")
    return (
        all(filters.get(name) in (None, getattr(run, name)) for name in _EQUAL)
        and filters.get("text", "").lower() in f"{run.name}\n{run.request}".lower()
        and (since is None or run.created_at >= since)
        and (until is None or run.created_at < until)
        and _within(run.nanousd / 1e9, filters.get("min_cost_usd"), filters.get("max_cost_usd"))
        and _within(duration_s(run, now), filters.get("min_duration_s"), filters.get("max_duration_s"))
        and (run.asking > 0 or not filters.get("asking"))
        and filters.get("tags", {}).items() <= run.tags.items()
    )


_EQUAL = ("status", "flow", "detached", "key_id", "follows")


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)
