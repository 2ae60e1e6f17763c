"""The process of a model server is killed while workers wait for it, and started again, or never."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from processes import start_async

from crashes.killing import PATIENCE_S, SOURCE
from crashes.model_server import SUBTASKS
from leadhand.api import Leadhand
from leadhand.core.errors import FailureClass
from leadhand.core.events import NoteEmitted
from leadhand.core.run import RunStatus
from leadhand.models.openai.adapter import OpenAICompatible
from leadhand.runs import Run


def measure(n: int) -> str:
    """Measure one part."""
    return "it is done"


class ModelServer:
    """A model server in its own process, on the same port each time it starts."""

    def __init__(self) -> None:
        self.port = 0
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, kind: str) -> None:
        script = str(Path(__file__).with_name("model_server.py"))
        self._process = await start_async(
            sys.executable,
            script,
            str(self.port),
            kind,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        self.port = int(await self.line())

    async def line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            return (await self._process.stdout.readline()).decode()

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def opened(folder: Path, patience_s: float) -> AsyncIterator[tuple[ModelServer, Leadhand]]:
    """A server that holds the calls of workers, and a lead that uses it."""
    server = ModelServer()
    await server.start("holds")
    models = {"local": OpenAICompatible(f"http://127.0.0.1:{server.port}/v1", name="local", free=True)}
    lead = Leadhand("local:m", models=models, tools=[measure], home=folder, model_patience=patience_s, max_workers=4)
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
        assert await server.line() == "work\n"
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
