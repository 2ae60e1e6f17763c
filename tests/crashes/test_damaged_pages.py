"""Pages of a database file that the disk has spoiled: named, and no more is lost than stood on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from refusals import refused
from stores.contract import pauses, reasons, started

from leadhand import StoreError
from leadhand.core.errors import UnreadableRun
from leadhand.stores.opening import open_store

PAGE = 4_096
RUNS = ("run-1", "run-2", "run-3")
EVENTS = 60


@pytest.fixture
async def database(tmp_path: Path) -> Path:
    """Three runs, one written after the other, each on pages of its own but for those where they meet."""
    path = tmp_path / "leadhand.db"
    async with aclosing(await open_store(str(path))) as store:
        for run_id in RUNS:
            await store.create(run_id, started())
            for number in range(EVENTS):
                await store.append(run_id, pauses(f"{run_id} {number} {'x' * 500}"))
    assert not path.with_name("leadhand.db-wal").exists(), "all of it was to be in the one file"
    return path


def pages_of(path: Path, run_id: str) -> Iterator[int]:
    """The pages that hold events of this run and of no other."""
    content = path.read_bytes()
    for number in range(len(content) // PAGE):
        page = content[number * PAGE : (number + 1) * PAGE]
        there = {each for each in RUNS if f'"{each} '.encode() in page}
        if there == {run_id}:
            yield number


def spoil(path: Path, page: int, start: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(page * PAGE + start)
        file.write(b"\xa5" * size)


async def test_a_spoiled_page_costs_the_run_that_stood_on_it(database: Path) -> None:
    pages = list(pages_of(database, "run-2"))
    spoil(database, pages[len(pages) // 2], 0, PAGE)
    async with aclosing(await open_store(str(database))) as store:
        with refused(UnreadableRun, database, run_id="run-2") as damaged:
            await store.read("run-2")
        before = damaged.value.seq - 1
        assert 0 < before < EVENTS
        assert len(await store.read("run-2", limit=before)) == before, "what precedes the page can be read"
        assert [run.run_id for run in await store.runs()] == list(reversed(RUNS)), "they can still be listed"
        for run_id in ("run-1", "run-3"):
            assert len(reasons(await store.read(run_id))) == EVENTS
            await store.append(run_id, pauses("and one more"))
            assert reasons(await store.read(run_id))[-1] == "and one more"


async def test_spoiled_bytes_inside_an_event_are_named_with_their_event(database: Path) -> None:
    page = next(iter(pages_of(database, "run-2")))
    content = database.read_bytes()[page * PAGE : (page + 1) * PAGE]
    spoil(database, page, content.index(b'{"status"'), 8)
    async with aclosing(await open_store(str(database))) as store:
        with refused(UnreadableRun, run_id="run-2"):
            await store.read("run-2")
        assert len(reasons(await store.read("run-1"))) == EVENTS


async def test_a_spoiled_first_page_is_named_when_it_is_opened(database: Path) -> None:
    spoil(database, 0, 0, PAGE)
    before = database.read_bytes()
    with pytest.raises(StoreError) as damaged:
        await open_store(str(database))
    assert str(database) in damaged.value.what
    assert database.read_bytes() == before, "and it was left as it was"


async def test_a_file_that_has_lost_its_end_is_named(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[: len(content) // PAGE // 2 * PAGE])

    async def read_all() -> None:
        async with aclosing(await open_store(str(database))) as store:
            for run_id in RUNS:
                await store.read(run_id)

    with pytest.raises(StoreError) as damaged:
        await read_all()
    assert str(database) in str(damaged.value)
