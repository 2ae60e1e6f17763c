"""Databases of earlier releases: brought to today's schema with all that is in them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from store_processes import process

from leadhand.app.keys import find_key, key_store, make_key
from leadhand.domain.access import UNBOUNDED
from leadhand.domain.approval import EFFECT
from leadhand.domain.events import ApprovalExpired, EffectAnswered, RunFinished, RunReopened
from leadhand.domain.limits import Limits, Usage
from leadhand.domain.run import Follows, RunStatus
from leadhand.ports import ContextStore
from leadhand.stores.opening import open_store
from leadhand.stores.schema import VERSION
from leadhand.testing.store_contract import (
    asks,
    began,
    pauses,
    returned,
    says,
    started,
    tokens,
    tokens_at_most,
    tokens_left,
    write_file,
)

RunSql = Callable[..., list[tuple[Any, ...]]]
OPEN, OTHER, THIRD = "wo-001.0/t0/c0", "wo-001.1/t0/c0", "wo-001.2/t0/c0"
SOON = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def url(new_url: str) -> str:
    """The tests of this module change the tables."""
    return new_url


async def fill(store: ContextStore) -> None:
    """Runs that ask, asked, and never asked anything."""
    for number in range(1, 6):
        await store.create(f"run-{number}", started())
    await store.append("run-1", [asks(OPEN), asks(OTHER), asks(THIRD, expires_at=SOON), says(OTHER)])
    await store.append("run-2", [asks(OPEN), says(OPEN, shown={"to": "Eve"}), asks(f"{OTHER}{EFFECT}", kind="effect")])
    await store.append("run-2", [EffectAnswered(approval_id=f"{OTHER}{EFFECT}", happened=True)])
    await store.append("run-3", pauses("a"))
    await store.append("run-4", [asks(OPEN), RunFinished(status=RunStatus.CANCELLED, answer="")])
    await store.append("run-5", [asks(OPEN), ApprovalExpired(approval_id=OPEN)])


DROP_QUEUE = """
DO $$ DECLARE each RECORD; BEGIN
    DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, procrastinate_workers CASCADE;
    FOR each IN SELECT oid::regprocedure AS name FROM pg_proc
        WHERE proname LIKE 'procrastinate%' AND pronamespace = current_schema()::regnamespace
    LOOP EXECUTE 'DROP FUNCTION ' || each.name || ' CASCADE'; END LOOP;
    DROP TYPE procrastinate_job_to_defer_v1, procrastinate_job_event_type, procrastinate_job_status;
END $$
"""
BACK_TO_6_ON_A_SERVER = (DROP_QUEUE, "DROP TABLE hosts", "DROP INDEX events_starting")
BACK_TO_12_IN_A_FILE = ("PRAGMA user_version = 1000", "ALTER TABLE meta DROP COLUMN commits")
"""The number of commits was in the header, which other databases do not have."""
BACK_TO_11 = ("ALTER TABLE runs DROP COLUMN label_words", "UPDATE meta SET version = 11")
BACK_TO_10 = ("DROP TABLE run_texts", *BACK_TO_11, "UPDATE meta SET version = 10")
"""In an SQLite database, its index has to be dropped, too."""
BACK_TO_8 = (
    *BACK_TO_10,
    "ALTER TABLE gates DROP COLUMN last_ticket",
    "DROP TABLE places",
    "ALTER TABLE runs DROP COLUMN name",
    "ALTER TABLE runs DROP COLUMN tags",
    "UPDATE meta SET version = 8",
)
BACK_TO_5 = (
    *BACK_TO_8,
    "DROP TABLE webhooks",
    "DROP TABLE deliveries",
    "DROP INDEX runs_following",
    "ALTER TABLE runs DROP COLUMN follows",
    "DROP INDEX events_of_files",
    "UPDATE meta SET version = 5",
)
BACK_TO_4 = (
    *BACK_TO_5,
    "DROP INDEX runs_of_key",
    "ALTER TABLE runs DROP COLUMN key_id",
    "DROP INDEX api_keys_named",
    "ALTER TABLE api_keys DROP COLUMN ceilings",
    "DROP TABLE shared_accounts",
    "ALTER TABLE reservations DROP COLUMN shared",
    "UPDATE meta SET version = 4",
)
BACK_TO_3 = (*BACK_TO_4, "ALTER TABLE gates DROP COLUMN used_at", "UPDATE meta SET version = 3")
BACK_TO_2 = (
    *BACK_TO_3,
    "ALTER TABLE open_approvals RENAME TO asking",
    "DROP TABLE allowances",
    "ALTER TABLE reservations DROP COLUMN scopes",
    "UPDATE meta SET version = 2",
)
BACK_TO_1 = (*BACK_TO_2, "DROP TABLE asking", "DROP TABLE api_keys", "DROP TABLE agents", "UPDATE meta SET version = 1")


def make_old(url: str, run_sql: RunSql, statements: tuple[str, ...] = BACK_TO_1) -> None:
    """Remove from a database what later schemas added."""
    if url.startswith("sqlite"):
        first = BACK_TO_12_IN_A_FILE if statements == BACK_TO_11 else (*BACK_TO_12_IN_A_FILE, "DROP TABLE run_words")
    else:
        first = () if statements in (BACK_TO_8, BACK_TO_11) else BACK_TO_6_ON_A_SERVER
    for statement in (*first, *statements):
        run_sql(url, statement)


async def test_runs_of_the_tenth_schema_are_found(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started("Weather in Paris", name="Nightly"))
        await store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="rain at the harbour")])
    run_sql(url, "UPDATE runs SET searched = 'weather in paris'")
    make_old(url, run_sql, BACK_TO_10)
    async with aclosing(await open_store(url)) as store:
        assert [run.run_id for run in await store.runs(search="harbour")] == ["run-1"]
        assert [run.run_id for run in await store.runs(text="nightly")] == ["run-1"]


async def test_runs_of_the_eleventh_schema_are_found_without_accents_and_by_whole_tokens(
    url: str, run_sql: RunSql
) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started("Weather in Zürich", name="wo-001"))
        await store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="snow at Örebro")])
        assert await store.runs(search="orebro")
    make_old(url, run_sql, BACK_TO_11)
    async with aclosing(await open_store(url)) as store:
        assert run_sql(url, "SELECT count(*) FROM run_texts") == [(0,)], "words as they were split before"
        for search in ("orebro", "zurich", "wo-001"):
            assert [run.run_id for run in await store.runs(search=search)] == ["run-1"], search


async def test_runs_of_the_eighth_schema_have_no_tags(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
    make_old(url, run_sql, BACK_TO_8)
    async with aclosing(await open_store(url)) as store:
        assert run_sql(url, "SELECT version FROM meta") == [(VERSION,)]
        await store.create("run-2", started(tags={"team": "data"}))
        assert [(run.run_id, run.name, run.tags) for run in await store.runs()] == [
            ("run-2", "", {"team": "data"}),
            ("run-1", "", {}),
        ]
        assert [run.run_id for run in await store.runs(tags={"team": "data"})] == ["run-2"]


async def test_the_files_of_runs_of_the_fifth_schema_are_found(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started(flow="research"))
        await write_file(store, "run-1", "memory/a.md", "a")
    make_old(url, run_sql, BACK_TO_5)
    async with aclosing(await open_store(url)) as store:
        assert run_sql(url, "SELECT version FROM meta") == [(VERSION,)]
        found = await store.earlier_files("research", "", 9, offline=False, documents="")
        assert [file.path for file in found] == ["memory/a.md"]
        assert await store.runs(follows="run-1") == []
        await store.create("run-2", started(follows=Follows(run_id="run-1", request="a")))
        assert [run.run_id for run in await store.runs(follows="run-1")] == ["run-2"]


async def test_a_gate_of_the_third_schema_is_forgotten_since_a_wrong_clock_may_have_set_it(
    url: str, run_sql: RunSql
) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.hold_gate("model m", 3_000)
    make_old(url, run_sql, BACK_TO_3)
    async with aclosing(await open_store(url)) as store:
        assert await store.pass_gate("model m", 0.0) == 0.0


async def test_a_database_of_the_second_schema_is_brought_forward_with_its_reservations(
    url: str, run_sql: RunSql
) -> None:
    async with aclosing(await open_store(url)) as store:
        await fill(store)
        await store.create("run-6", started(limits=Limits(budget_nanousd=None, max_tokens=100)))
        await store.append("run-6", [began("c1", tokens(60))])
        rows = run_sql(url, "SELECT * FROM open_approvals ORDER BY run_id, approval_id")
    make_old(url, run_sql, BACK_TO_2)
    async with aclosing(await open_store(url)) as store:
        assert run_sql(url, "SELECT version FROM meta") == [(VERSION,)]
        assert run_sql(url, "SELECT * FROM open_approvals ORDER BY run_id, approval_id") == rows
        assert await tokens_left(store, "run-6") == 40
        await store.append("run-6", [returned("c1", Usage(input_tokens=10))])
        assert await tokens_left(store, "run-6") == 90
        await store.append("run-6", [began("c2", tokens(30), within={"a": tokens_at_most(40)})])
        assert await tokens_left(store, "run-6", within={"a": tokens_at_most(40)}) == 10


async def test_keys_of_one_name_get_names_of_their_own_and_the_oldest_keeps_it(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        for number in range(3):
            await make_key(key_store(store), f"ci {number}")
        await make_key(key_store(store), "Ann")
        rows = run_sql(url, "SELECT key_id, name FROM api_keys ORDER BY created_at, key_id")
    make_old(url, run_sql, BACK_TO_4)
    run_sql(url, "UPDATE api_keys SET name = 'ci' WHERE name LIKE 'ci %'")
    async with aclosing(await open_store(url)) as store:
        named = {key.key_id: key.name for key in await key_store(store).keys()}
        oldest, *others = [key_id for key_id, name in rows if name != "Ann"]
        assert named[oldest] == "ci"
        assert [named[key_id] for key_id in others] == [f"ci ({key_id})" for key_id in others]
        assert "Ann" in named.values()
        assert all(key.ceilings == UNBOUNDED for key in await key_store(store).keys())


async def test_a_database_of_the_first_schema_is_brought_forward_with_its_open_questions(
    url: str, run_sql: RunSql
) -> None:
    async with aclosing(await open_store(url)) as store:
        await fill(store)
        rows = run_sql(url, "SELECT * FROM open_approvals ORDER BY run_id, approval_id")
        read = {run.run_id: await store.read(run.run_id) for run in await store.runs()}
    make_old(url, run_sql)
    async with aclosing(await open_store(url)) as store:
        assert run_sql(url, "SELECT version FROM meta") == [(VERSION,)]
        assert run_sql(url, "SELECT * FROM open_approvals ORDER BY run_id, approval_id") == rows
        assert [(run.run_id, run.asking) for run in await store.runs(asking=True)] == [("run-2", 1), ("run-1", 2)]
        assert {run.run_id: await store.read(run.run_id) for run in await store.runs()} == read
        await store.append("run-1", [says(OPEN)])
        assert (await store.run("run-1")).asking == 1, "what was found can be answered"
        await store.append("run-4", [RunReopened(by="Ann")])
        assert (await store.run("run-4")).asking == 1, "and what was open at the end of a run is open again"
        key, secret = await make_key(store, "Ann")
        assert await find_key(store, secret) == key


async def test_a_run_whose_log_is_damaged_does_not_keep_others_from_being_brought_forward(
    url: str, run_sql: RunSql
) -> None:
    async with aclosing(await open_store(url)) as store:
        await fill(store)
    make_old(url, run_sql)
    run_sql(url, "UPDATE events SET body = 'garbage' WHERE run_id = 'run-1' AND seq = 3")
    async with aclosing(await open_store(url)) as store:
        assert [run.run_id for run in await store.runs(asking=True)] == ["run-2"]


async def test_two_processes_may_bring_a_database_forward_at_once(url: str, run_sql: RunSql) -> None:
    program = """
    async def main():
        await asyncio.to_thread(input)
        store = await open_store(url)
        say(*(f"{run.run_id}:{run.asking}" for run in await store.runs(asking=True)))
        await store.aclose()

    say("ready")
    asyncio.run(main())
    """
    async with aclosing(await open_store(url)) as store:
        await fill(store)
    make_old(url, run_sql)
    async with AsyncExitStack() as stack:
        openers = [await stack.enter_async_context(process(url, program)) for _ in range(2)]
        for opener in openers:
            assert await opener.heard() == ["ready"]
        for opener in openers:
            await opener.tell()
        for opener in openers:
            assert await opener.rest() == ["run-2:1 run-1:2"]
    assert run_sql(url, "SELECT version FROM meta") == [(VERSION,)]
    assert run_sql(url, "SELECT count(*) FROM open_approvals") == [(4,)]
