"""A disk that is full or has spoiled pages: it is said, and nothing committed is lost."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import resource
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from refusals import refused
from stores.contract import pauses, reasons, started

from leadhand import Leadhand, Limits, RunStatus, StoreError, Tool, ToolContext, ToolReturn, tool
from leadhand.app.export import document
from leadhand.core.errors import UnreadableRun
from leadhand.core.evolve import replay
from leadhand.core.run import StepStatus
from leadhand.stores.opening import open_store
from leadhand.stores.sqlite import database as sqlite
from leadhand.testing.scripted_model import ScriptedModel, brief_of, plans, results_of, reviews, says, subtask

COUNT = 40
TOLD = f"All {COUNT} pieces are there."
FILLS = 20
"""The piece that fills the disk up to its brim."""
EACH = 30_000
"""Bytes that each piece returns."""
ROOM = 600_000
"""Less than the pieces need, but more than half of it."""
ENOUGH = 20_000_000


@dataclass
class Disk:
    """A directory with a database and a home, on a disk that ``fill`` fills and ``more`` makes larger."""

    folder: Path
    fill: Callable[[], object]
    more: Callable[[], object]
    words: str
    """What a person is told once there is no room."""
    lasting: bool = True
    """Whether the connections that found it full are of any use once there is room."""
    calls: list[str] = field(default_factory=list[str])

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'leadhand.db'}"

    def lead(self) -> Leadhand:
        models = ScriptedModel(
            plan=lambda _: plans(*(subtask(f"piece_{n}", "piece", n=n) for n in range(COUNT))),
            review=lambda request: reviews(accept=results_of(brief_of(request))),
            compose=lambda _: says(TOLD),
            lenient=True,
        )
        home = self.folder / "home"
        return Leadhand(models=models, tools=[self._piece], home=home, store=self.url, limits=Limits(max_workers=3))

    @property
    def _piece(self) -> Tool[..., Any]:
        @tool
        async def piece(n: int, context: ToolContext) -> ToolReturn:
            """Do piece n, which is large."""
            if n == FILLS and not any(f".{n}/" in call for call in self.calls):
                self.fill()
            self.calls.append(context.call_id.partition("/")[2])
            return ToolReturn(raw={"n": n, "large": Random(n).randbytes(EACH // 2).hex()}, summary=f"piece {n}")

        return piece


@contextmanager
def limited_files(folder: Path) -> Generator[Disk]:
    """No file of this process may be longer than a page: a disk that fails, for want of a better."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    try:
        yield Disk(folder, lambda: limit(4_096), lambda: limit(soft), "the disk of {name} failed: ")
    finally:
        limit(soft)


@contextmanager
def small_disk(folder: Path) -> Generator[Disk]:
    """A real one, in memory; only root may mount it."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ENOUGH}", "leadhand-test", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        filler = folder / "filler"

        def fill() -> None:
            with filler.open("wb", buffering=0) as file, suppress(OSError):
                while file.write(bytes(4_096)):
                    pass

        yield Disk(folder, fill, filler.unlink, "the disk of {name} is full")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def few_pages(folder: Path) -> Generator[Disk]:
    """SQLite itself finds no room for another page."""
    session = sqlite.session
    pages = [ROOM // 4_096]

    def limited(path: Path | str) -> sqlite3.Connection:
        connection = session(path)
        connection.execute(f"PRAGMA max_page_count = {pages[-1]}")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "session", limited)
        yield Disk(folder, int, lambda: pages.append(ENOUGH), "the disk of {name} is full", lasting=False)


DISKS = [limited_files, small_disk, few_pages]


@pytest.fixture(params=DISKS, ids=[disk.__name__ for disk in DISKS])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with request.param(folder) as made:
        yield made


@pytest.mark.slow
async def test_it_is_said_and_afterwards_the_run_goes_on(disk: Disk) -> None:
    lead = disk.lead()
    run = await lead.start("do the pieces")
    with pytest.raises(StoreError) as full:
        await run.answer()
    assert disk.words.format(name=disk.folder / "leadhand.db") in full.value.what
    assert full.value.how

    disk.more()
    async with aclosing(await open_store(disk.url)) as store:
        log = await store.read(run.run_id)
    state = replay(run.run_id, log)
    completed = {
        key for key, subtask in state.steps.items() if subtask.counts and subtask.status is StepStatus.COMPLETED
    }
    assert 0 < len(completed) < COUNT, "it was to be full in the middle"
    before = len(disk.calls)
    if not disk.lasting:
        await lead.aclose()
        lead = disk.lead()
    answer = await (await lead.resume(run.run_id)).answer()
    store = (await lead.runtime()).store
    assert (await store.read(run.run_id))[: len(log)] == log
    await lead.aclose()

    assert (answer.status, answer.text) == (RunStatus.SUCCEEDED, TOLD)
    again = [call for call in disk.calls[before:] if call.partition("/")[0] in completed]
    assert not again, "a completed subtask was carried out again"
    assert set(Counter(disk.calls)) == {f"wo-001.{n}/t0/c0" for n in range(COUNT)}


@pytest.mark.slow
@pytest.mark.parametrize("disk", [limited_files, small_disk], indirect=True, ids=lambda disk: disk.__name__)
async def test_a_run_that_could_not_be_let_go_of_is_free_once_there_is_room(disk: Disk) -> None:
    """The process lives on, and writes nothing more: others must not have to wait for its end."""
    lead = disk.lead()
    run = await lead.start("do the pieces")
    with pytest.raises(StoreError):
        await run.answer()
    disk.more()
    async with disk.lead() as other:
        store = (await other.runtime()).store
        while not (await store.run(run.run_id)).orphan:  # noqa: ASYNC110 (a thread of the first one makes it so)
            await asyncio.sleep(0.01)
        answer = await (await other.resume(run.run_id)).answer()
    await lead.aclose()
    assert answer.status is RunStatus.SUCCEEDED


async def test_the_work_order_for_people_may_be_impossible_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(document.os, "replace", full)
    disk = Disk(tmp_path, int, int, "")
    async with disk.lead() as lead:
        answer = await lead.run("do the pieces")
    assert answer.status is RunStatus.SUCCEEDED
    assert list((tmp_path / "home" / "runs").glob("*/*")) == []
    (warning,) = [record.getMessage() for record in caplog.records if "work_order.json" in record.getMessage()]
    assert os.strerror(errno.ENOSPC) in warning


@pytest.mark.slow
async def test_nothing_is_said_of_it_behind_the_back_of_who_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Appends that nobody awaits fail with the others; one error is enough, and asyncio's own words help nobody."""
    with few_pages(tmp_path) as disk:
        async with disk.lead() as lead:
            run = await lead.start("do the pieces")
            with pytest.raises(StoreError):
                await run.answer()
            del run
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


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
