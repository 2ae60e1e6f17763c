"""Servers under a run are stopped, restarted or never come back."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from processes import Program, start_async

from crashes.killing import PATIENCE_S, SOURCE, Theatre
from crashes.model_server import SUBTASKS
from crashes.restarting import Server
from leadhand import Limits
from leadhand.api import Leadhand
from leadhand.core.errors import FailureClass
from leadhand.core.events import ModelCallReturned, NoteEmitted, RunClaimed, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.runs import Run

COUNT = 24
AMID = 6
"""So many calls were made when the server is restarted for the first time."""


@pytest.mark.slow
async def test_a_run_continues_when_the_server_is_restarted_and_does_everything_once(
    server: Server, tmp_path: Path
) -> None:
    last = f"piece {COUNT}"
    plan = [("piece", n) for n in range(1, COUNT + 1)]
    theatre = Theatre(server.url, tmp_path, plan, {"hold": last, "seconds": 0.05})
    async with theatre.life() as life:
        run_id = (await life.said())["run_id"]
        async with asyncio.timeout(PATIENCE_S):
            while len(theatre.noted("call")) < AMID:  # noqa: ASYNC110 (another process notes it)
                await asyncio.sleep(0.005)
        await asyncio.to_thread(server.restart)
        await theatre.held(last)
        await asyncio.to_thread(server.restart)
        theatre.gate.touch()
        assert await life.said() == {"status": "succeeded", "answer": theatre.answer}

    async with theatre.store() as store:
        events = [entry.event for entry in await store.read(run_id)]
        assert [entry.seq for entry in await store.read(run_id)] == list(range(1, len(events) + 1))
    calls = [call.removeprefix(f"{run_id}/") for call in theatre.noted("call")]
    assert len(calls) == COUNT
    assert max(Counter(calls).values()) == 1, "a call was made twice"
    assert max(Counter(theatre.noted("asked")).values()) == 1, "a model was asked twice"
    assert Counter(event.call_id for event in events if isinstance(event, ToolCallReturned)) == Counter(calls)
    answered = Counter(event.call_id for event in events if isinstance(event, ModelCallReturned))
    assert max(answered.values()) == 1
    assert not [event for event in events if isinstance(event, RunClaimed)], "it stayed with its process"


def measure(n: int) -> str:
    """Measure one part."""
    return "it is done"


class ModelServer(Program):
    """A model server in its own process, on the same port each time it starts."""

    port = 0

    def __init__(self) -> None:
        """It is not there before :meth:`start`."""

    async def start(self, kind: str) -> None:
        script = str(Path(__file__).with_name("model_server.py"))
        command = (sys.executable, script, str(self.port), kind)
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        self.process = await start_async(*command, stdout=asyncio.subprocess.PIPE, env=environment)
        self.port = int(await self.line())

    async def kill(self) -> None:
        if self.process.returncode is None:
            await super().kill()


@asynccontextmanager
async def opened(folder: Path, patience_s: float) -> AsyncIterator[tuple[ModelServer, Leadhand]]:
    """A server that holds the calls of workers, and a lead that uses it."""
    server = ModelServer()
    await server.start("holds")
    models = {"local": OpenAICompatible(f"http://127.0.0.1:{server.port}/v1", name="local", free=True)}
    lead = Leadhand(
        "local:m", models=models, tools=[measure], home=folder, limits=Limits(model_patience=patience_s, max_workers=4)
    )
    try:
        async with lead:
            yield server, lead
    finally:
        await server.kill()


async def noted(run: Run, said: str) -> None:
    """Wait until a note of the run contains ``said``."""
    async with asyncio.timeout(PATIENCE_S):
        async for entry in run:
            if isinstance(entry.event, NoteEmitted) and said in entry.event.message:
                return


async def killed_at_work(server: ModelServer, lead: Leadhand) -> Run:
    run = await lead.start("do it")
    for _ in range(4):
        assert await server.line() == "work"
    await server.kill()
    await noted(run, "local:m")
    return run


@pytest.mark.slow
async def test_a_killed_server_that_comes_back_costs_no_subtask_and_no_attempt(tmp_path: Path):
    async with opened(tmp_path, 300.0) as (server, lead):
        run = await killed_at_work(server, lead)
        await server.start("answers")
        answer = await run.answer()

        assert answer.status is RunStatus.SUCCEEDED, answer
        parts = [each for each in run.state.steps.values() if each.counts]
        assert len(parts) == SUBTASKS
        assert {each.attempts for each in run.state.steps.values()} == {1}


@pytest.mark.slow
async def test_a_server_that_stays_away_is_a_failure_that_says_what_to_do_and_a_retry_goes_on(tmp_path: Path):
    async with opened(tmp_path, 0.5) as (server, lead):
        run = await killed_at_work(server, lead)
        answer = await run.answer()

        assert answer.status is RunStatus.FAILED
        assert {each.attempts for each in run.state.steps.values()} == {1}, "nothing was tried again"
        for gap in answer.gaps:
            assert gap.class_ is FailureClass.TRANSIENT
            assert all(each in gap.reason for each in ("local:m", "0.5"))
            assert gap.next_action.endswith("retry the run")
        assert sum("local:m" in cause for cause in answer.outcome.causes) == 1, "one cause is named once"

        await server.start("answers")
        await run.retry()
        assert (await run.answer()).status is RunStatus.SUCCEEDED
