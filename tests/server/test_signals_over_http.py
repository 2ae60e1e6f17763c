"""Signals over HTTP: the flow of a run receives what it waits for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from server.conftest import OpenDoor

from leadhand.flows import FlowContext, flow


@flow
async def paying(run: FlowContext) -> str:
    """Wait for two payments."""
    return json.dumps([await run.wait_for("paid"), await run.wait_for("paid")])


async def test_a_signal_reaches_the_flow_that_waits_for_it(open_door: OpenDoor) -> None:
    api = await open_door(flows=[paying])
    run: dict[str, Any] = (await api.post("/api/runs", {"request": "pay", "flow": "paying"})).json()
    path = f"/api/runs/{run['run_id']}"
    for body in ({"value": {"amount": 12.5}}, None):
        sent = await api.post(f"{path}/signals/paid", body)
        assert sent.status_code == 202
    while (run := (await api.get(path)).json())["status"] == "running":
        assert run["question"] is None
        await asyncio.sleep(0.01)
    assert (run["status"], json.loads(run["answer"])) == ("succeeded", [{"amount": 12.5}, None])
    assert (await api.post(f"{path}/signals/paid", {})).status_code == 409
    assert (await api.post("/api/runs/nothing/signals/paid", {})).status_code == 404
