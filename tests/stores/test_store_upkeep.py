"""Upkeep: runs are deleted with what only they use, the space comes back, and a backup is a whole database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from refusals import refused
from store_processes import process
from stores.contract import began, pauses, started, tokens, tokens_at_most

from leadhand.core.artifact import FileVersion, pack
from leadhand.core.errors import NoSuchRun, RunOwned, UsageError
from leadhand.core.events import ArtifactWritten, RunFinished, RunStarted, RunStatusSet, ToolCallReturned
from leadhand.core.run import RunStatus
from leadhand.core.secret import Secret
from leadhand.stores.opening import open_store
from leadhand.stores.schema import TABLES
from leadhand.stores.sql_store import SqlContextStore

RunSql = Callable[..., list[tuple[Any, ...]]]
ATTEMPT = "wo-001.0/a1"


async def finished(store: SqlContextStore, run_id: str, *payloads: str) -> list[str]:
    """Make a run that no process drives, with these results of tools; return their digests."""
    digests: list[str] = []
    await store.create(run_id, started(), secrets=[Secret("sec_1", "mcp:mail", "login", f'"token of {run_id}"')])
    for position, payload in enumerate(payloads):
        raw, blobs = pack(payload)
        event = ToolCallReturned(attempt=ATTEMPT, call_id=f"{ATTEMPT}/{position}", tool="read", ok=True, raw=raw)
        await store.append(run_id, [event], blobs=blobs)
        digests += blobs
    await store.release(run_id, 1)
    return digests


async def write_artifact(store: SqlContextStore, run_id: str, content: bytes) -> str:
    digest = await store.put_blob(content)
    written = ArtifactWritten(attempt=ATTEMPT, path="a.txt", digest=digest, size=len(content))
    await store.append(run_id, [written])
    return digest


async def test_a_deleted_run_leaves_no_row_behind(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", [began("c1", tokens(5), within={"wo-001.0": tokens_at_most(9)}), *pauses("a")])
        await store.release("run-1", 1)
        await finished(store, "run-2", "x" * 9_000)
        await store.delete_runs(["run-1", "run-2"])
        with pytest.raises(NoSuchRun):
            await store.read("run-1")
        assert await store.runs() == []
        await store.create("run-1", started())  # the id is free again, and its log is new
        assert len(await store.read("run-1")) == 1
        await store.release("run-1", 1)
        await store.delete_runs(["run-1"])
    for table in TABLES - {"meta"}:
        assert run_sql(url, f"SELECT count(*) FROM {table}") == [(0,)], table


async def test_what_another_run_uses_is_kept(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        (shared,) = await finished(store, "run-1", "shared" * 2_000)
        (own,) = await finished(store, "run-2", "own" * 2_000)
        assert await finished(store, "run-3", "shared" * 2_000) == [shared]
        await store.delete_runs(["run-1", "run-2"])
        assert await store.blob(shared)
        assert [len(await store.secrets(f"run-{number}")) for number in (1, 2, 3)] == [0, 0, 1]
        with pytest.raises(KeyError):
            await store.blob(own)
        assert await store.damage() == []


async def test_artifacts_go_with_the_last_run_that_has_them_but_not_before_they_are_named(
    url: str, run_sql: RunSql
) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.create("run-2", started())
        own, shared = await write_artifact(store, "run-1", b"own"), await write_artifact(store, "run-1", b"shared")
        await write_artifact(store, "run-2", b"shared")
        unnamed = await store.put_blob(b"its event is about to be written")
        await store.release("run-1", 1)
        await store.delete_runs(["run-1"])
        assert await has(store, unnamed)

        # An hour later, nothing will name it any more.
        run_sql(url, "UPDATE blobs SET used_at = 0")
        await store.put_blob(b"shared")
        await store.release("run-2", 1)
        await store.create("run-3", started())
        await store.release("run-3", 1)
        await store.delete_runs(["run-3"])
        assert [await has(store, each) for each in (own, shared, unnamed)] == [False, True, False]
        await store.delete_runs(["run-2"])
        assert await has(store, shared)  # it was put again just now


def age(url: str, run_sql: RunSql) -> None:
    """Make stored artifacts older than content whose event may still be written."""
    run_sql(url, "UPDATE blobs SET used_at = 0")


def may_read(digest: str, number: int = 0) -> FileVersion:
    path = f"memory/{number}-{'x' * 150}.md"
    return FileVersion(path=path, digest=digest, size=3, run_id="run-1", at=datetime.now(UTC))


async def has(store: SqlContextStore, digest: str) -> bool:
    """Whether content is stored; asking keeps nothing."""
    with suppress(KeyError):
        await store.blob(digest)
        return True
    return False


@pytest.mark.slow
async def test_files_that_another_run_may_read_stay_while_that_run_is_there(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        digests = [await write_artifact(store, "run-1", f"content {number}".encode()) for number in range(200)]
        await store.release("run-1", 1)
        age(url, run_sql)
        unknown = f"sha256:{'0' * 64}"
        assert await store.keep_blobs([*digests, unknown]) == set(digests)
        assert await store.keep_blobs([]) == set()

        earlier = tuple(may_read(digest, number) for number, digest in enumerate(digests[1:]))
        await store.create("run-2", started(earlier=earlier))  # a large event, whose digests stay in its row
        await store.release("run-2", 1)
        age(url, run_sql)
        await store.delete_runs(["run-1"])
        there = [await has(store, digest) for digest in digests]
        assert (there[0], all(there[1:])) == (False, True)
        (entry,) = await store.read("run-2")
        assert isinstance(entry.event, RunStarted)
        assert entry.event.definition.earlier == earlier

        await store.delete_runs(["run-2"])
        assert not any([await has(store, digest) for digest in digests])


DELETER = """
from leadhand.stores.upkeep import Upkeep

delete = Upkeep._delete_unnamed

def slowly(self, connection):
    delete(self, connection)
    say("deleting")  # and it is not committed yet
    input()

Upkeep._delete_unnamed = slowly

async def main():
    store = await open_store(url)
    await store.delete_runs(["run-1"])
    say("deleted")
    await store.aclose()

asyncio.run(main())
"""


async def test_a_process_that_deletes_takes_nothing_that_another_was_promised(url: str, run_sql: RunSql) -> None:
    """A new run asks for content at the very moment at which another process deletes it."""
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        digest = await write_artifact(store, "run-1", b"old")
        await store.release("run-1", 1)
        age(url, run_sql)
        async with process(url, DELETER) as deleter:
            assert await deleter.heard() == ["deleting"]
            keeping = asyncio.create_task(store.keep_blobs([digest]))
            await asyncio.wait({keeping}, timeout=0.2)  # it waits for the deleter, or has its answer by now
            await deleter.tell()
            assert await deleter.heard() == ["deleted"]
            promised = await keeping
        assert promised == {each for each in [digest] if await has(store, each)}


async def test_a_run_that_is_driven_is_not_deleted(url: str) -> None:
    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as other:
        await store.create("run-1", started())
        for process in (store, other):
            with refused(RunOwned, "run-1"):
                await process.delete_runs(["run-1"])
        assert len(await store.append("run-1", pauses("a"))) == 1
    async with aclosing(await open_store(url)) as other:
        with pytest.raises(NoSuchRun):
            await other.delete_runs(["run-9"])
        await other.delete_runs(["run-1"])


async def test_only_runs_that_have_ended_are_deleted_if_asked_and_the_others_stop_nothing(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        for number in range(1, 6):
            await store.create(f"run-{number}", started())
            await store.append(f"run-{number}", [RunFinished(status=RunStatus.SUCCEEDED, answer="")])
            await store.release(f"run-{number}", 1)
        await store.claim("run-2", ended=True)  # driven again
        epoch = await store.claim("run-3", ended=True)
        await store.append("run-3", [RunStatusSet(status=RunStatus.RUNNING, by="me")])
        await store.release("run-3", epoch)
        await store.delete_runs(["run-4"])

        asked = [f"run-{number}" for number in range(1, 6)]
        assert await store.delete_runs(asked, ended_only=True) == ["run-1", "run-5"]
        assert {run.run_id for run in await store.runs()} == {"run-2", "run-3"}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET body = 'garbage'",
        "DELETE FROM events WHERE seq = 2",
        "UPDATE runs SET status = 'gone', created_at = 9000000000000000000",
        "DELETE FROM runs",
    ],
)
async def test_a_damaged_run_can_be_deleted(url: str, run_sql: RunSql, damage: str) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", pauses("a", "b"))
        await store.release("run-1", 1)
        run_sql(url, damage)
        await store.delete_runs(["run-1"])
        assert run_sql(url, "SELECT * FROM events") == []
        assert await store.damage() == []


async def test_others_write_while_many_runs_are_deleted(url: str) -> None:
    import asyncio

    async with aclosing(await open_store(url)) as store, aclosing(await open_store(url)) as other:
        for number in range(8):
            await finished(store, f"run-{number}", f"{number}" * 9_000, "shared" * 2_000)
        await other.create("busy", started())

        async def write() -> list[str]:
            digests: list[str] = []
            for number in range(60):
                raw, blobs = pack(f"{number % 8}" * 9_000 if number % 2 else "shared" * 2_000)
                event = ToolCallReturned(attempt=ATTEMPT, call_id=f"{number}", tool="read", ok=True, raw=raw)
                await other.append("busy", [event], blobs=blobs)
                digests += blobs
            return digests

        async def delete() -> None:
            for number in range(8):
                await store.delete_runs([f"run-{number}"])

        digests, _ = await asyncio.gather(write(), delete())
        assert all([await store.blob(digest) for digest in digests])
        assert [run.run_id for run in await store.runs()] == ["busy"]
        assert await store.damage() == []


async def test_the_space_of_deleted_runs_comes_back(sqlite_url: str, tmp_path: Path) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        await finished(store, "run-1", *(f"{number}" * 100_000 for number in range(20)))
        await finished(store, "run-2", "small")
        before = (tmp_path / "leadhand.db").stat().st_size
        await store.delete_runs(["run-1"])
        after = (tmp_path / "leadhand.db").stat().st_size
        assert len(await store.read("run-2")) == 2
    assert before > 2_000_000
    assert after < before / 10


async def test_a_backup_is_made_in_use_and_opens_with_its_artifacts(sqlite_url: str, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        digest = await write_artifact(store, "run-1", b"content")
        await store.append("run-1", pauses("a"))
        await store.back_up(target)
        await store.append("run-1", pauses("b"))
        with refused(UsageError, target):
            await store.back_up(target)
    assert target.stat().st_mode & 0o077 == 0
    async with aclosing(await open_store(str(target))) as copy:
        assert len(await copy.read("run-1")) == 3
        assert await copy.blob(digest) == b"content"
        assert await copy.damage() == []
    assert not list(tmp_path.glob("*.partial"))


async def test_a_server_is_backed_up_with_its_own_tool(postgres_url: str, tmp_path: Path) -> None:
    async with aclosing(await open_store(postgres_url)) as store:
        with pytest.raises(UsageError) as refusal:
            await store.back_up(tmp_path / "copy.db")
        assert "pg_dump" in refusal.value.how


@pytest.mark.parametrize(
    ("change", "numbers"),
    [
        ("DELETE FROM events WHERE run_id = 'run-1' AND seq = 2", ["2"]),
        ("DELETE FROM events WHERE run_id = 'run-1' AND seq > 1", ["2"]),
        ("DELETE FROM events WHERE run_id = 'run-1'", ["1"]),
        ("UPDATE events SET seq = 7 WHERE run_id = 'run-1' AND seq = 2", ["2"]),
        ("DELETE FROM runs WHERE run_id = 'run-1'", []),
        ("DELETE FROM blobs", ["1"]),
    ],
)
async def test_what_a_database_has_lost_is_found(url: str, run_sql: RunSql, change: str, numbers: list[str]) -> None:
    async with aclosing(await open_store(url)) as store:
        await finished(store, "run-1", "x" * 9_000, "small")
        await finished(store, "run-2", "small")
        assert await store.damage() == []
        run_sql(url, change)
        (lost,) = await store.damage()
        assert re.findall(r"run-1|\d+", lost) == ["run-1", *numbers]
