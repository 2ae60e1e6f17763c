"""Memory: over 10,000 subtasks in one process, in ten runs and in one; and of workers that wait. Linux only (/proc).

Each line is a process of its own, so that none profits from what another has left behind.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from world import ScriptedLead, piece

from leadhand import Leadhand, Limits, tool
from leadhand.ports.models import ModelReply, ModelRequest

KB = 1_024
WAITING = (100, 900)
"""Two sizes: what the difference costs is the price of a worker."""
ROUNDS = 3


def rss() -> int:
    """Resident bytes of this process."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def ten_runs(folder: str) -> list[int]:
    """Resident bytes after each of ten runs of 1,000 subtasks."""
    found: list[int] = []
    models: Any = ScriptedLead(1_000)
    async with Leadhand(models=models, tools=[piece(0.0)], home=folder, limits=Limits(max_workers=100)) as lead:
        for _ in range(10):
            await lead.run("benchmark")
            found.append(rss())
    return found


async def one_run(folder: str) -> list[int]:
    """Resident bytes before a run of 10,000 subtasks, after every 1,000 of them, and after its end."""
    models: Any = ScriptedLead(10_000)
    async with Leadhand(
        models=models, tools=[piece(0.0)], home=folder, limits=Limits(max_workers=100, timeout=None)
    ) as lead:
        found = [rss()]
        run = await lead.start("benchmark")
        store = (await lead.runtime()).store
        for step in range(1, 11):
            while (await store.run(run.run_id)).completed < step * 1_000:  # noqa: ASYNC110 (only the store knows)
                await asyncio.sleep(0.01)
            found.append(rss())
        await run.wait()
        found.append(rss())
    return found


class WaitingLead(ScriptedLead):
    """Its workers have no tool, and wait for a model that never answers."""

    def __init__(self, count: int, on_wait: Callable[[], None]) -> None:
        super().__init__(count)
        self._plan = {**self._plan, "subtasks": [{"name": f"piece_{n}", "args": {"n": n}} for n in range(count)]}
        self._on_wait = on_wait

    async def ask(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> ModelReply:
        if request.output is None:
            self._on_wait()
            await asyncio.Event().wait()
        return await super().ask(request, on_text)


async def waiting(folder: str, count: int, what: str) -> list[int]:
    """Resident bytes while ``count`` workers wait for a ``tool`` or a ``model``."""
    there = 0
    all_there = asyncio.Event()

    def note() -> None:
        nonlocal there
        there += 1
        if there == count:
            all_there.set()

    @tool(name="piece", timeout=600)
    async def waits(n: int) -> str:
        """Wait."""
        note()
        await asyncio.Event().wait()
        return ""

    models: Any = ScriptedLead(count) if what == "tool" else WaitingLead(count, note)
    async with Leadhand(models=models, tools=[waits], home=folder, limits=Limits(max_workers=count)) as lead:
        await lead.start("benchmark")
        await all_there.wait()
        await asyncio.sleep(0.5)  # what is on its way to the log arrives there
        return [rss()]


def measured(*what: str) -> list[int]:
    """The figures of one process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, folder, *what]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    runs = measured("ten_runs")
    whole = measured("one_run")
    print("| what | KB |\n|---|---|")
    print(f"| resident after the first run of 1,000 subtasks | {runs[0] // KB:,} |")
    print(f"| after the second, the fifth, the tenth | {', '.join(f'{runs[n] // KB:,}' for n in (1, 4, 9))} |")
    print(f"| growth a subtask from the second run to the tenth | {(runs[9] - runs[1]) / KB / 8_000:.2f} |")
    print(f"| one run: before it, with 1,000, 5,000, 10,000 of 10,000 done, after it | "
          f"{', '.join(f'{whole[n] // KB:,}' for n in (0, 1, 5, 10, 11))} |")  # fmt: skip
    print(f"| growth a subtask from 1,000 to 10,000 done | {(whole[10] - whole[1]) / KB / 9_000:.2f} |")
    few, many = WAITING
    for what in ("tool", "model"):
        each = [
            (measured("waiting", str(many), what)[0] - measured("waiting", str(few), what)[0]) / (many - few) / KB
            for _ in range(ROUNDS)
        ]
        print(f"| a worker that waits for a {what} (median of {ROUNDS}) | {statistics.median(each):.1f} |")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [folder, "ten_runs"]:
            print(json.dumps(asyncio.run(ten_runs(folder))))
        case [folder, "one_run"]:
            print(json.dumps(asyncio.run(one_run(folder))))
        case [folder, "waiting", count, what]:
            print(json.dumps(asyncio.run(waiting(folder, int(count), what))), flush=True)
            os._exit(0)
        case _:
            main()
