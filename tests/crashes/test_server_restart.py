"""PostgreSQL is restarted under a run, as ``pg_ctl restart -m immediate`` does: the run continues in its process."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from crashes.killing import PATIENCE_S, Theatre
from crashes.restarting import Server
from leadhand.core.events import ModelCallReturned, RunClaimed, ToolCallReturned

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
