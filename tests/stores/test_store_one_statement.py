"""The log is written to SQLite with one statement, which checks that what it was decided on is still so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing

import pytest
from refusals import refused
from store_processes import process
from stores.contract import began, pauses, reasons, started, tokens, tokens_at_most

from leadhand.core.errors import BudgetRefused, Fenced, NoSuchRun, UsageError
from leadhand.stores.connection import TRIES, Changed, Unavailable
from leadhand.stores.opening import open_store
from leadhand.stores.sql_store import SqlContextStore
from leadhand.stores.sqlite import SqliteConnection

Overtake = Callable[[Callable[[], Awaitable[object]]], list[bool]]

HELD = """
import ctypes
read = ctypes.PyDLL(None).read  # unlike CDLL, it keeps the interpreter while it waits

class Held:
    '''Calls SQLite; after each call, this process does nothing until it is told to go on, and keeps the interpreter.'''
    def __init__(self, raw):
        self._raw = raw
        self.calls = 0
    def __getattr__(self, name):
        return getattr(self._raw, name)
    def execute(self, sql, parameters=()):
        rows = self._raw.execute(sql, parameters).fetchall()
        say("called", sql.split()[0])
        read(0, ctypes.create_string_buffer(1), 1)
        return Rows(rows)

class Rows(list):
    fetchall = list.copy  # what was read is read at once

async def main():
    store = await open_store(url)
    await store.create("run-1", started())
    connection = store._writer._connection
    connection._raw = Held(connection._raw)
    say("ready")
    await {work}
    connection._raw = connection._raw._raw
    say("done")
    await store.aclose()

asyncio.run(main())
"""

WORK = {
    "one": """store.append("run-1", pauses("a"), epoch=1)""",
    "a call": """store.append("run-1", [began("c1", tokens(5), shared={"key a": tokens_at_most(9)})])""",
    "another run": """asyncio.gather(store.create("run-2", started()), store.append("run-1", pauses("a")))""",
    "a group": """asyncio.gather(*(store.append("run-1", pauses(str(n)), blobs={str(n): b"x"}) for n in range(50)))""",
    "refused": """asyncio.gather(store.append("run-1", pauses("a"), epoch=9), return_exceptions=True)""",
}


@pytest.mark.parametrize("work", WORK)
async def test_a_process_that_waits_for_its_interpreter_between_two_calls_keeps_nobody_from_writing(
    sqlite_url: str, caplog: pytest.LogCaptureFixture, work: str
) -> None:
    async with process(sqlite_url, HELD.replace("{work}", WORK[work])) as holder:
        assert await holder.heard() == ["ready"]
        async with aclosing(await open_store(sqlite_url, patience_s=0.1)) as store:
            await store.create("run-3", started())
            calls: list[str] = []
            while (heard := await holder.heard()) != ["done"]:
                calls += heard[1:]
                await store.append("run-3", pauses(str(len(calls))))
                await holder.tell()
            assert calls, "the process has called SQLite"
            assert reasons(await store.read("run-3")) == [str(number) for number in range(1, len(calls) + 1)]
        assert caplog.messages == [], "nobody has waited"
        await holder.rest()


# --- what was decided on is checked in the statement ---


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(sqlite_url)) as store:
        yield store


@pytest.fixture
async def other(store: SqlContextStore, sqlite_url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(sqlite_url)) as store:
        yield store


async def done(work: Callable[[], Awaitable[object]]) -> None:
    await work()


@pytest.fixture
async def overtake(store: SqlContextStore, other: SqlContextStore, monkeypatch: pytest.MonkeyPatch) -> Overtake:
    """Let ``other`` do something when ``store`` has decided on its next write and not begun it."""
    loop = asyncio.get_running_loop()
    write = SqliteConnection.write

    def once(work: Callable[[], Awaitable[object]]) -> list[bool]:
        overtaken: list[bool] = []

        def late(connection: SqliteConnection, changes: Sequence[Changed]) -> None:
            write(connection, changes)
            if connection is store._writer._connection and not overtaken:
                overtaken.append(True)
                asyncio.run_coroutine_threadsafe(done(work), loop).result(60)

        monkeypatch.setattr(SqliteConnection, "write", late)
        return overtaken

    return once


@pytest.fixture(params=["read", "known"])
async def run(store: SqlContextStore, other: SqlContextStore, request: pytest.FixtureRequest) -> None:
    """A run of ``other``, whose row ``store`` reads, or remembers from what it wrote last."""
    await other.create("run-1", started("the first"))
    if request.param == "known":
        await store.append("run-1", pauses("before"))
        assert "run-1" in store._writer._known


async def test_an_event_that_came_between_is_neither_lost_nor_written_over(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None
) -> None:
    overtaken = overtake(lambda: other.append("run-1", pauses("theirs")))
    (entry,) = await store.append("run-1", pauses("mine"))
    assert overtaken
    entries = await other.read("run-1")
    assert reasons(entries)[-2:] == ["theirs", "mine"]
    assert entries[-1] == entry
    assert (await other.run("run-1")).head_seq == entry.seq == len(entries)
    assert await store.damage() == []


async def test_an_epoch_that_ended_between_is_fenced(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None
) -> None:
    await other.release("run-1", 1)
    overtaken = overtake(lambda: other.claim("run-1"))
    with refused(Fenced, 2):
        await store.append("run-1", pauses("too late"), epoch=1)
    assert overtaken
    assert "too late" not in reasons(await other.read("run-1"))
    await other.append("run-1", pauses("b"), epoch=2)


async def test_a_run_that_was_released_between_stays_released(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None
) -> None:
    overtaken = overtake(lambda: other.release("run-1", 1))
    await store.append("run-1", pauses("a"))
    assert overtaken
    assert (await store.run("run-1")).owner is None
    assert await store.claim("run-1") == 2


async def test_a_run_that_was_deleted_between_is_not_there(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None
) -> None:
    await other.release("run-1", 1)
    overtaken = overtake(lambda: other.delete_runs(["run-1"]))
    with pytest.raises(NoSuchRun):
        await store.append("run-1", pauses("a"))
    assert overtaken
    assert await store.damage() == []


async def test_a_run_that_was_deleted_and_created_again_keeps_what_it_is(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None
) -> None:
    await other.release("run-1", 1)
    entries = await other.read("run-1")

    async def again() -> None:
        await other.delete_runs(["run-1"])
        await other.create("run-1", started("the second", name="another"))
        for entry in entries[1:]:
            await other.append("run-1", [entry.event])
        await other.release("run-1", 1)

    overtaken = overtake(again)
    await store.append("run-1", pauses("mine"))
    assert overtaken
    listing = await store.run("run-1")
    assert (listing.name, listing.request) == ("another", "the second")
    assert reasons(await store.read("run-1"))[-1] == "mine"


async def test_a_run_is_created_once(store: SqlContextStore, other: SqlContextStore, overtake: Overtake) -> None:
    overtaken = overtake(lambda: other.create("run-1", started("theirs")))
    with refused(UsageError, "run-1"):
        await store.create("run-1", started("mine"))
    assert overtaken
    listing = await store.run("run-1")
    assert (listing.owner, listing.request) == (other.host, "theirs")


async def test_a_budget_that_was_used_up_between_is_not_overdrawn(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None
) -> None:
    call = {"within": {"scope": tokens_at_most(10)}}
    overtaken = overtake(lambda: other.append("run-1", [began("theirs", tokens(6), **call)]))
    with pytest.raises(BudgetRefused):
        await store.append("run-1", [began("mine", tokens(6), **call)])
    assert overtaken
    await store.append("run-1", [began("mine", tokens(4), **call)])


@pytest.mark.parametrize("used_before", [False, True])
async def test_a_budget_of_many_runs_that_was_used_up_between_is_not_overdrawn(
    store: SqlContextStore, other: SqlContextStore, overtake: Overtake, run: None, used_before: bool
) -> None:
    await store.create("run-2", started())
    call = {"shared": {"key a": tokens_at_most(20)}}
    if used_before:
        await store.append("run-2", [began("first", tokens(8), **call)])
        await store.append("run-1", pauses("known again"))
    overtaken = overtake(lambda: other.append("run-1", [began("theirs", tokens(11), **call)]))
    with pytest.raises(BudgetRefused):
        await store.append("run-2", [began("mine", tokens(11), **call)])
    assert overtaken
    await store.append("run-2", [began("mine", tokens(1), **call)])


async def test_what_is_refused_by_what_is_remembered_is_read_again(
    store: SqlContextStore, other: SqlContextStore
) -> None:
    """Another process has raised the epoch: a decision of the new one is not refused."""
    await other.create("run-1", started())
    await other.release("run-1", 1)
    await store.append("run-1", pauses("a"))
    assert await other.claim("run-1") == 2
    assert "run-1" in store._writer._known
    await store.append("run-1", pauses("b"), epoch=2)
    with pytest.raises(Fenced):
        await store.append("run-1", pauses("c"), epoch=1)


async def test_a_write_that_is_overtaken_again_and_again_locks_the_others_out(
    store: SqlContextStore, other: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    await other.create("run-1", started())
    write, tries = SqliteConnection.write, []

    def theirs() -> Awaitable[object]:
        return other.append("run-1", pauses("theirs"))

    def late(connection: SqliteConnection, changes: Sequence[Changed]) -> None:
        write(connection, changes)
        if connection is store._writer._connection:
            tries.append(connection._raw.in_transaction)
            if not tries[-1]:
                asyncio.run_coroutine_threadsafe(done(theirs), loop).result(60)

    monkeypatch.setattr(SqliteConnection, "write", late)
    await store.append("run-1", pauses("mine"))
    assert tries == [False] * (TRIES - 1) + [True]
    assert reasons(await store.read("run-1")) == ["theirs"] * (TRIES - 1) + ["mine"]


async def test_what_was_put_aside_for_a_write_that_failed_is_not_written_later(
    store: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create("run-1", started())
    commit, failed = SqliteConnection.commit, []

    def fails(connection: SqliteConnection) -> None:
        if not failed:
            failed.append(True)
            raise Unavailable("the database is locked", "wait")
        commit(connection)

    monkeypatch.setattr(SqliteConnection, "commit", fails)
    await store.append("run-1", pauses("a"), blobs={"digest": b"x"})
    await store.append("run-1", pauses("b"))
    assert failed
    assert reasons(await store.read("run-1")) == ["a", "b"]
