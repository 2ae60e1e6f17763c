"""The journal: a reader that stops anywhere and resumes gets every event of all runs once, whoever writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, closing

import pytest
from stores.contract import started

from leadhand.core.events import RunStatusSet
from leadhand.core.run import RunStatus
from leadhand.stores.changes import CHANGES, Place
from leadhand.stores.opening import database_at, open_store
from leadhand.stores.sql_store import SqlContextStore

PAUSED = RunStatusSet(status=RunStatus.PAUSED)


@pytest.fixture
def url(new_url: str) -> str:
    """A reader of all runs reads a database of its own."""
    return new_url


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlContextStore]:
    async with aclosing(await open_store(url)) as store:
        yield store


async def read(
    store: SqlContextStore, place: Place, *, limit: int = 100, key_id: str | None = None, type_: str = ""
) -> tuple[list[tuple[str, int]], Place]:
    """The runs and numbers of the next events, and the place after them."""
    found, place = await store.changes(place, limit=limit, key_id=key_id, wanted=lambda type, _: type_ in ("", type))
    return [(each.run_id, each.place.seq) for each in found], place


async def test_each_event_comes_once_with_any_page_and_from_any_process(url: str, store: SqlContextStore) -> None:
    async with aclosing(await open_store(url)) as other:
        for run_id, by in (("run-1", store), ("run-2", other)):
            await by.create(run_id, started())
        await asyncio.gather(
            *(by.append(f"run-{1 + n % 2}", [PAUSED] * (1 + n % 3)) for n, by in enumerate([store, other] * 8))
        )
        for limit in (1, 2, 3, 1_000):
            seen: list[tuple[str, int]] = []
            place = Place()
            while True:
                before, (found, place) = place, await read(other, place, limit=limit)
                seen += found
                if place == before:
                    break
            assert len(found) <= limit
            for run_id in ("run-1", "run-2"):
                head = (await store.run(run_id)).head_seq
                assert [seq for each, seq in seen if each == run_id] == list(range(1, head + 1))
            assert place == await store.newest_place()


async def test_a_reader_asks_for_the_runs_of_a_key_and_for_types(store: SqlContextStore) -> None:
    for run_id, key_id in (("run-1", "ann"), ("run-2", "ben")):
        await store.create(run_id, started(key_id=key_id))
        await store.append(run_id, [PAUSED])
    assert (await read(store, Place(), key_id="ann"))[0] == [("run-1", 1), ("run-1", 2)]
    found, place = await read(store, Place(), type_="run_status_set")
    assert found == [("run-1", 2), ("run-2", 2)]
    assert place == await store.newest_place(), "what is not wanted is not looked at again"


async def test_places_stay_after_runs_were_deleted(store: SqlContextStore) -> None:
    for run_id in ("run-1", "run-2"):
        await store.create(run_id, started())
        await store.release(run_id, 1)
    place = await store.newest_place()
    await store.delete_runs(["run-2"])
    await store.create("run-3", started())
    assert (await read(store, place))[0] == [("run-3", 1)]
    assert (await read(store, Place()))[0] == [("run-1", 1), ("run-3", 1)]


@pytest.mark.parametrize("commits", [True, False])
async def test_an_open_transaction_hides_what_was_committed_after_it_began(
    postgres_tables_url: str, commits: bool
) -> None:
    async with aclosing(await open_store(postgres_tables_url)) as store:
        await store.create("run-0", started())
        await store.create("run-1", started())
        place = await store.newest_place()
        with closing(database_at(postgres_tables_url).connect()) as slow:
            slow.begin()
            slow.execute("UPDATE runs SET head_seq = 2 WHERE run_id = 'run-0'")
            slow.execute(
                "INSERT INTO events SELECT run_id, 2, at, epoch, type, version, subject, body FROM events"
                " WHERE run_id = 'run-0' AND seq = 1"
            )
            CHANGES.insert(slow, [("run-0", 2, 2)])
            await store.append("run-1", [PAUSED])
            assert await read(store, place) == ([], place)
            assert await read(store, place) == ([], place)
            slow.execute("COMMIT" if commits else "ROLLBACK")
        found, _ = await read(store, place)
        assert found == [("run-0", 2)] * commits + [("run-1", 2)]
