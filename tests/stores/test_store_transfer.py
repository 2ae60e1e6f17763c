"""Everything of a database moves to an empty one: from SQLite to PostgreSQL, back, and after an interruption."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import pytest
from store_processes import is_orphan, process, until
from test_store_upkeep import finished, write_artifact

from leadhand.app.keys import USUAL_SCOPES, make_key
from leadhand.domain.errors import RunOwned, StoreError, UsageError
from leadhand.domain.events import RunFinished
from leadhand.domain.run import RunStatus
from leadhand.stores import transfer
from leadhand.stores.connection import Table
from leadhand.stores.opening import open_store
from leadhand.stores.schema import LATER_TABLES, TABLES, VERSION
from leadhand.stores.sql_store import SqlContextStore
from leadhand.stores.transfer import NOT_MOVED, Moved
from leadhand.testing.store_contract import began, pauses, started, tokens, tokens_at_most

RunSql = Callable[..., list[tuple[Any, ...]]]
TO_POSTGRES, TO_SQLITE = ("sqlite", "postgres"), ("postgres", "sqlite")
CREATES = """
    async def main():
        store = await open_store(url)
        await store.create("run-1", started())
        say("created")
        await asyncio.Event().wait()

    asyncio.run(main())
"""


@pytest.fixture
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    named = {"sqlite": f"sqlite:///{tmp_path / 'one.db'}", "other": f"sqlite:///{tmp_path / 'other.db'}"}
    source, target = (
        named[kind] if kind in named else request.getfixturevalue("postgres_url") for kind in request.param
    )
    return source, target


@pytest.fixture
async def stores(urls: tuple[str, str]) -> AsyncIterator[tuple[SqlContextStore, SqlContextStore]]:
    """A store with all kinds of things in it, and an empty one."""
    async with AsyncExitStack() as stack:
        source, target = [await stack.enter_async_context(aclosing(await open_store(url))) for url in urls]
        await finished(source, "run-done", "payload" * 2_000)
        await source.create("run-waits", started("“Grüße”, 世界 🎈", detached=True))
        await source.append("run-waits", [began("c1", tokens(5), within={"wo-001.0": tokens_at_most(9)}), *pauses("a")])
        await write_artifact(source, "run-waits", b"the file")
        await source.save_snapshot("run-waits", 2, "v1", b"{}")
        await source.release("run-waits", 1)
        await source.cache("an answer", {"t": 20}, 1_000)
        await make_key(source, "Ann", USUAL_SCOPES)
        yield source, target


def rows(url: str, run_sql: RunSql) -> dict[str, list[tuple[Any, ...]]]:
    tables = (TABLES | LATER_TABLES[VERSION]) - NOT_MOVED - {"blobs"}
    found = {name: run_sql(url, f"SELECT * FROM {name}") for name in tables}
    found["cache"] = [row for row in found["cache"] if row[0] not in (transfer.LEAVING, transfer.ARRIVED)]
    return {name: sorted(each, key=repr) for name, each in found.items()}


def count_rows(monkeypatch: pytest.MonkeyPatch, name: str) -> list[list[tuple[Any, ...]]]:
    """Return the list to which the rows go that are inserted into a table from now on."""
    inserted: list[list[tuple[Any, ...]]] = []
    insert = Table.insert

    def noted(table: Table, connection: Any, given: Any, then: str = "") -> None:
        if table.name == name:
            inserted.append(given)
        insert(table, connection, given, then)

    monkeypatch.setattr(Table, "insert", noted)
    return inserted


@pytest.mark.parametrize("urls", [TO_POSTGRES, TO_SQLITE, ("sqlite", "other")], indirect=True)
async def test_everything_moves_and_is_counted(
    stores: tuple[SqlContextStore, SqlContextStore], urls: tuple[str, str], run_sql: RunSql
) -> None:
    source, target = stores
    before = rows(urls[0], run_sql)
    moved = await source.move_to(target)
    events = len(await source.read("run-done")) + len(await source.read("run-waits"))
    assert (moved.runs, moved.unfinished, moved.events, moved.artifacts, moved.keys) == (2, 2, events, 1, 1)
    assert rows(urls[1], run_sql) == before
    assert await target.damage() == []
    assert [await target.read(each) for each in ("run-done", "run-waits")] == [
        await source.read(each) for each in ("run-done", "run-waits")
    ]
    (written,) = [e.event for e in await target.read("run-waits") if e.event.type == "artifact_written"]
    assert await target.artifacts.get(written.digest) == b"the file"
    assert await target.claim("run-waits") == 2


@pytest.mark.parametrize("urls", [TO_POSTGRES, TO_SQLITE], indirect=True)
async def test_servers_resume_a_run_in_the_new_database_only(
    stores: tuple[SqlContextStore, SqlContextStore],
) -> None:
    source, target = stores
    await source.create("run-over", started(detached=True))
    await source.append("run-over", [RunFinished(status=RunStatus.SUCCEEDED, answer="done")])
    await source.release("run-over", 1)
    await source.move_to(target)
    assert [run.run_id for run in await target.runs(detached=True)] == ["run-over", "run-waits"]
    assert [run.run_id for run in await source.runs(detached=True)] == ["run-over"]


@pytest.mark.parametrize(("urls", "moment"), [(TO_POSTGRES, 1), (TO_POSTGRES, 4), (TO_SQLITE, 3)], indirect=["urls"])
async def test_a_migration_that_was_interrupted_is_started_again(
    stores: tuple[SqlContextStore, SqlContextStore],
    urls: tuple[str, str],
    run_sql: RunSql,
    monkeypatch: pytest.MonkeyPatch,
    moment: int,
) -> None:
    monkeypatch.setattr(transfer, "PAGE_ROWS", 2)
    source, target = stores
    before = rows(urls[0], run_sql)
    calls: list[Moved] = []

    def stop(moved: Moved) -> None:
        calls.append(moved)
        if len(calls) == moment:
            raise StoreError("stopped", "")

    with pytest.raises(StoreError, match="stopped"):
        await source.move_to(target, stop)
    assert await target.runs() == []
    ((arrived,),) = run_sql(urls[1], "SELECT count(*) FROM events")
    inserted = count_rows(monkeypatch, "events")
    moved = await source.move_to(target)
    assert rows(urls[1], run_sql) == before
    assert moved.events == len(before["events"]) == arrived + sum(len(each) for each in inserted)


@pytest.mark.parametrize("urls", [TO_POSTGRES], indirect=True)
async def test_a_target_that_is_not_empty_is_refused(stores: tuple[SqlContextStore, SqlContextStore]) -> None:
    source, target = stores
    await make_key(target, "Bob", USUAL_SCOPES)
    with pytest.raises(UsageError, match="is not empty: its table api_keys has 1 row"):
        await source.move_to(target)
    with pytest.raises(UsageError, match="both the source and the target"):
        await source.move_to(source)


@pytest.mark.parametrize("urls", [TO_POSTGRES], indirect=True)
async def test_what_an_interrupted_migration_of_another_database_left_is_refused(
    stores: tuple[SqlContextStore, SqlContextStore], urls: tuple[str, str], run_sql: RunSql
) -> None:
    source, target = stores
    run_sql(urls[1], "INSERT INTO events VALUES ('run-x', 1, 0, 1, 'decision', 'run_paused', 1, '', '{}')")
    with pytest.raises(UsageError, match="a part of another database"):
        await source.move_to(target)


@pytest.mark.parametrize("urls", [TO_POSTGRES, TO_SQLITE], indirect=True)
async def test_a_run_that_a_living_process_drives_is_not_moved(
    stores: tuple[SqlContextStore, SqlContextStore], urls: tuple[str, str]
) -> None:
    source, target = stores
    async with process(urls[0], CREATES) as other:
        await other.heard()
        with pytest.raises(RunOwned, match="run-1 is driven by a living process"):
            await source.move_to(target)
        assert await target.runs() == []
        await other.kill()
    await until(lambda: is_orphan(source))
    assert (await source.move_to(target)).runs == 3


@pytest.mark.parametrize("urls", [TO_POSTGRES, TO_SQLITE], indirect=True)
async def test_memory_holds_a_few_payloads_at_a_time(
    stores: tuple[SqlContextStore, SqlContextStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PORTION_BYTES", 50_000)
    source, target = stores
    await finished(source, "run-big", *(f"{n}" * 40_000 for n in range(6)))
    inserted = count_rows(monkeypatch, "blobs")
    await source.move_to(target)
    assert len(inserted) > 6
    assert max(sum(len(body) for _, body in each) for each in inserted) < 100_000


DELIVERY = "INSERT INTO deliveries VALUES ('d', 'w', 'run-waits', 'run.asks', '{}', 1, 1, 0, 0, NULL, '')"
WAITING = "SELECT delivery_id FROM deliveries WHERE next_at IS NOT NULL"


async def dies_at_the_end(source: SqlContextStore, target: SqlContextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Migrate until everything is in the target, but not until the source knows."""

    def die(_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(transfer, "_leave", die)
        with pytest.raises(SystemExit):
            await source.move_to(target)


@pytest.mark.parametrize("urls", [TO_POSTGRES, TO_SQLITE, ("sqlite", "other")], indirect=True)
async def test_a_process_that_dies_between_the_last_two_commits_leaves_nothing_in_both_databases(
    stores: tuple[SqlContextStore, SqlContextStore],
    urls: tuple[str, str],
    run_sql: RunSql,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, target = stores
    run_sql(urls[0], DELIVERY)

    await dies_at_the_end(source, target, monkeypatch)
    for store, url in ((source, urls[0]), (target, urls[1])):
        assert [run.run_id for run in await store.runs(detached=True)] == ["run-waits"]
        assert run_sql(url, WAITING) == [("d",)]
    inserted = count_rows(monkeypatch, "events")
    moved = await source.move_to(target)
    assert (moved.runs, moved.unfinished, inserted) == (2, 2, [])
    assert [run.run_id for run in await source.runs(detached=True)] == []
    assert [run.run_id for run in await target.runs(detached=True)] == ["run-waits"]
    assert (run_sql(urls[0], WAITING), run_sql(urls[1], WAITING)) == ([], [("d",)])
    with pytest.raises(UsageError, match="is not empty"):
        await source.move_to(target)


@pytest.mark.parametrize("urls", [TO_POSTGRES], indirect=True)
async def test_a_run_that_has_gone_on_in_both_databases_is_named(
    stores: tuple[SqlContextStore, SqlContextStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = stores

    await dies_at_the_end(source, target, monkeypatch)
    await source.claim("run-waits")
    await source.release("run-waits", 2)
    with pytest.raises(UsageError, match=r"run run-waits of .* has gone on since"):
        await source.move_to(target)
    assert [run.run_id for run in await source.runs(detached=True)] == ["run-waits"]
    await source.delete_runs(["run-waits"])
    await source.move_to(target)
    assert [run.run_id for run in await target.runs(detached=True)] == ["run-waits"]


IDLE = """
    async def main():
        store = await open_store(url)
        if url.startswith("postgresql"):
            from leadhand.domain.hosts import Announcement
            await store.announce(Announcement(kind="server", concurrency=1), lambda: [])
        say("open")
        await asyncio.Event().wait()

    asyncio.run(main())
"""


@pytest.mark.parametrize("urls", [TO_POSTGRES, TO_SQLITE], indirect=True)
async def test_an_idle_server_on_the_source_is_refused(
    stores: tuple[SqlContextStore, SqlContextStore], urls: tuple[str, str]
) -> None:
    source, target = stores
    async with process(urls[0], IDLE) as other:
        await other.heard()
        with pytest.raises(RunOwned, match="is in use by another process"):
            await source.move_to(target)
        assert await target.runs() == []
        await other.kill()
    await source.move_to(target)
