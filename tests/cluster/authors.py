"""A flow with a single step, which writes the answer: only hosts that have this file can carry it out."""

from __future__ import annotations

from leadhand import Worker
from leadhand.flows import FlowContext, flow

COMPOSE = Worker("compose", "Write.", tools=())


@flow
async def author(run: FlowContext):
    """Write one text."""
    return await run.ask(COMPOSE, key="text", request=run.request, final=True)
