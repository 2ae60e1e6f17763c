"""A SQLite database that is deleted or replaced while a process uses it takes no more writes: they would be lost."""

from __future__ import annotations

import shutil
from contextlib import aclosing
from pathlib import Path

import pytest
from store_processes import process
from stores.contract import pauses, started

from leadhand.core.errors import StoreError
from leadhand.stores.opening import open_store

KILLED = """
async def main():
    store = await open_store(url)
    await store.create("run-1", started())
    for number in range(50):
        await store.append("run-1", pauses(str(number)))
    say("written")
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


async def test_a_killed_process_leaves_a_whole_database(sqlite_url: str, tmp_path: Path) -> None:
    async with process(sqlite_url, KILLED) as child:
        assert await child.heard() == ["written"]
        await child.rest()
    assert (tmp_path / "leadhand.db-wal").stat().st_size > 100_000, "most of it is in the log beside it"
    async with aclosing(await open_store(sqlite_url)) as store:
        assert len(await store.read("run-1")) == 51
        assert await store.damage() == []


@pytest.mark.parametrize("accident", ["deleted", "replaced", "log deleted", "log replaced"])
async def test_a_database_that_is_gone_takes_no_more_writes(sqlite_url: str, tmp_path: Path, accident: str) -> None:
    path = tmp_path / f"leadhand.db{'-wal' if accident.startswith('log') else ''}"
    kept = tmp_path / "kept"
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        path.rename(kept)
        if accident.endswith("replaced"):
            shutil.copy(kept, path)
        for _ in range(2):
            with pytest.raises(StoreError, match="was deleted or replaced"):
                await store.append("run-1", pauses("a"))
        with pytest.raises(StoreError):
            await store.cache("k", 1, 60)
        path.unlink(missing_ok=True)
        kept.rename(path)  # it is back
        await store.append("run-1", pauses("a"))
    async with aclosing(await open_store(sqlite_url)) as store:
        assert len(await store.read("run-1")) == 2


async def test_processes_that_write_and_delete_at_once_raise_no_alarm(sqlite_url: str) -> None:
    async with aclosing(await open_store(sqlite_url)) as store, aclosing(await open_store(sqlite_url)) as other:
        for number in range(20):
            await store.create(f"run-{number}", started())
            await other.append(f"run-{number}", pauses("a"))
            await store.release(f"run-{number}", 1)
            await other.delete_runs([f"run-{number}"])
            await (await open_store(sqlite_url)).aclose()
