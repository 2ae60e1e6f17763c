"""``lead.map``: one worker for many inputs, in one run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from leadhand.core.errors import Failure, FailureClass
from leadhand.core.outcome import gap_of
from leadhand.core.run import ENDED
from leadhand.core.state import RunState, StepState
from leadhand.core.value import Json
from leadhand.core.work_order import Step
from leadhand.flows.map import steps_of
from leadhand.flows.seam.results import Result
from leadhand.runs import Run


class Mapped:
    """The run of a map, whose answer is the list of its results."""

    def __init__(
        self, run: Run[Any], output: Any = None, unpack: Callable[[Json], Awaitable[Json]] | None = None
    ) -> None:
        """``output`` is that of the worker; ``unpack`` loads large data of tools."""
        self.run, self._output, self._unpack = run, output, unpack
        self.run_id, self.wait, self.pause = run.run_id, run.wait, run.pause

    async def answer(self) -> list[Result]:
        return [each async for each in self.results()]

    async def results(self) -> AsyncIterator[Result]:
        """Yield the results in the order of the inputs, each as soon as those before it are there.

        When the run rests, what has no result is not ``ok``.
        """
        changed, run, number = asyncio.Event(), self.run, 0
        run.watch(lambda _: changed.set())
        resting = asyncio.ensure_future(run.wait())
        resting.add_done_callback(lambda _: changed.set())
        keys, issued = list[str](), -1
        while True:
            changed.clear()
            over = resting.done()
            state = resting.result() if over else run.state
            if issued != len(state.steps):
                issued = len(state.steps)
                keys = ["" if each is None else each.key for each in steps_of(state)]
            for key in keys[number:]:
                step = state.steps.get(key)
                if not over and (step is None or not step.closed):
                    break
                number += 1
                yield await self._result(state, step)
            if over:
                return
            await changed.wait()

    async def _result(self, state: RunState, step: StepState | None) -> Result:
        if step is None or not step.closed:
            step = step or StepState(step=Step(step_id="", worker=str(state.definition.options["worker"])))
            step = step._replace(failure=step.failure or _cause(state, step))
        if step.data is None or self._unpack is None:
            return Result(step, self._output)
        return Result(step, self._output, await self._unpack(step.data.raw))


def _cause(state: RunState, step: StepState) -> Failure:
    """Return why a step has no result when its run rests."""
    if state.status in ENDED:
        gap = gap_of(state, step, None if state.finished is None else state.finished.failure)
        return Failure.of(gap.reason, "not_carried_out", gap.class_, gap.next_action)
    message, how = f"the run {state.run_id} is {state.status.value}", f"leadhand runs resume {state.run_id}"
    return Failure.of(message, "not_finished", FailureClass.EXHAUSTED, f"continue it: {how}")
