"""A flow that calls tools of an MCP server: `look` several times at once, then `pay`, as often as it is told."""

from __future__ import annotations

from leadhand.flows import FlowContext, flow


@flow
async def lookers(run: FlowContext, looks: int = 0, payments: int = 0) -> str:
    calls = [run.call("look") for _ in range(looks)] + [run.call("pay", amount=3) for _ in range(payments)]
    return " ".join(str(each.value) for each in await run.gather(calls))
