"""Several processes on one SQLite file, each with runs of its own, and one who would like to have them all."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from crashes.killing import Theatre
from leadhand.core.errors import RunOwned, UsageError
from leadhand.core.events import AttemptReturned, RunClaimed, ToolCallReturned
from leadhand.core.run import ENDED, RunStatus
from leadhand.ports import ContextStore

PROCESSES = 4
RUNS = 4
"""How many runs each process makes one after another, three times at once."""


async def steals(store: ContextStore, refusals: Counter[str]) -> None:
    """Try to become the owner of every run there is, again and again."""
    while True:
        for listing in await store.runs(status=RunStatus.RUNNING):
            try:
                await store.claim(listing.run_id)
            except (RunOwned, UsageError) as refusal:
                refusals[type(refusal).__name__] += 1
            else:
                refusals["none"] += 1
        await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_nothing_is_locked_lost_or_stolen(sqlite_url: str, tmp_path: Path) -> None:
    theatre = Theatre(sqlite_url, tmp_path, [("piece", n) for n in range(10)])
    refusals: Counter[str] = Counter()
    async with theatre.store() as store, AsyncExitStack() as stack:
        lives = [await stack.enter_async_context(theatre.life(hammer=RUNS)) for _ in range(PROCESSES)]
        for life in lives:
            assert await life.said() == {"ready": True}
        for life in lives:
            await life.go()
        thief = asyncio.create_task(steals(store, refusals))
        said = [line for life in lives for line in await life.rest()]  # a complaint of any would end the test here
        thief.cancel()
        await asyncio.gather(thief, return_exceptions=True)

        assert refusals["RunOwned"] > 0, "the thief never got near a run"
        assert refusals["none"] == 0, "a run was stolen from a living process"
        assert len(said) == PROCESSES * 3 * RUNS
        assert {(line["status"], line["answer"]) for line in said} == {("succeeded", theatre.answer)}
        calls = Counter(theatre.noted("call"))
        assert set(calls.values()) == {1}
        returned: list[str] = []
        for line in said:
            run_id = line["run_id"]
            listing = await store.run(run_id)
            log = await store.read(run_id)
            assert [entry.seq for entry in log] == list(range(1, listing.head_seq + 1))
            assert not any(isinstance(entry.event, RunClaimed) for entry in log)
            assert not any(isinstance(entry.event, AttemptReturned) and entry.event.lost for entry in log)
            assert (listing.status in ENDED, listing.owner, listing.completed) == (True, None, len(theatre.plan))
            returned += [f"{run_id}/{e.event.call_id}" for e in log if isinstance(e.event, ToolCallReturned)]
        assert Counter(returned) == calls, "what a tool returned is not in the log, or twice"
