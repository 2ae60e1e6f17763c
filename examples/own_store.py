"""A store of your own: every run in one JSON-lines file, for one process at a time.

Each append is one line, written and synchronised before it is acknowledged; opening the file reads all lines back. The
rest comes from `MemoryStore`, which judges appends and keeps the allowance and the status of every run. The tests that
every store must pass are in the repository, in `tests/stores/contract`.

Run it with ``python examples/own_store.py``.
"""

import base64
import fcntl
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from leadhand import Leadhand, StoreError
from leadhand.app.clock import SystemClock
from leadhand.core.events import Entry, RunStarted
from leadhand.ports.heads import RunHead
from leadhand.ports.runs import StoreInfo
from leadhand.testing.memory_store import MemoryStore, RunRecord


class JsonLinesStore(MemoryStore):
    """A `leadhand.ports.ContextStore` in the file at `path`, which it creates and locks."""

    def __init__(self, path: Path) -> None:
        super().__init__(SystemClock(), f"json-lines-{os.getpid()}")
        self._path = path
        self._failed: StoreError | None = None
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise StoreError(f"{path} is in use by another process", "wait until that process ends") from error
        self._read_back()

    def record(self, run_id: str) -> RunRecord:
        if self._failed is not None:
            raise self._failed
        return super().record(run_id)

    def keep(self, record: RunRecord, entries: list[Entry], blobs: Mapping[str, bytes] | None = None) -> list[Entry]:
        """Write what a run accepted as one line, so that a crash leaves all of it or nothing."""
        line = {
            "run_id": record.run_id,
            "entries": [entry.model_dump(mode="json", by_alias=True) for entry in entries],
            "head": record.head,
            "blobs": {digest: base64.b64encode(body).decode() for digest, body in (blobs or {}).items()},
        }
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:  # memory is ahead of the file now, so nothing may build on it
            self._failed = StoreError(f"cannot write {self._path}: {error}", "free some space and start again")
            raise self._failed from error
        return super().keep(record, entries, blobs)

    async def about(self) -> StoreInfo:
        size = self._path.stat().st_size
        return (await super().about()).evolve(kind="json-lines", name=str(self._path), version=1, bytes=size or None)

    async def aclose(self) -> None:
        await super().aclose()
        self._file.close()

    def _read_back(self) -> None:
        self._file.seek(0)
        whole = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break  # a crash cut this line off, so its append was never acknowledged
            whole += len(line)
            kept = json.loads(line)
            entries = [Entry.model_validate(entry) for entry in kept["entries"]]
            record = self.records.get(kept["run_id"])
            if record is None:
                started = entries[0].event
                assert isinstance(started, RunStarted)
                record = RunRecord(kept["run_id"], started, entries[0].at, None, self.shared)
                self.records[record.run_id] = record
            record.add(entries, RunHead(*kept["head"]))
            self.blobs.update({digest: base64.b64decode(body) for digest, body in kept["blobs"].items()})
        self._file.truncate(whole)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        answer = Leadhand(offline=True, store=JsonLinesStore(path)).run_sync("What is the weather in Paris?")
        print(answer)
        print(f"\n{answer.status} · {len(path.read_bytes().splitlines())} lines in {path.name}")
    return 0 if answer.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
