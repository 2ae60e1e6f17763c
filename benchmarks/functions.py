"""What a flow costs a step, beside the bare calls.

1,000 steps with one scripted model call each, 50 at once, on SQLite: in one gather, and in 500 branches of two, the
second of which uses the first. The floor makes the same calls in tasks of asyncio. A take-over is a pass over the log
of the finished run: what the function itself costs a process that resumes it, beside reading the log.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from typing import Any

from leadhand import Leadhand, Limits, Worker
from leadhand.core.conversation import SystemMessage, UserMessage
from leadhand.core.evolve import replay
from leadhand.flows import FlowContext, flow
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports.models import ModelRequest
from leadhand.testing.scripted_model import ScriptedModel, says

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
AT_ONCE = 50
ROUNDS = 3
worker = Worker("worker", "Answer.", loop="reply")


@flow
async def gathered(run: FlowContext) -> str:
    """Ask for all steps at once."""
    return " ".join(map(str, await run.gather(run.ask(worker, number=number) for number in range(STEPS))))


@flow
async def branched(run: FlowContext) -> str:
    """Ask in branches of two steps."""

    async def branch(number: int) -> Any:
        first = await run.ask(worker, number=number)
        return await run.ask(worker, number=number, of=first)

    return " ".join(map(str, await run.gather(branch(number) for number in range(STEPS // 2))))


def scripted() -> ScriptedModel:
    return ScriptedModel().on(lambda _: True, always=says("done"))


async def floor() -> tuple[float, float, float]:
    """The same calls without a log, a limit or a record."""
    models, places = scripted(), asyncio.Semaphore(AT_ONCE)

    async def call(number: int) -> str:
        async with places:
            messages = (SystemMessage(text="Answer."), UserMessage(text=f'{{"number": {number}}}'))
            return (await models.ask(ModelRequest(model="scripted", messages=messages))).message.text

    began, at = time.process_time(), time.perf_counter()
    await asyncio.gather(*(call(number) for number in range(STEPS)))
    return time.process_time() - began, time.perf_counter() - at, 0.0


async def measured(which: FunctionFlow) -> tuple[float, float, float]:
    """Return the seconds of CPU and of the clock that a run takes, and the seconds of a pass over its log."""
    with tempfile.TemporaryDirectory() as home:
        limits = Limits(budget=None, max_workers=AT_ONCE)
        async with Leadhand(flows=[which], models=scripted(), home=home, check="off", limits=limits) as lead:
            began, at = time.process_time(), time.perf_counter()
            answer = await lead.run("go", flow=which.name)
            cpu, wall = time.process_time() - began, time.perf_counter() - at
            entries = await (await lead.runtime()).store.read(answer.run_id)
    assert answer.status.value == "succeeded"
    state, run = replay(answer.run_id, entries[:-1]), FunctionRun(which, replay(answer.run_id, entries[:1]).definition)
    began = time.process_time()
    run.advanced(state)
    took = time.process_time() - began
    run.close()
    return cpu, wall, took


async def main() -> None:
    print(f"| {STEPS:,} steps | CPU ms a step | seconds | take-over, µs a step |\n|---|---|---|---|")
    found: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(ROUNDS):
        found.setdefault("floor: the bare calls", []).append(await floor())
        found.setdefault("function, one gather", []).append(await measured(gathered))
        found.setdefault("function, branches of two", []).append(await measured(branched))
    for name, rounds in found.items():
        cpu, wall, took = (statistics.median(each) for each in zip(*rounds, strict=True))
        over = f"{took * 1e6 / STEPS:.0f}" if took else "–"
        print(f"| {name} | {cpu * 1e3 / STEPS:.2f} | {wall:.2f} | {over} |")


if __name__ == "__main__":
    asyncio.run(main())
