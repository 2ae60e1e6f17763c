"""A flow with a single step, which writes the answer: only hosts that have this file can carry it out."""

from __future__ import annotations

from leadhand.core.worker import Worker
from leadhand.flows import FlowContext
from leadhand.flows.seam.function import FunctionFlow

COMPOSE = Worker(name="compose", instructions="Write.")
"""As in a built-in flow: the terminal shows the draft of a worker that composes and does not count."""


async def write(run: FlowContext):
    """Write one text."""
    return await run.step(COMPOSE, key="text", input={"request": run.request}, final=True)


author = FunctionFlow(write, "author", workers=[COMPOSE])
