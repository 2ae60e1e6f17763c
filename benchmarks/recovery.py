"""After ``kill -9`` at half of 1,000 subtasks: how soon a new process is at work again, and what it does twice.

Every restart is a process of its own on a copy of what the killed one left. The clock starts when its imports are
done, as the goal has it; the time with interpreter and imports is given beside it.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from world import ScriptedLead

from leadhand import Leadhand, Limits, ToolReturn, tool

COUNT = 1_000
HALF = COUNT // 2
WORKERS = 50
ROUNDS = 9


class Life:
    """A process on a folder: the first life stops at half and waits to be killed, the second goes on to the end."""

    def __init__(self, folder: Path, *, first: bool) -> None:
        self._folder = folder
        self._first = first
        self.called: list[int] = []
        self.first_call_at: float | None = None

    def lead(self) -> Leadhand:
        @tool(name="piece", timeout=600)
        async def piece(n: int) -> ToolReturn:
            """Do one piece of the work."""
            if self.first_call_at is None:
                self.first_call_at = time.perf_counter()
            self.called.append(n)
            if self._first and n >= HALF:
                await asyncio.Event().wait()
            return ToolReturn(raw={"n": n}, summary=f"piece {n} is done")

        models: Any = ScriptedLead(COUNT)
        return Leadhand(
            models=models, tools=[piece], home=self._folder, limits=Limits(max_workers=WORKERS, timeout=None)
        )


async def first(folder: Path) -> None:
    async with Life(folder, first=True).lead() as lead:
        run = await lead.start("benchmark")
        store = (await lead.runtime()).store
        while (await store.run(run.run_id)).completed < HALF:  # noqa: ASYNC110 (only the store knows)
            await asyncio.sleep(0.02)
        print(run.run_id, flush=True)
        await asyncio.Event().wait()


async def second(folder: Path, run_id: str) -> None:
    began = time.perf_counter()
    life = Life(folder, first=False)
    async with life.lead() as lead:
        answer = await (await lead.resume(run_id)).answer()
    assert life.first_call_at is not None
    print(
        json.dumps(
            {
                "first_call_s": life.first_call_at - began,
                "since_imports_to_end_s": time.perf_counter() - began,
                "called": len(life.called),
                "finished_again": sum(n < HALF for n in life.called),
                "ok": answer.status.value == "succeeded" and set(life.called) == set(range(HALF, COUNT)),
                "first_call_at": time.time() - (time.perf_counter() - life.first_call_at),
            }
        )
    )


def restarted(left: Path, run_id: str) -> dict[str, Any]:
    """One restart, on a copy of what was left."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        shutil.copytree(left, copy)
        began = time.time()
        command = [sys.executable, __file__, "second", str(copy), run_id]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        if not found["ok"]:
            raise RuntimeError(f"the run was not carried on as it should be: {found}")
        return {**found, "from_start_s": found["first_call_at"] - began}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        left = Path(folder) / "home"
        process = subprocess.Popen([sys.executable, __file__, "first", str(left)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        run_id = process.stdout.readline().strip()
        process.kill()
        process.wait()
        rounds = [restarted(left, run_id) for _ in range(ROUNDS)]
    print(f"killed at {HALF:,} of {COUNT:,} subtasks, {WORKERS} under way; median of {ROUNDS} restarts\n")
    print("| what | median | worst |\n|---|---|---|")
    for key, what in (
        ("first_call_s", "imports done → first resumed call, s"),
        ("from_start_s", "process started → first resumed call, s"),
        ("since_imports_to_end_s", "imports done → answer, s"),
    ):
        values = [found[key] for found in rounds]
        print(f"| {what} | {statistics.median(values):.3f} | {max(values):.3f} |")
    print(f"| finished subtasks run again | {statistics.median(r['finished_again'] for r in rounds):.0f} | "
          f"{max(r['finished_again'] for r in rounds)} |")  # fmt: skip
    print(f"| calls made after the restart (missing: {COUNT - HALF}) | "
          f"{statistics.median(r['called'] for r in rounds):.0f} | {max(r['called'] for r in rounds)} |")  # fmt: skip


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["first", folder]:
            asyncio.run(first(Path(folder)))
        case ["second", folder, run_id]:
            asyncio.run(second(Path(folder), run_id))
        case _:
            main()
