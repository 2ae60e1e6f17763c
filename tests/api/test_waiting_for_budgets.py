"""A budget that runs of two processes share: a call waits for what the other process may give back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from api.test_own_flows import echo

from leadhand import Leadhand, Limits, RunStatus
from leadhand.core.conversation import AssistantMessage
from leadhand.core.limits import Usage
from leadhand.ports.models import ModelProfile, ModelReply, ModelRequest

ONE_CALL = 0.000_003_5
"""US dollars: more than one call reserves, and less than two do."""


class Held:
    """A model whose calls wait for ``answer``, and that notes when a call is about to be reserved."""

    def __init__(self) -> None:
        self.answer = asyncio.Event()
        self.asked = asyncio.Event()
        self.reserves = asyncio.Event()

    def profile(self, model: str) -> ModelProfile:
        self.reserves.set()
        return ModelProfile(name=model, window=50_000, input_nanousd=1, output_nanousd=1)

    async def ask(self, request: ModelRequest, on_text: Any = None) -> ModelReply:
        self.asked.set()
        await self.answer.wait()
        return ModelReply(message=AssistantMessage(text="done"), usage=Usage(input_tokens=5, output_tokens=5))

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("budget", [ONE_CALL, ONE_CALL / 5])
async def test_a_call_waits_for_the_reservations_of_another_process_unless_they_would_not_suffice(
    tmp_path: Path, budget: float
) -> None:
    first, second = Held(), Held()
    async with (
        Leadhand(models=first, flows=[echo], home=tmp_path, limits=Limits(budget_total=ONE_CALL)) as one,
        Leadhand(
            models=second, flows=[echo], home=tmp_path, limits=Limits(budget_total=budget)
        ) as other,  # a store of its own
    ):
        holder = await one.start("Say it", flow="echo")
        await first.asked.wait()
        second.answer.set()
        waiting = await other.start("Say it", flow="echo")
        second.reserves.clear()
        if budget < ONE_CALL:
            assert (await waiting.answer()).gaps[0].class_ == "exhausted", "at once, while the other is open"
        await second.reserves.wait()
        first.answer.set()
        assert (await holder.answer()).status is RunStatus.SUCCEEDED
        if budget == ONE_CALL:
            assert (await waiting.answer()).status is RunStatus.SUCCEEDED
