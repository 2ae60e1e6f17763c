"""``leadhand signal``: the flow of a run receives what it waits for, from any process."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from leadhand import Leadhand
from leadhand.flows import FlowContext, flow


@flow
async def paying(run: FlowContext) -> str:
    """Wait for a payment."""
    return json.dumps(await run.wait_for("paid"))


def test_a_signal_reaches_the_flow_when_it_is_resumed(leadhand: Any) -> None:
    async def started() -> str:
        async with Leadhand(flows=[paying], model="offline", home=leadhand.home) as lead:
            run = await lead.start("pay", flow="paying")
            async for entry in run:
                if entry.event.type == "question_asked":
                    break
            return run.run_id

    async def resumed(run_id: str) -> str:
        async with Leadhand(flows=[paying], model="offline", home=leadhand.home) as lead:
            return (await (await lead.resume(run_id)).answer()).text

    run_id = asyncio.run(started())
    assert leadhand("signal", run_id, "paid", "{amount}").code == 2
    assert leadhand("signal", run_id, "paid", '{"amount": 12.5}').code == 0
    began = time.monotonic()
    assert json.loads(asyncio.run(resumed(run_id))) == {"amount": 12.5}
    assert time.monotonic() - began < 30
    assert leadhand("signal", run_id, "paid").code == 2
