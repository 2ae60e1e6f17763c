"""A log of 100,000 events: listed, shown and resumed, each by a process of its own. Seconds, medians.

The log is written event by event as a run of 16,600 subtasks would have left it that was killed near its end.
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

from world import ScriptedLead, piece

from leadhand import Leadhand, ToolReturn, tool
from leadhand.core.events import (
    AnyEvent,
    AttemptReturned,
    AttemptScheduled,
    AttemptStarted,
    OrderIssued,
    RunStarted,
    StepSettled,
    ToolCallBegan,
    ToolCallReturned,
)
from leadhand.core.ids import step_of
from leadhand.core.limits import Limits
from leadhand.core.run import ModelChoice, RunDefinition
from leadhand.core.tool import Source
from leadhand.core.work_order import Subtask, WorkOrder
from leadhand.core.work_result import ResultData
from leadhand.engine import loading
from leadhand.flows.work_order.roles import ROLES
from leadhand.stores.opening import open_store
from leadhand.tools.toolbox import Toolbox

EVENTS = 100_000
A_SUBTASK = 6
LEFT = 40
"""Subtasks that were under way when the process died."""
COUNT = EVENTS // A_SUBTASK + LEFT
RUN = "run_01long"
ROUNDS = 3


def happened(n: int) -> list[AnyEvent]:
    """All that the log holds of subtask n; of the last ones, only that they began."""
    attempt, call = f"wo-001.{n}/a1", f"wo-001.{n}/t0/c0"
    source = Source(title=f"page {n}", url=f"https://example.org/{n}")
    began: list[AnyEvent] = [
        AttemptScheduled(attempt=attempt),
        AttemptStarted(attempt=attempt, host="gone"),
        ToolCallBegan(attempt=attempt, call_id=call, tool="piece", args={"n": n}),
    ]
    if n >= COUNT - LEFT:
        return began
    data = ResultData(summary=f"piece {n} is done", sources=(source,))
    return [
        *began,
        ToolCallReturned(
            attempt=attempt,
            call_id=call,
            tool="piece",
            ok=True,
            summary=f"piece {n} is done",
            raw={"n": n, "text": "x" * 200},
            sources=(source,),
        ),
        AttemptReturned(
            attempt=attempt, data=data, used=(call,)
        ),
        StepSettled(step=step_of(attempt), attempt=attempt, ok=True, final=True),
    ]  # fmt: skip


async def write(home: Path) -> None:
    """Write the log, and let go of the run as a dead process does."""
    store = await open_store(str(home / "leadhand.db"))
    definition = RunDefinition(
        request="benchmark",
        flow="work-order",
        workers=ROLES,
        models=ModelChoice(default="scripted"),
        tools=Toolbox([piece(0.0)]).specs(),
        limits=Limits(max_workers=100, timeout=None),
    )
    await store.create(RUN, RunStarted(definition=definition))
    subtasks = tuple(Subtask(name=f"piece_{n}", tool="piece", args={"n": n}) for n in range(COUNT))
    order = WorkOrder(work_order_id="wo-001", goal="benchmark", subtasks=subtasks)
    await store.append(RUN, [OrderIssued(order=order)])
    for first in range(0, COUNT, 500):
        await store.append(RUN, [event for n in range(first, min(first + 500, COUNT)) for event in happened(n)])
    await store.aclose()


async def resume(home: Path) -> None:
    """Print the seconds from the end of the imports to the first resumed call."""
    called = asyncio.Event()

    @tool(name="piece", timeout=60)
    async def work(n: int) -> ToolReturn:
        """Do one piece of the work."""
        called.set()
        await asyncio.Event().wait()
        return ToolReturn()

    began = time.perf_counter()
    models: Any = ScriptedLead(COUNT)
    async with Leadhand(models=models, tools=[work], home=home) as lead:
        await lead.resume(RUN)
        await called.wait()
        print(json.dumps({"s": time.perf_counter() - began}), flush=True)


async def fold(home: Path) -> None:
    """Print the seconds that loading the state takes."""
    store = await open_store(str(home / "leadhand.db"))
    began = time.perf_counter()
    await loading.load(store, RUN)
    took = time.perf_counter() - began
    await store.aclose()
    print(json.dumps({"s": took}), flush=True)


def timed(*command: str) -> float:
    """Wall seconds of a whole process."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return time.perf_counter() - began


def told(*arguments: str) -> float:
    """The seconds that a process of this file prints."""
    command = [sys.executable, __file__, *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["s"]


def resumed(home: Path) -> float:
    """The seconds to the first resumed call, on a copy: a run that is lost too often is given up."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        shutil.copytree(home, copy)
        return told("resume", str(copy))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        asyncio.run(write(home))
        size = (home / "leadhand.db").stat().st_size / 1e6
        leadhand = (sys.executable, "-m", "leadhand", "runs")
        place = ("--home", folder)
        print(f"{EVENTS:,} events of {COUNT:,} subtasks, {size:.0f} MB; median of {ROUNDS}\n")
        print("| what | s |\n|---|---|")
        listed = statistics.median(timed(*leadhand, "list", *place) for _ in range(ROUNDS))
        print(f"| leadhand runs list, whole process | {listed:.2f} |", flush=True)
        shown = statistics.median(timed(*leadhand, "show", RUN, *place) for _ in range(ROUNDS))
        print(f"| leadhand runs show, whole process | {shown:.2f} |", flush=True)
        folded = statistics.median(told("fold", folder) for _ in range(ROUNDS))
        print(f"| state from the log | {folded:.2f} |", flush=True)
        again = statistics.median(resumed(home) for _ in range(ROUNDS))
        print(f"| imports done → first resumed call | {again:.2f} |", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["resume", folder]:
            asyncio.run(resume(Path(folder)))
        case ["fold", folder]:
            asyncio.run(fold(Path(folder)))
        case _:
            main()
