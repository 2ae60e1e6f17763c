"""The contract of an adapter whose server can fail: every fault becomes one classed failure, soon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from leadhand.core.errors import FailureClass
from leadhand.ports import ModelError
from leadhand.testing.faults import FAULTS, Fault, Served, fault
from leadhand.testing.model_contract import COMPOSE, PATIENCE_S, WORK, ModelsContract, Opened
from leadhand.testing.steps import Step, calls, says

LIMIT_S = 1.0
"""How long, in seconds, an adapter under test may wait for the first byte and between two pieces."""

AFTER = says("all is well")
"""The answer of the server after its fault."""

TOO_LONG: dict[str, dict[str, Any]] = {
    "vllm": {
        "message": "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens in the "
        "messages. Please reduce the length of the messages.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
    "llama.cpp": {
        "code": 400,
        "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 9001,
        "n_ctx": 8192,
    },
    "ollama": {
        "message": "input length exceeds maximum context length",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    },
    "openrouter": {
        "message": "This endpoint's maximum context length is 8192 tokens. However, you requested about 9001 tokens.",
        "code": 400,
        "metadata": {"provider_name": None},
    },
}
"""How servers say that their window is too small."""


def _too_long(words: dict[str, Any]) -> Callable[[], Served]:
    return lambda: Served(status=400, body=json.dumps({"error": words}))


EVERY_FAULT = (
    *FAULTS,
    *(Fault(f"too_long_{name}", name, FailureClass.TOO_LARGE, _too_long(words)) for name, words in TOO_LONG.items()),
)


class FaultyModelsContract(ModelsContract):
    """The contract of an adapter whose server can fail: every fault becomes one classed failure, soon, and the adapter
    works afterwards."""

    def faulty(self, fault: Fault) -> AbstractAsyncContextManager[Opened]:
        """Open the adapter against a server that has ``fault`` once and then answers :data:`AFTER`.

        If the fault is ``slow``, the adapter waits at most :data:`LIMIT_S` for a first byte and between two pieces.
        """
        raise NotImplementedError

    @pytest.mark.parametrize("fault", EVERY_FAULT, ids=str)
    async def test_each_fault_is_one_classed_failure_that_says_what_and_how(self, fault: Fault) -> None:
        heard: list[str] = []
        deadline_s = 2 * LIMIT_S if fault.slow else PATIENCE_S  # which alone ends slow faults that keep sending
        async with self.faulty(fault) as opened:
            with pytest.raises(ModelError) as caught:
                await opened.ask(COMPOSE, heard.append if fault.streamed else None, deadline_s=deadline_s)
            count = len(heard)
            again = await opened.ask(COMPOSE)
        assert (caught.value.failure.class_, again.message.text) == (fault.class_, AFTER.text)
        assert len(heard) == count, "text came after the failure"
        if fault.streamed:
            assert count, "what had come before the failure was not heard"
        failure = caught.value.failure
        assert failure.type
        for line in (failure.message, failure.next_action):
            assert line.strip() == line != ""
            assert "\n" not in line
        assert failure.next_action != FailureClass.INVALID.action, "that is advice about tools"
        if fault.retry_after_s is None:
            assert failure.retry_after_s is None
        else:
            assert failure.retry_after_s == pytest.approx(fault.retry_after_s, abs=2.0)

    async def test_malformed_arguments_are_kept_as_they_were_written(self) -> None:
        async with self.serving(Step(calls=(("weather_tool", '{"location": "Par'),))) as opened:
            (call,) = (await opened.ask(WORK)).message.tool_calls
        assert (call.name, call.arguments, call.raw) == ("weather_tool", None, '{"location": "Par')

    async def test_a_call_of_a_tool_that_was_not_offered_is_passed_on(self) -> None:
        async with self.serving(calls("no_such_tool", x=1)) as opened:
            (call,) = (await opened.ask(WORK)).message.tool_calls
        assert (call.name, call.arguments) == ("no_such_tool", {"x": 1})

    async def test_cancelling_closes_the_request(self) -> None:
        async with self.faulty(fault("hang")) as opened:
            task = asyncio.create_task(opened.ask(COMPOSE, deadline_s=30.0))
            await _reached(lambda: opened.asked() == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await _reached(lambda: opened.abandoned() == 1)
            assert (await opened.ask(COMPOSE)).message.text == AFTER.text

    async def test_a_time_out_from_outside_is_not_taken_for_ones_own(self) -> None:
        async with self.faulty(fault("hang")) as opened:

            async def timed_out() -> None:
                async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as tasks:
                    tasks.create_task(time_out(limit))
                    await opened.models.ask(COMPOSE.evolve(model=opened.model, deadline_s=30.0))

            async def time_out(limit: asyncio.Timeout) -> None:
                await _reached(lambda: opened.asked() == 1)
                limit.reschedule(0)

            with pytest.raises(TimeoutError):
                await timed_out()
            await opened.ask(COMPOSE)


async def _reached(state: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not state():  # noqa: ASYNC110 - the other side may be of any kind: it can only be looked at
            await asyncio.sleep(0.005)
