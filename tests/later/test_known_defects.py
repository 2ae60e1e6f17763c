"""Known defects, each with a test of what is wanted. Remove the mark with the defect: a test that passes fails here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from server.doors import door
from server.teams import Office, team

from leadhand.engine.server_gate import ServerSlots
from leadhand.engine.slots import Bounded, Slots, without_slot
from leadhand.ports.models import ModelProfile


def known(defect: str) -> pytest.MarkDecorator:
    """Mark a test that fails because of a defect."""
    return pytest.mark.xfail(strict=True, raises=AssertionError, reason=f"known defect: {defect}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


class _OneSlot:
    """A model whose server answers one call at a time."""

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, free=True, server="http://127.0.0.1", slots=1)


@known("a call that is cancelled while it waits to take its slot again keeps the slot of the model server")
async def test_a_cancelled_call_gives_the_slot_of_the_model_server_back() -> None:
    models: Any = _OneSlot()
    servers, slots = ServerSlots(models), Slots(1)
    first_ends, other_ends = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with servers.held("m"):
            await first_ends.wait()

    async def call() -> None:
        async with slots.taken("a"), servers.held("m"):
            await asyncio.Event().wait()

    async def other() -> None:
        async with slots.taken("b"):
            await other_ends.wait()

    tasks: list[asyncio.Task[None]] = []
    for each in (first, call, other):  # the call waits for the server, and the other takes its slot meanwhile
        tasks.append(asyncio.create_task(each()))
        await asyncio.sleep(0.01)
    first_ends.set()
    await asyncio.sleep(0.01)  # the call has the server, and waits for its slot
    tasks[1].cancel()
    other_ends.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    taken = asyncio.create_task(first())
    done, _ = await asyncio.wait({taken}, timeout=0.3)
    taken.cancel()
    await asyncio.gather(taken, return_exceptions=True)
    assert done


@known("waits of parallel calls count against the time of their attempt as soon as one of them is over")
async def test_parallel_waits_take_no_time_of_an_attempt() -> None:
    async def wait(seconds: float) -> None:
        async with without_slot():
            await asyncio.sleep(seconds)

    late = False
    try:
        async with Bounded(0.1):
            await asyncio.gather(wait(0.01), wait(0.4))
    except TimeoutError:
        late = True
    assert not late


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    office = Office()
    yield office
    office.gate.set()


@known("a server does not notice that its database was deleted, and confirms runs that are lost")
@pytest.mark.parametrize("accident", ["deleted", "replaced"])
async def test_a_server_whose_database_is_gone_confirms_no_run(home: Path, office: Office, accident: str) -> None:
    async with door(home, models=team(), tools=office.tools) as api:
        await api.over(await api.started("measure Paris"))
        files = list(home.glob("leadhand.db*"))
        for file in [each for each in files if each.is_file()]:
            if accident == "replaced" and file.name == "leadhand.db":
                file.rename(file.with_name("older.db"))
                file.write_bytes(file.with_name("older.db").read_bytes())
            else:
                file.unlink()

        ready = await api.get("/readyz")
        started = await api.post("/api/runs", {"request": "measure Lyon"})
        if started.status_code == 202:
            await api.over(started.json()["run_id"])
    assert (ready.status_code, started.status_code) == (503, 503)
