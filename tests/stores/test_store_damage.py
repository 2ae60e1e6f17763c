"""Databases that are damaged, or cannot be written: what is wrong is said, and nothing is made worse."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from refusals import refused
from stores.contract import collected, pauses, started
from stores.test_store_keys import api_key, webhook

from leadhand.app.runtime.checks import check_writable
from leadhand.app.steering.keys import add_key, all_keys, key_of
from leadhand.core.errors import StoreError, UnreadableRun
from leadhand.core.events import RunFinished
from leadhand.core.run import RunStatus
from leadhand.ports.webhooks import WEBHOOK
from leadhand.server.webhooks import all_webhooks, store_webhook
from leadhand.stores.connection import Corrupt, ReadOnly
from leadhand.stores.opening import database_at, open_store

RunSql = Callable[..., list[tuple[Any, ...]]]
NOBODY = 65534


@pytest.fixture
def url(new_url: str) -> str:
    """The tests of this module change the tables."""
    return new_url


async def why_refused(url: str) -> StoreError:
    """Why a database cannot be opened; two lines, what and how."""
    with pytest.raises(StoreError) as refusal:
        await open_store(url)
    assert refusal.value.exit_code == 6
    assert refusal.value.how
    assert str(refusal.value).count("\n") == 1
    return refusal.value


# --- the version of the schema ---


@pytest.mark.parametrize(
    ("damage", "table"),
    [
        ("DELETE FROM meta", "meta"),
        ("INSERT INTO meta SELECT * FROM meta", "meta"),
        ("DROP TABLE meta", "meta"),
        ("DROP TABLE events", "events"),
    ],
)
async def test_a_database_that_has_lost_a_part_is_left_alone(
    url: str, run_sql: RunSql, damage: str, table: str
) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        name = store.name
    run_sql(url, damage)
    error = await why_refused(url)
    assert isinstance(error, Corrupt)
    assert name in error.what
    assert table in error.what
    assert run_sql(url, "SELECT * FROM runs")


@pytest.mark.parametrize("version", ["'one'", "x'01'", "1.5"])
async def test_a_version_that_is_no_number_is_refused(sqlite_url: str, run_sql: RunSql, version: str) -> None:
    await (await open_store(sqlite_url)).aclose()
    run_sql(sqlite_url, f"UPDATE meta SET version = {version}")
    assert isinstance(await why_refused(sqlite_url), Corrupt)


# --- the log ---


@pytest.mark.parametrize(
    ("damage", "seq"),
    [
        ("DELETE FROM events WHERE seq = 3 AND", 3),
        ("DELETE FROM events WHERE seq = 4 AND", 4),
        ("UPDATE events SET body = 'garbage' WHERE seq = 2 AND", 2),
        ("""UPDATE events SET body = '{"mood": 1, "reason": []}' WHERE seq = 2 AND""", 2),
        ("UPDATE runs SET head_seq = 2 WHERE", 3),
    ],
)
async def test_a_damaged_run_is_named_whoever_reads_and_others_are_not(
    url: str, run_sql: RunSql, damage: str, seq: int
) -> None:
    async with aclosing(await open_store(url)) as store:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started())
            await store.append(run_id, pauses("a", "b", "c"))
        assert await store.read("run-1", after=9) == []
        run_sql(url, f"{damage} run_id = 'run-1'")
        following = collected(store.follow("run-1"), until=4)
        for read in (store.read("run-1"), store.read("run-1", after=seq - 1), following):
            with refused(UnreadableRun, run_id="run-1", seq=seq):
                await read
        assert len(await store.read("run-1", limit=seq - 1)) == seq - 1
        assert len(await store.read("run-2")) == 4


@pytest.mark.parametrize(
    ("damage", "seq"),
    [
        *((f"UPDATE runs SET head_seq = {value}", 4) for value in ("'garbage'", "x'07'", "1.5")),
        *(
            (f"UPDATE events SET seq = {number} WHERE seq = 3", 3)
            for number in ("'garbage'", "x'ff'", "-5", "4611686018427387904")
        ),
        ("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 2", 2),
        ("UPDATE events SET type = CAST(x'72ff' AS TEXT) WHERE seq = 2", 2),
    ],
)
async def test_values_of_another_type_are_named_in_text_that_can_be_sent(
    sqlite_url: str, run_sql: RunSql, damage: str, seq: int
) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", pauses("a", "b"))
        run_sql(sqlite_url, damage)
        with refused(UnreadableRun, run_id="run-1", seq=seq) as refusal:
            await store.read("run-1")
        assert str(refusal.value).encode()
        assert len(await store.read("run-1", limit=seq - 1)) == seq - 1


async def test_a_run_whose_head_is_damaged_takes_no_events_and_holds_up_no_other(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        for run_id in ("run-1", "run-2"):
            await store.create(run_id, started())
            await store.append(run_id, pauses("a", "b"))
        run_sql(url, "UPDATE runs SET head_seq = 1 WHERE run_id = 'run-1'")
        async with asyncio.timeout(10):
            outcomes = await asyncio.gather(
                *(store.append(run_id, pauses("c")) for run_id in ("run-1", "run-2")), return_exceptions=True
            )
        assert [isinstance(outcome, StoreError) for outcome in outcomes] == [True, False]
        assert len(await store.read("run-2")) == 4


@pytest.mark.parametrize("damage", ["asking = 'garbage'", "label_words = x'ff'"])
async def test_a_value_of_another_type_stops_no_other_run(sqlite_url: str, run_sql: RunSql, damage: str) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        for run_id in ("run-1", "run-2", "run-3"):
            await store.create(run_id, started())
    run_sql(sqlite_url, f"UPDATE runs SET {damage} WHERE run_id = 'run-1'")
    async with aclosing(await open_store(sqlite_url)) as store:
        names = ("run-2", "run-1", "run-3", "run-1", "run-2") * 4
        for _ in range(3):  # in one transaction: the writes of the damaged run alone may fail
            written = await asyncio.gather(*(store.append(name, pauses("a")) for name in names), return_exceptions=True)
            failed = [name for name, each in zip(names, written, strict=True) if not isinstance(each, list)]
            assert set(failed) <= {"run-1"}


@pytest.mark.parametrize("value", ["'text'", "-5", "17"])
async def test_a_blob_that_is_no_bytes_is_missing_and_damages_no_run(
    sqlite_url: str, run_sql: RunSql, value: str
) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", pauses("a"), blobs={"digest": b"content"})
        run_sql(sqlite_url, f"UPDATE blobs SET body = {value}")
        with pytest.raises(KeyError):
            await store.blob("digest")
        assert len(await store.read("run-1")) == 2


# --- beside the log ---


@pytest.mark.parametrize("change", ["status = 'gone'", "created_at = 9000000000000000000"])
async def test_a_damaged_line_of_a_list_says_so_and_hides_no_other(url: str, run_sql: RunSql, change: str) -> None:
    async with aclosing(await open_store(url)) as store:
        for run_id in ("run-1", "run-2", "run-3"):
            await store.create(run_id, started())
        run_sql(url, f"UPDATE runs SET {change} WHERE run_id = 'run-2'")
        listed = {run.run_id: run.request for run in await store.runs()}
        assert set(listed) == {"run-1", "run-2", "run-3"}
        assert "run-2" in listed["run-2"]
        assert (await store.run("run-2")).request == listed["run-2"]
        assert len(await store.read("run-2")) == 1


async def test_a_damaged_key_is_named(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await add_key(store, api_key("0a1b2c3d", name="Ann"))
        run_sql(url, """UPDATE records SET body = replace(body, '"read"', '"everything"')""")
        for look in (all_keys(store), key_of(store, "digest of 0a1b2c3d")):
            with refused(StoreError, "Ann", "damaged"):
                await look


@pytest.mark.parametrize("body", ["""replace(body, 'run.finished', 'everything')""", "'garbage'", "'[]'"])
async def test_a_damaged_webhook_is_named_and_holds_up_neither_runs_nor_others(
    url: str, run_sql: RunSql, body: str
) -> None:
    async with aclosing(await open_store(url)) as store:
        for name in ("wh_1", "wh_2"):
            await store_webhook(store, webhook(name))
        run_sql(url, f"UPDATE records SET body = {body} WHERE record_key = 'wh_1'")
        await store.create("run-1", started())
        await store.append("run-1", [RunFinished(status=RunStatus.FAILED, answer="")])
        taken = await store.take_deliveries(10)
        assert sorted((each.webhook_id, each.event) for each in taken) == [
            ("wh_2", "run.failed"),
            ("wh_2", "run.finished"),
        ]
        with refused(StoreError, "wh_1", "webhook"):
            await all_webhooks(store)
        await store.delete_record(WEBHOOK, "wh_1")
        assert [each.webhook_id for each in await all_webhooks(store)] == ["wh_2"]


async def test_a_webhook_that_is_no_text_stops_no_run(sqlite_url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        await store_webhook(store, webhook("wh_1"))
        run_sql(sqlite_url, "UPDATE records SET body = x'00ff'")
        await store.create("run-1", started())
        await store.append("run-1", [RunFinished(status=RunStatus.FAILED, answer="")])
        assert (await store.run("run-1")).status is RunStatus.FAILED


async def test_a_damaged_delivery_holds_up_no_other(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store_webhook(store, webhook("wh_1"))
        await store.create("run-1", started())
        await store.append("run-1", [RunFinished(status=RunStatus.FAILED, answer="")])
        run_sql(url, "UPDATE deliveries SET body = replace(body, '\"run.failed\"', '\"run.gone\"')")
        assert [each.event for each in await store.take_deliveries(10)] == ["run.finished"]
        with refused(StoreError, "delivery"):
            await store.deliveries("wh_1", 10)


async def test_a_damaged_answer_in_the_cache_is_none(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.cache("paris", [1], 60)
        run_sql(url, "UPDATE cache SET value = '[1'")
        assert await store.cached("paris") is None


# --- what cannot be written ---


@pytest.fixture
async def guarded() -> AsyncIterator[Path]:
    """A database with one run, in a directory of the user who runs the test: never root, who may write everything."""
    # Not in pytest's folders, which nobody else may enter.
    directory = Path(tempfile.mkdtemp(prefix="leadhand-guarded-"))
    database_at(str(directory / "leadhand.db"))  # imports what the other user may be unable to
    root = os.geteuid() == 0
    if root:
        os.chown(directory, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        async with aclosing(await open_store(str(directory / "leadhand.db"))) as store:
            await store.create("run-1", started())
        yield directory / "leadhand.db"
    finally:
        directory.chmod(0o700)
        if root:
            os.seteuid(0)
        shutil.rmtree(directory)


async def read_only(database: Path, named: Path) -> None:
    """Check that a database is refused because this user cannot write, with the name of the file in question."""
    error = await why_refused(str(database))
    assert isinstance(error, ReadOnly)
    assert str(named) in error.what


async def test_a_database_that_is_read_only_is_refused_when_it_is_opened(guarded: Path) -> None:
    guarded.chmod(0o400)
    await read_only(guarded, guarded)
    guarded.chmod(0o600)
    async with aclosing(await open_store(str(guarded))) as store:
        assert len(await store.read("run-1")) == 1


@pytest.mark.parametrize("there", [True, False], ids=["a database", "none yet"])
async def test_a_directory_that_is_read_only_is_refused(guarded: Path, there: bool) -> None:
    if not there:
        guarded.unlink()
    guarded.parent.chmod(0o500)
    await read_only(guarded, guarded)


async def test_a_directory_that_is_closed_is_refused(guarded: Path) -> None:
    guarded.parent.chmod(0)
    await read_only(guarded, guarded)
    assert (await why_refused(str(guarded.parent / "sub/x.db"))).what.endswith("/sub/x.db")


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
async def test_a_log_beside_the_database_that_is_read_only_is_named(guarded: Path, suffix: str) -> None:
    """As a process of root leaves it behind."""
    beside = guarded.with_name(guarded.name + suffix)
    beside.touch(0o400)
    await read_only(guarded, beside)


async def test_a_directory_of_locks_that_is_read_only_is_named(guarded: Path) -> None:
    locks = guarded.with_name(guarded.name + ".hosts")
    locks.chmod(0o500)
    assert f"{locks}: Permission denied" in (await why_refused(str(guarded))).what
    locks.chmod(0o700)


async def test_finding_out_is_a_commit_and_not_a_guess(sqlite_url: str) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        with closing(database_at(sqlite_url).connect(writes=False)) as witness:
            before = witness.execute("PRAGMA data_version")
            await check_writable(store)
            assert witness.execute("PRAGMA data_version") != before


async def test_a_server_that_only_reads_is_found_out(postgres_url: str) -> None:
    async with aclosing(await open_store(postgres_url)) as store:
        await store.create("run-1", started())
    read_only = postgres_url.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    assert isinstance(await why_refused(read_only), ReadOnly)
    async with aclosing(await open_store(read_only, reading=True)) as store:
        assert [run.run_id for run in await store.runs()] == ["run-1"]
        with pytest.raises(ReadOnly):
            await store.claim("run-1")
