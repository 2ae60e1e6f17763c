"""Heads of runs and the index of searches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from memory_store import MemoryStore
from stores.contract import asks, says, started

from leadhand.app.runtime.clock import SystemClock
from leadhand.app.steering.approvals import open_approvals
from leadhand.core.errors import StoreError
from leadhand.core.events import RunFinished
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.engine import loading
from leadhand.engine.forking import fork
from leadhand.ports.heads import RunHead
from leadhand.stores import search
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore


async def finished(store: SqlContextStore, answer: str, *numbers: int) -> None:
    for number in numbers:
        await store.create(f"run-{number}", started())
        await store.append(f"run-{number}", [RunFinished(status=RunStatus.SUCCEEDED, answer=answer)])


async def found(store: SqlContextStore, search: str) -> list[str]:
    return [run.run_id for run in await store.runs(search=search)]


async def test_a_run_that_cannot_be_added_to_the_index_fails_no_search(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = search.write_words

    def fails(connection: Any, run: search.Behind, words: list[str]) -> None:
        if run.run_id == "run-2":
            raise StoreError("the row is too large", "report it")
        write(connection, run, words)

    monkeypatch.setattr(search, "write_words", fails)
    async with aclosing(await open_store(url)) as store:
        await finished(store, "harbour", 1, 2, 3)
        assert await found(store, "harbour") == ["run-3", "run-1"]
    (warning,) = caplog.records
    assert {"run-2", "the row is too large"} <= {*warning.args}


@pytest.mark.parametrize("number", ["'garbage'", "x'ff'", "-5"])
async def test_a_damaged_number_of_an_event_fails_no_search(
    sqlite_url: str, run_sql: Callable[..., Any], number: str
) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        await finished(store, "harbour", 1, 2)
        run_sql(sqlite_url, f"UPDATE events SET seq = {number} WHERE run_id = 'run-1' AND seq = 2")
        assert await found(store, "harbour") == ["run-2"]


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["x", "\N{DESERET SMALL LETTER LONG I}"], ids=["one byte", "four bytes"])
async def test_a_run_with_many_long_words_is_found(url: str, letter: str, caplog: pytest.LogCaptureFixture) -> None:
    """PostgreSQL indexes at most 1 MB of words in a row."""
    words = [f"{number:06}{letter * 58}" for number in range(20_000)]
    async with aclosing(await open_store(url)) as store:
        await finished(store, " ".join(words), 1)
        assert await found(store, words[-1]) == ["run-1"]
    assert caplog.records == []


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
