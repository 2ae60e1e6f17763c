"""What begins early, with a server that writes 60 tokens a second, beside a run of the same code that waits.

First, the time to the first tool call and to the answer; the run that waits has a planning worker without ``elements``.
Then the time to the answer of a plan that is there at once, when one of 100 results to judge takes much longer than the
others.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from typing import Any

from aiohttp import web

from leadhand import Leadhand, Limits, ToolReturn, tool
from leadhand.flows.seam.function import FunctionFlow
from leadhand.flows.work_order.flow import WORK_ORDER
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.testing.faults import request_of
from leadhand.testing.scripted_model import ScriptedModel, plans, says, subtask
from leadhand.testing.steps import worker_of

TOKENS_PER_S = 60
CHARACTERS = 4
"""The characters of a token."""
TOOL_S = 0.5
ROUNDS = 3
STRAGGLER_S = 12.0


WAITING = FunctionFlow(
    WORK_ORDER.function, "waiting", workers=[worker.evolve(elements="") for worker in WORK_ORDER.workers(None)]
)
"""The same flow, whose workers wait until the plan is complete."""


class SlowServer:
    """A chat-completions server that streams every answer at ``TOKENS_PER_S``.

    With ``judged``, its plan is there at once, and every result has to be judged.
    """

    def __init__(self, count: int, *, judged: bool = False) -> None:
        more = {"expected_output": "one sentence"} if judged else {}
        plan = plans(
            *({**subtask(f"check_weather_{n}", "weather", location=f"City number {n}"), **more} for n in range(count))
        )
        self._model = ScriptedModel(
            plan=lambda _request: plan, work=lambda _request: says("It is sunny."), lenient=True
        )
        self._judged = judged

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked = request_of(body, "scripted")
        reply = (await self._model.ask(asked)).message.text
        speed = 1e6 if self._judged and worker_of(asked) == "plan" else TOKENS_PER_S
        began = time.perf_counter()
        pieces = [reply[at : at + CHARACTERS] for at in range(0, len(reply), CHARACTERS)]
        usage = {"prompt_tokens": 1_000, "completion_tokens": len(pieces)}
        if not body.get("stream"):
            await asyncio.sleep(len(pieces) / speed)
            choice = {"message": {"content": reply}, "finish_reason": "stop"}
            return web.json_response({"choices": [choice], "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number, piece in enumerate(pieces, start=1):
            await asyncio.sleep(max(0.0, began + number / speed - time.perf_counter()))
            await _send(response, {"choices": [{"delta": {"content": piece}}]})
        await _send(response, {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        return response


async def _send(response: web.StreamResponse, chunk: dict[str, Any]) -> None:
    await response.write(f"data: {web.json_response(chunk).text}\n\n".encode())


async def once(count: int, flow: str, *, straggler_s: float = 0.0) -> tuple[float, float]:
    """Seconds to the first tool call and to the answer. The first result takes ``straggler_s``."""
    called: list[float] = []

    @tool
    async def weather(location: str) -> ToolReturn:
        """The weather at a location."""
        called.append(time.perf_counter())
        await asyncio.sleep(straggler_s if straggler_s and location.endswith(" 0") else TOOL_S)
        return ToolReturn(raw={"location": location}, summary=f"{location}: sunny")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", SlowServer(count, judged=straggler_s > 0).answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    models = OpenAICompatible(f"http://127.0.0.1:{port}/v1", free=True)
    with tempfile.TemporaryDirectory() as home:
        async with Leadhand(
            models=models,
            tools=[weather],
            home=home,
            flows=[WAITING],
            limits=Limits(max_workers=100 if straggler_s else 50, max_output_tokens=8_000),
        ) as lead:
            began = time.perf_counter()
            answer = await lead.run("the weather in all cities", flow=flow)
            took = time.perf_counter() - began
    await runner.cleanup()
    if answer.status != "succeeded" or len(called) != count:
        sys.exit(f"the run is {answer.status} after {len(called)} calls: {answer.text[:300]}")
    return min(called) - began, took


def main() -> None:
    asyncio.run(once(1, "waiting"))  # imports what the first run needs
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| subtasks | the run | first tool call, s | answer, s |\n|---|---|---|---|")
    for count in (10, 40):
        for flow, label in (("waiting", "waits for the plan"), ("work-order", "begins early")):
            runs = [asyncio.run(once(count, flow)) for _ in range(ROUNDS)]
            first, whole = (statistics.median(run[at] for run in runs) for at in (0, 1))
            print(f"| {count} | {label} | {first:.2f} | {whole:.1f} |")
    print("\n| the run | answer, s |\n|---|---|")
    for flow, label in (("work-order", "reviews early"),):
        runs = [asyncio.run(once(100, flow, straggler_s=STRAGGLER_S)) for _ in range(ROUNDS)]
        print(f"| {label} | {statistics.median(run[1] for run in runs):.1f} |")


if __name__ == "__main__":
    main()
