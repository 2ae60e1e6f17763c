"""A run whose process is gone, and whose flow the next process does not have."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from leadhand import FailureClass, Leadhand
from leadhand.core.conversation import AssistantMessage
from leadhand.core.errors import Failure
from leadhand.core.events import StepSettled
from leadhand.core.limits import Usage
from leadhand.flows import Finish, Flow, IssueStep, RunView, Worker
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest


class Three(Flow):
    """Three answers at once."""

    name = "three"

    class Options(Flow.Options):
        style: str = "short"

    def roles(self, options: Options) -> list[Worker]:
        return [Worker(name="writer", instructions="Write.", counts=True)]

    def next(self, run: RunView[Options]) -> list[IssueStep | Finish]:
        if not run.steps:
            return [IssueStep(id=name, worker="writer", input={"name": name}) for name in ("good", "bad", "slow")]
        return [] if run.open else [Finish()]


class Uneven:
    """A model that answers the good step, fails at the bad one, and never answers the slow one."""

    def __init__(self) -> None:
        self.slow = asyncio.Event()

    async def ask(self, request: ModelRequest, on_text: Any = None) -> ModelReply:
        said = str(request.messages[-1].text)
        if "slow" in said:
            self.slow.set()
            await asyncio.Event().wait()
        await self.slow.wait()
        if "bad" in said:
            raise ModelError(Failure.of("it did not work", "broken", FailureClass.INVALID))
        return ModelReply(
            message=AssistantMessage(text="the good answer"), usage=Usage(input_tokens=1, output_tokens=1)
        )

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, window=50_000, input_nanousd=1, output_nanousd=1)

    async def aclose(self) -> None: ...


async def orphaned(home: Path, **team: Any) -> str:
    """A run with a result and a failure, whose process ended while it worked at the rest."""
    async with Leadhand(models=Uneven(), flows=[Three], home=home, **team) as lead:
        runtime = await lead.runtime()
        state = await runtime.start("write", flow="three", options={"style": "long"})
        runtime.driving(state)
        settled = 0
        async for batch in runtime.store.follow(state.run_id, 0):
            settled += sum(isinstance(entry.event, StepSettled) for entry in batch)
            if settled == 2:
                break
    return state.run_id
