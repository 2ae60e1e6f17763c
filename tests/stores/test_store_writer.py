"""The writer and the readers: what is committed together, and what happens when the database fails."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import signal
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from store_processes import process, until
from stores.contract import pauses, reasons, started

from leadhand.core.errors import NoSuchRun, StoreError
from leadhand.core.run import RunStatus
from leadhand.stores import followers, threads
from leadhand.stores.connection import Connection, Unavailable
from leadhand.stores.opening import open_store
from leadhand.stores.postgres.database import PostgresConnection
from leadhand.stores.sql_store import SqlContextStore
from leadhand.stores.writer import BATCH, SideWrite, Writer

END_OTHERS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
)
"""End the sessions of all others on the server."""


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(url)) as store:
        yield store


@pytest.fixture
async def sqlite_store(sqlite_url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(sqlite_url)) as store:
        yield store


@pytest.fixture
async def postgres_store(postgres_tables_url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(postgres_tables_url)) as store:
        yield store


async def on_the_writer(store: SqlContextStore, sql: str) -> None:
    """Run a statement on the connection that writes."""
    await store._writer.submit(SideWrite(key="0", write=lambda connection: connection.execute(sql)))


def store_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("leadhand-store")]


# --- committing ---


async def test_what_is_queued_together_is_committed_together(
    store: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create("run-1", started())
    sizes: list[int] = []
    transact = store._writer._transact_once
    writing, queued = threading.Event(), threading.Event()

    def counted(writes: Any) -> Any:
        writing.set()
        assert queued.wait(60), "while the first is being written, the others gather"
        sizes.append(len(writes))
        return transact(writes)

    monkeypatch.setattr(store._writer, "_transact_once", counted)
    loop = asyncio.get_running_loop()
    first = store.append("run-1", pauses("first"))
    assert await asyncio.to_thread(writing.wait, 60)
    wakes: list[int] = []
    call_soon = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *args: (wakes.append(1), call_soon(*args)))
    others = [store.append("run-1", pauses(f"{number}")) for number in range(BATCH + 100)]
    queued.set()
    await asyncio.gather(first, *others)
    assert sizes == [1, BATCH, 100]
    assert len(wakes) == 3


async def test_a_commit_is_on_the_disk(sqlite_store: SqlContextStore) -> None:
    settings = [SideWrite(key="0", write=setting(name)) for name in ("journal_mode", "synchronous")]
    assert [await sqlite_store._writer.submit(each) for each in settings] == ["wal", 2]  # in sync after every commit


def setting(name: str) -> Callable[[Connection], object]:
    return lambda connection: connection.execute(f"PRAGMA {name}")[0][0]


async def test_a_commit_that_fails_fails_for_all_and_shows_nothing(sqlite_store: SqlContextStore) -> None:
    store = sqlite_store
    await store.create("run-1", started())
    following = store.follow("run-1", after=1)
    waiting = asyncio.ensure_future(anext(following))
    await asyncio.sleep(0.02)
    await on_the_writer(store, "PRAGMA max_page_count = 1")
    large = "x" * 100_000
    outcomes = await asyncio.gather(*(store.append("run-1", pauses(large)) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(outcome, StoreError) and "full" in outcome.what for outcome in outcomes)
    assert len({id(outcome) for outcome in outcomes}) == 5
    assert not waiting.done()
    assert len(await store.read("run-1")) == 1
    assert (await store.run("run-1")).status is RunStatus.RUNNING

    await on_the_writer(store, "PRAGMA max_page_count = 1000000")  # somebody made room
    (entry,) = await store.append("run-1", pauses(large))
    assert entry.seq == 2
    assert await waiting == [entry]
    await following.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize("run_id", ["half a character: \ud800", "a NUL: \0"], ids=["surrogate", "NUL"])
async def test_a_value_that_cannot_be_stored_is_the_fault_of_one_append(store: SqlContextStore, run_id: str) -> None:
    await store.create("run-1", started())
    calls = [
        store.append("run-1", pauses("before")),
        store.append(run_id, pauses("nowhere")),
        store.append("run-1", pauses("after")),
    ]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(outcome, list) for outcome in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], StoreError | NoSuchRun)
    assert reasons(await store.read("run-1")) == ["before", "after"]


async def test_a_fault_of_ours_does_not_leave_anybody_waiting(
    store: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create("run-1", started())
    monkeypatch.setattr("leadhand.stores.run_row.status_after", lambda *_: 1 / 0)
    async with asyncio.timeout(60):
        with pytest.raises(StoreError, match="ZeroDivisionError"):
            await store.append("run-1", pauses("a"))
    monkeypatch.undo()
    await store.append("run-1", pauses("b"))
    assert reasons(await store.read("run-1")) == ["b"]


# --- PostgreSQL goes away, and meets others ---


async def test_a_connection_lost_in_a_transaction_loses_nothing(postgres_store: SqlContextStore) -> None:
    store = postgres_store
    await store.create("run-1", started())
    left = [1, 1, 1]

    def lost(connection: Connection) -> None:
        if left:
            left.pop()
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    await asyncio.gather(store.append("run-1", pauses("a")), store._writer.submit(SideWrite(key="0", write=lost)))
    await store.append("run-1", pauses("b"))
    assert reasons(await store.read("run-1")) == ["a", "b"]
    assert left == []


@pytest.mark.parametrize("was_committed", [True, False])
async def test_a_commit_whose_answer_was_lost_is_not_repeated_unless_it_failed(
    postgres_store: SqlContextStore, monkeypatch: pytest.MonkeyPatch, was_committed: bool
) -> None:
    store = postgres_store
    await store.create("run-1", started())
    commit, left = PostgresConnection.commit, [1]

    def cut(connection: PostgresConnection) -> None:
        if was_committed or not left:
            commit(connection)
        if left:
            left.pop()
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(PostgresConnection, "commit", cut)
    (entry,) = await store.append("run-1", pauses("a"))
    assert (await store.read("run-1"))[1:] == [entry]
    assert (await store.run("run-1")).head_seq == 2


async def test_a_database_that_stays_away_is_an_error_after_a_while(postgres_tables_url: str) -> None:
    async with aclosing(await open_store(postgres_tables_url, patience_s=0.3)) as store:
        await store.create("run-1", started())
        lost = "SELECT pg_terminate_backend(pg_backend_pid())"
        with pytest.raises(StoreError, match="terminating connection"):
            await on_the_writer(store, lost)
        await store.append("run-1", pauses("b"))
        assert reasons(await store.read("run-1")) == ["b"]


@pytest.mark.slow
async def test_statements_that_time_out_and_sessions_that_end_again_and_again_lose_nothing(
    postgres_store: SqlContextStore, postgres_tables_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Writers, readers and followers ride it out; each event is there once."""
    store = postgres_store
    await store.create("run-1", started())
    over = asyncio.Event()

    async def disturb() -> None:
        async with await psycopg.AsyncConnection.connect(postgres_tables_url, autocommit=True) as connection:
            for _ in range(12):
                await connection.execute(END_OTHERS)
        over.set()

    async def write(worker: int) -> list[str]:
        written: list[str] = []
        while not over.is_set():
            written.append(f"{worker}-{len(written)}")
            await store.append("run-1", pauses(written[-1]))
            await store.run("run-1")
        return written

    *written, _ = await asyncio.gather(*(write(worker) for worker in range(4)), disturb())
    await on_the_writer(store, "SET statement_timeout = '1ms'")
    waiting = store._writer.submit(SideWrite(key="0", write=lambda each: each.execute("SELECT pg_sleep(0.05)")))
    async with asyncio.timeout(60):
        while "canceling statement due to statement timeout" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    with psycopg.connect(postgres_tables_url, autocommit=True) as connection:
        connection.execute(END_OTHERS)
    await waiting
    assert Counter(reasons(await store.read("run-1"))) == Counter(itertools.chain.from_iterable(written))


async def test_a_write_waits_for_a_stopped_process_and_says_so(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    holder = """
    import sqlite3
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    say(os.getpid())
    input()
    connection.execute("COMMIT")
    """
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        async with process(sqlite_url, holder) as other:
            (pid,) = await other.heard()
            os.kill(int(pid), signal.SIGSTOP)
            appended = asyncio.ensure_future(store.append("run-1", pauses("a")))
            async with asyncio.timeout(60):
                while not caplog.messages:  # noqa: ASYNC110 (nothing tells of a log record)
                    await asyncio.sleep(0.01)
            assert "locked by another process" in caplog.text
            assert not appended.done()
            os.kill(int(pid), signal.SIGCONT)
            await other.tell()
            await appended
        assert reasons(await store.read("run-1")) == ["a"]


async def test_connections_lost_while_idle_are_made_anew(
    postgres_store: SqlContextStore, postgres_tables_url: str
) -> None:
    store = postgres_store
    await store.create("run-1", started())
    following = store.follow("run-1", after=1)
    waiting = asyncio.ensure_future(anext(following))
    await store.cached("k")
    with psycopg.connect(postgres_tables_url, autocommit=True) as connection:
        connection.execute(END_OTHERS)
    entries = await store.append("run-1", pauses("a"))
    assert await waiting == entries
    for _ in range(3):
        assert reasons(await store.read("run-1")) == ["a"]
    # The hold was taken again with the connection.
    assert (await store.run("run-1")).owner == store.host
    async with aclosing(await open_store(postgres_tables_url)) as other:
        assert (await other.run("run-1")).owner == store.host
        (entry,) = await other.append("run-1", pauses("b"))
        async with asyncio.timeout(60):  # the look-out, too, has found its way back
            assert await anext(following) == [entry]
    await following.aclose()  # type: ignore[attr-defined]


async def test_two_who_make_the_same_run_at_once_do_not_disturb_each_other(postgres_tables_url: str) -> None:
    async with (
        aclosing(await open_store(postgres_tables_url)) as store,
        aclosing(await open_store(postgres_tables_url)) as other,
    ):
        await store.create("run-0", started())
        for number in range(1, 20):
            outcomes = await asyncio.gather(
                *(each.create(f"run-{number}", started()) for each in (store, other)),
                *(each.append("run-0", pauses("beside")) for each in (store, other)),
                return_exceptions=True,
            )
            assert sum(isinstance(outcome, Exception) for outcome in outcomes) == 1
            assert not any(isinstance(outcome, StoreError) for outcome in outcomes)


async def test_transactions_that_need_the_same_things_do_not_deadlock(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: Counter[str] = Counter()
    transact, transact_once = Writer._transact, Writer._transact_once

    def counted(writer: Writer, writes: Any) -> Any:
        tries["transactions"] += 1
        return transact(writer, writes)

    def counted_once(writer: Writer, writes: Any) -> Any:
        tries["tries"] += 1
        return transact_once(writer, writes)

    monkeypatch.setattr(Writer, "_transact", counted)
    monkeypatch.setattr(Writer, "_transact_once", counted_once)
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as other:
        runs = [f"run-{number}" for number in range(8)]
        await asyncio.gather(*(store.create(run_id, started()) for run_id in runs))

        def blobs(round_: int, backwards: bool) -> dict[str, bytes]:
            return {f"digest-{round_}-{number}": b"x" for number in (range(8)[::-1] if backwards else range(8))}

        async def busy(each: SqlContextStore, backwards: bool) -> None:
            order = runs[::-1] if backwards else runs
            for round_ in range(20):
                await asyncio.gather(
                    *(each.append(run_id, pauses(f"{round_}"), blobs=blobs(round_, backwards)) for run_id in order),
                    *(each.pass_gate(run_id, 0.0) for run_id in order),
                    *(each.cache(run_id, round_, 60) for run_id in order),
                )

        async with asyncio.timeout(60):
            await asyncio.gather(busy(store, False), busy(other, True))
        for run_id in runs:
            assert [entry.seq for entry in await store.read(run_id)] == list(range(1, 42))
    if not url.startswith("sqlite"):  # there, who waits for the lock for too long tries again
        assert tries["tries"] == tries["transactions"], "transactions met in a circle and had to be done again"


# --- beside the log ---


async def test_a_read_that_nobody_waits_for_is_soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ends without closing its store does not wait for a database that is locked."""
    monkeypatch.setattr(threads, "CLOSING_S", 0.2)
    tries = 0

    class Locked:
        def connect(self, *, writes: bool = True) -> Connection:
            nonlocal tries
            tries += 1
            raise Unavailable("it is locked", "wait")

    reading = asyncio.create_task(threads.Readers(cast("Any", Locked()), None, 60.0).ask(lambda _: None))
    await until(lambda: asyncio.sleep(0, tries > 0))
    reading.cancel()
    await asyncio.sleep(0.5)
    made = tries
    await asyncio.sleep(0.3)
    assert tries == made


# --- closing ---


async def test_a_closed_store_refuses_and_leaves_nothing_behind(
    url: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(followers, "POLL_S", 36_000)  # closing does not wait for the next look
    before = set(store_threads())
    async with asyncio.timeout(60):
        await use_and_close(await open_store(url))
    assert set(store_threads()) <= before
    gc.collect()
    assert [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)] == []


async def use_and_close(store: SqlContextStore) -> None:
    await store.create("run-1", started())
    following = store.follow("run-1")
    await anext(following)
    await asyncio.gather(*(store.read("run-1") for _ in range(5)))
    await asyncio.gather(store.aclose(), store.aclose())

    async def append() -> None:
        await store.append("run-1", pauses("a"))

    for call in (append(), store.read("run-1"), store.claim("run-1"), anext(following), anext(store.follow("run-1"))):
        with pytest.raises(StoreError):
            await call
    await store.aclose()


async def test_a_store_that_could_not_be_opened_leaves_nothing_behind(
    sqlite_url: str, tmp_path: Any, recwarn: pytest.WarningsRecorder
) -> None:
    (tmp_path / "leadhand.db").write_text("no database, but long enough to be taken for one, at first")
    before = set(store_threads())
    with pytest.raises(StoreError):
        await open_store(sqlite_url)
    assert set(store_threads()) <= before
    gc.collect()
    assert [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)] == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_writer_that_dies_leaves_nobody_waiting(
    sqlite_store: SqlContextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sqlite_store.create("run-1", started())
    monkeypatch.setattr(sqlite_store._writer, "_publish", lambda *arguments: 1 / 0)
    calls = [asyncio.ensure_future(sqlite_store.append("run-1", pauses("a"))) for _ in range(BATCH + 1)]
    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(outcomes[0], list)  # this was committed
    assert isinstance(outcomes[-1], StoreError)


def test_a_loop_that_ends_early_does_not_stop_the_writing(url: str) -> None:
    """What was appended is committed, though nobody is left to be told."""
    store: SqlContextStore | None = None

    async def leave() -> None:
        nonlocal store
        store = await open_store(url)
        await store.create("run-1", started())
        store.append("run-1", pauses("a"))

    async def look() -> None:
        async with aclosing(await open_store(url)) as other:

            async def written() -> bool:
                return len(await other.read("run-1")) == 2

            await until(written)
        assert store is not None
        await store.aclose()

    asyncio.run(leave())
    asyncio.run(look())
