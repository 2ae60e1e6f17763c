"""What the log costs: a run on SQLite (WAL, synchronous=FULL) and in memory, interleaved; and one commit alone."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from world import carry_out

from leadhand.app.runtime.clock import SystemClock
from leadhand.core.events import RunRequested
from leadhand.ports import ContextStore
from leadhand.stores.opening import open_store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from memory_store import MemoryStore

COUNT = 1_000
ROUNDS = 5
COMMITS = 200


async def run_cpu(store: ContextStore) -> float:
    """CPU milliseconds a subtask of a run of :data:`COUNT` subtasks that take no time of their own."""
    began = time.process_time()
    await carry_out(store, COUNT, 0.0)
    return (time.process_time() - began) / COUNT * 1_000


async def in_memory() -> float:
    return await run_cpu(MemoryStore(SystemClock()))


async def on_disk() -> tuple[float, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"{folder}/leadhand.db")
        cpu = await run_cpu(store)
        run_id = (await store.runs())[0].run_id
        waits: list[float] = []
        for _ in range(COMMITS):
            began = time.perf_counter()
            await store.append(run_id, [RunRequested(what="pause", by="benchmark")])
            waits.append((time.perf_counter() - began) * 1_000)
        await store.aclose()
        return cpu, waits


def main() -> None:
    memory: list[float] = []
    disk: list[float] = []
    waits: list[float] = []
    for _ in range(ROUNDS):
        memory.append(asyncio.run(in_memory()))
        cpu, waited = asyncio.run(on_disk())
        disk.append(cpu)
        waits += waited
    cost = statistics.median(a - b for a, b in zip(disk, memory, strict=True))
    print("| what | median |\n|---|---|")
    print(f"| CPU ms a subtask, everything, on SQLite | {statistics.median(disk):.2f} |")
    print(f"| CPU ms a subtask, everything, in memory | {statistics.median(memory):.2f} |")
    print(f"| durability: the difference, pair by pair | {cost:.2f} |")
    print(f"| ms from append to commit, one at a time | {statistics.median(waits):.2f} |")
    print(f"| the same, 95th percentile | {statistics.quantiles(waits, n=20)[18]:.2f} |")


if __name__ == "__main__":
    main()
