"""A store of your own: every run in one JSON-lines file, for one process at a time.

Each append is one line, written and synchronised before it is acknowledged; opening the file reads all lines back. The
parts that every store needs come from Leadhand: `RunRecord` judges appends and keeps a run's allowance, status and open
approvals. `leadhand.testing.store_contract` is the test suite that every store must pass.

Run it with ``python examples/own_store.py``.
"""

import asyncio
import base64
import fcntl
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leadhand import Leadhand, NoSuchRun, StoreError, UsageError
from leadhand.core.budget import Account
from leadhand.core.events import AnyEvent, Entry, RunStarted
from leadhand.core.listing import HostLine, RunListing, RunRecord, StoreInfo
from leadhand.core.run_filter import listed


class JsonLinesStore:
    """A `leadhand.ports.ContextStore` in the file at `path`, which it creates and locks."""

    def __init__(self, path: Path) -> None:
        self.host = f"json-lines-{os.getpid()}"
        self._path = path
        self._records: dict[str, RunRecord] = {}
        self._shared: dict[str, Account] = {}
        self._blobs: dict[str, bytes] = {}
        self._news: dict[str, asyncio.Event] = {}
        # Caches: a store may forget them at any time, so this one keeps them in memory.
        self._snapshots: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._answers: dict[str, tuple[float, str]] = {}
        self._gates: dict[str, float] = {}
        self._failed: StoreError | None = None
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise StoreError(f"{path} is in use by another process", "wait until that process ends") from error
        self._read_back()

    async def create(self, run_id: str, started: RunStarted) -> Entry:
        if run_id in self._records:
            raise UsageError(f"run {run_id} already exists", "start the run under a new id")
        at = datetime.now(UTC)
        record = RunRecord(run_id, started, at, self.host, self._shared)
        (entry,) = self._keep(run_id, record.append([started], at))
        self._records[run_id] = record
        return entry

    def append(
        self, run_id: str, events: Sequence[AnyEvent], *, blobs: Mapping[str, bytes] | None = None, **fences: Any
    ) -> Awaitable[list[Entry]]:
        written: asyncio.Future[list[Entry]] = asyncio.get_running_loop().create_future()
        try:
            entries = self._record(run_id).append(events, datetime.now(UTC), **fences)
            written.set_result(self._keep(run_id, entries, blobs))
        except Exception as error:
            written.set_exception(error)
            written.exception()  # a caller that does not wait must not be warned about
        return written

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        return self._record(run_id).entries[after:][:limit]

    async def follow(self, run_id: str, after: int = 0) -> AsyncGenerator[list[Entry]]:
        record, news = self._record(run_id), self._news.setdefault(run_id, asyncio.Event())
        while True:
            news.clear()
            if entries := record.entries[after:]:
                after = entries[-1].seq
                yield entries
            else:
                await news.wait()

    async def claim(self, run_id: str, *, ended: bool = False) -> int:
        entry = self._record(run_id).claim(self.host, datetime.now(UTC), ended=ended)
        return self._keep(run_id, [entry])[0].epoch

    async def release(self, run_id: str, epoch: int) -> None:
        self._record(run_id).release(epoch)

    async def run(self, run_id: str) -> RunListing:
        return self._record(run_id).listing

    async def runs(self, *, limit: int = 50, before: str | None = None, **filters: Any) -> list[RunListing]:
        last = None if before is None else self._record(before).listing
        return listed(self._records.values(), datetime.now(UTC), last, **filters)[:limit]

    async def hosts(self) -> list[HostLine]:
        driven = tuple(run_id for run_id, record in self._records.items() if record.owner == self.host)
        return [HostLine(host=self.host, here=True, runs=driven)]

    async def about(self) -> StoreInfo:
        counts = Counter(record.listing.status for record in self._records.values())
        size = self._path.stat().st_size
        return StoreInfo(kind="json-lines", name=str(self._path), version=1, bytes=size or None, runs=dict(counts))

    async def blob(self, digest: str) -> bytes:
        return self._blobs[digest]

    async def save_snapshot(self, run_id: str, seq: int, schema: str, body: bytes) -> None:
        self._record(run_id)
        if self._snapshots.get((run_id, schema), (0, b""))[0] <= seq:
            self._snapshots[run_id, schema] = (seq, body)

    async def snapshot(self, run_id: str, schema: str) -> tuple[int, bytes] | None:
        self._record(run_id)
        return self._snapshots.get((run_id, schema))

    async def pass_gate(self, name: str, interval_s: float) -> float:
        free = max(time.monotonic(), self._gates.get(name, 0.0))
        self._gates[name] = free + interval_s
        return max(free - time.monotonic(), 0.0)

    async def hold_gate(self, name: str, seconds: float) -> None:
        self._gates[name] = max(time.monotonic() + seconds, self._gates.get(name, 0.0))

    async def cached(self, key: str) -> Any:
        expires_at, answer = self._answers.get(key, (0.0, "null"))
        return json.loads(answer) if expires_at > time.monotonic() else None

    async def cache(self, key: str, value: Any, ttl_s: float) -> None:
        self._answers[key] = (time.monotonic() + ttl_s, json.dumps(value))

    async def aclose(self) -> None:
        for record in self._records.values():
            record.release()
        self._file.close()

    def _record(self, run_id: str) -> RunRecord:
        if self._failed is not None:
            raise self._failed
        if run_id not in self._records:
            raise NoSuchRun(f"there is no run {run_id}", "list the runs: await store.runs()")
        return self._records[run_id]

    def _keep(self, run_id: str, entries: list[Entry], blobs: Mapping[str, bytes] | None = None) -> list[Entry]:
        """Write entries as one line, so that a crash leaves all of them or none."""
        bodies = {digest: base64.b64encode(body).decode() for digest, body in (blobs or {}).items()}
        kept = [entry.model_dump(mode="json", by_alias=True) for entry in entries]
        line = {"run_id": run_id, "entries": kept, "blobs": bodies}
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:  # memory is ahead of the file now, so nothing may build on it
            self._failed = StoreError(f"cannot write {self._path}: {error}", "free some space and start again")
            raise self._failed from error
        self._blobs.update(blobs or {})
        self._news.setdefault(run_id, asyncio.Event()).set()
        return entries

    def _read_back(self) -> None:
        logs: dict[str, list[Entry]] = {}
        self._file.seek(0)
        whole = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break  # a crash cut this line off, so its append was never acknowledged
            whole += len(line)
            kept = json.loads(line)
            logs.setdefault(kept["run_id"], []).extend(map(Entry.model_validate, kept["entries"]))
            self._blobs.update({digest: base64.b64decode(body) for digest, body in kept["blobs"].items()})
        self._file.truncate(whole)
        self._records = {run_id: RunRecord.of(run_id, entries, self._shared) for run_id, entries in logs.items()}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        answer = Leadhand(offline=True, store=JsonLinesStore(path)).run_sync("What is the weather in Paris?")
        print(answer)
        print(f"\n{answer.status} · {len(path.read_bytes().splitlines())} lines in {path.name}")
    return 0 if answer.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
