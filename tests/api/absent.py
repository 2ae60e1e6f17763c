"""A run whose process is gone, and whose flow the next process does not have."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from leads import leadhand_of

from leadhand import FailureClass, Worker
from leadhand.core.conversation import AssistantMessage
from leadhand.core.errors import Failure
from leadhand.core.events import StepSettled
from leadhand.core.limits import Usage
from leadhand.flows import FlowContext, flow
from leadhand.ports import ModelError
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

WRITER = Worker("writer", "Write.", tools=())


@flow
async def three(run: FlowContext, style: str = "short") -> str:
    """Three answers at once."""
    asked = (run.ask(WRITER, key=name, name=name) for name in ("good", "bad", "slow"))
    return "\n\n".join(str(each) for each in await run.gather(asked, return_failures=True) if each.ok)


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
    async with leadhand_of(models=Uneven(), flows=[three], home=home, **team) as lead:
        runtime = await lead.runtime()
        state = await runtime.start("write", flow="three", options={"style": "long"})
        runtime.driving(state)
        settled = 0
        async for batch in runtime.store.follow(state.run_id, 0):
            settled += sum(isinstance(entry.event, StepSettled) for entry in batch)
            if settled == 2:
                break
    return state.run_id
