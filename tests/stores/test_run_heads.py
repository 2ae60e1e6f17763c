"""The line of a run in lists follows from the head of its state, whoever writes it."""

from __future__ import annotations

from contextlib import aclosing

from memory_store import MemoryStore
from stores.contract import asks, says, started

from leadhand.app.runtime.clock import SystemClock
from leadhand.app.steering.approvals import open_approvals
from leadhand.core.state import RunState
from leadhand.engine import loading
from leadhand.engine.forking import fork
from leadhand.ports.heads import RunHead
from leadhand.stores.opening import open_store

FIRST, SECOND = "wo-001.0/t0/c0", "wo-001.1/t0/c0"


async def test_only_runs_that_ask_are_looked_into() -> None:
    store = MemoryStore(SystemClock())
    for number in range(3):
        await store.create(f"run-{number}", started())
    await store.append("run-1", [asks(FIRST), asks(SECOND)], head=RunHead(3, asking=2))
    await store.append("run-2", [asks(FIRST), says(FIRST)], head=RunHead(3))
    loaded: list[str] = []

    class Looking:
        """As much of a runtime as looking takes."""

        def __init__(self) -> None:
            self.store = store

        async def load(self, run_id: str) -> RunState:
            loaded.append(run_id)
            return await loading.load(store, run_id)

    found = await open_approvals(Looking())  # type: ignore[arg-type]
    assert [(asked.run_id, asked.approval.approval_id) for asked in found] == [("run-1", FIRST), ("run-1", SECOND)]
    assert loaded == ["run-1"]


async def test_a_fork_has_no_approval_of_the_first_run_whether_it_is_open_or_answered(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND), says(FIRST), says(SECOND)])
        await fork(store, "run-1", 4, "run-2")
        assert await store.runs(asking=True) == []
        assert [entry.event.type for entry in await store.read("run-2")] == ["run_started"]
