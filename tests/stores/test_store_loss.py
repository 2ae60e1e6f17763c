"""A SQLite database that has lost commits is noticed when it is opened, before anything makes it worse."""

from __future__ import annotations

import shutil
from contextlib import aclosing
from pathlib import Path

import pytest
from store_processes import process
from stores.contract import pauses, started

from leadhand.stores.connection import Corrupt
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


@pytest.fixture
async def killed(sqlite_url: str, tmp_path: Path) -> Path:
    """A database whose process was killed: most of it is in the log beside it."""
    async with process(sqlite_url, KILLED) as child:
        assert await child.heard() == ["written"]
        await child.rest()
    path = tmp_path / "leadhand.db"
    assert path.with_name("leadhand.db-wal").stat().st_size > 100_000
    return path


async def lost(path: Path) -> str:
    """Why a database is refused, after a check that opening it has changed none of its files."""
    before = {each.name: each.read_bytes() for each in path.parent.glob("leadhand.db*") if each.is_file()}
    with pytest.raises(Corrupt) as refusal:
        await open_store(str(path))
    assert f"{path}.mark" in refusal.value.how
    kept = [name for name in before if not name.endswith("-shm")]
    assert {name: path.with_name(name).read_bytes() for name in kept} == {name: before[name] for name in kept}
    return refusal.value.what


async def test_a_killed_process_leaves_a_whole_database(killed: Path) -> None:
    async with aclosing(await open_store(str(killed))) as store:
        assert len(await store.read("run-1")) == 51
        assert await store.damage() == []


async def test_a_truncated_database_is_refused_and_its_log_is_left(killed: Path) -> None:
    whole = killed.read_bytes()
    killed.write_bytes(b"")
    await lost(killed)
    killed.unlink()
    await lost(killed)
    killed.write_bytes(whole)  # restored: its log is still there
    async with aclosing(await open_store(str(killed))) as store:
        assert len(await store.read("run-1")) == 51


async def test_a_database_that_lost_its_log_is_refused(killed: Path) -> None:
    for suffix in ("-wal", "-shm"):
        killed.with_name(killed.name + suffix).unlink()
    await lost(killed)
    killed.with_name(killed.name + ".mark").unlink()
    async with aclosing(await open_store(str(killed))) as store:  # as the message says
        await store.create("run-2", started())
    async with aclosing(await open_store(str(killed))) as store:
        assert [run.run_id for run in await store.runs()] == ["run-2"]


async def test_a_database_that_is_cut_off_is_refused(killed: Path) -> None:
    await (await open_store(str(killed))).aclose()
    size = killed.stat().st_size
    with killed.open("r+b") as file:
        file.truncate(size - 4_096)
    await lost(killed)


async def test_an_older_copy_is_refused_until_its_mark_is_deleted(sqlite_url: str, tmp_path: Path) -> None:
    path = tmp_path / "leadhand.db"
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
    copy = shutil.copy(path, tmp_path / "copy.db")
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.append("run-1", pauses("a"))
    shutil.copy(copy, path)
    await lost(path)
    path.with_name("leadhand.db.mark").unlink()
    async with aclosing(await open_store(sqlite_url)) as store:
        assert len(await store.read("run-1")) == 1


@pytest.mark.parametrize("mark", ["", "x", "\0" * 11])
async def test_a_mark_that_says_nothing_is_written_anew(sqlite_url: str, tmp_path: Path, mark: str) -> None:
    path = tmp_path / "leadhand.db.mark"
    await (await open_store(sqlite_url)).aclose()
    path.write_text(mark)
    async with aclosing(await open_store(sqlite_url)) as store:
        await store.create("run-1", started())
        assert int(path.read_text()) > 0


async def test_processes_that_write_and_delete_at_once_raise_no_alarm(sqlite_url: str) -> None:
    async with aclosing(await open_store(sqlite_url)) as store, aclosing(await open_store(sqlite_url)) as other:
        for number in range(20):
            await store.create(f"run-{number}", started())
            await other.append(f"run-{number}", pauses("a"))
            await store.release(f"run-{number}", 1)
            await other.delete_runs([f"run-{number}"])
            await (await open_store(sqlite_url)).aclose()
