"""N subtasks of 0.5 s without a model, in one process, durable: wall time against the ideal, CPU a subtask."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time

from world import carry_out

from leadhand.stores.opening import open_store

SECONDS = 0.5
ROUNDS = 5


async def once(count: int) -> tuple[float, float]:
    """Wall and CPU seconds of one run on a fresh SQLite file, the store open before the clock starts."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"{folder}/leadhand.db")
        wall, cpu = time.perf_counter(), time.process_time()
        await carry_out(store, count, SECONDS)
        took = time.perf_counter() - wall, time.process_time() - cpu
        await store.aclose()
        return took


def main() -> None:
    print(f"| subtasks of {SECONDS} s | wall s | of ideal | CPU ms a subtask |\n|---|---|---|---|")
    for count in (10, 100, 1_000):
        runs = [asyncio.run(once(count)) for _ in range(ROUNDS)]
        wall = statistics.median(run[0] for run in runs)
        cpu = statistics.median(run[1] for run in runs)
        print(f"| {count:,} | {wall:.3f} | {SECONDS / wall:.0%} | {cpu / count * 1_000:.2f} |")


if __name__ == "__main__":
    main()
