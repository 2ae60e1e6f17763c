"""A budget that runs share: two processes cannot both have the rest of it, and no dead or deleted run keeps a part."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing, closing
from functools import partial
from typing import Any

import pytest
from refusals import refused
from store_processes import process, until
from stores.contract import began, started, tokens, tokens_at_most

from leadhand.core.errors import BudgetRefused
from leadhand.ports import ContextStore
from leadhand.stores.opening import database_at, open_store

RunSql = Callable[..., list[tuple[Any, ...]]]
ACCOUNT = "SELECT spent_tokens, reserved_tokens FROM shared_accounts WHERE scope = 'all runs'"
MOST = {"all runs": tokens_at_most(100)}

TAKES_SIXTY = """
from leadhand.core.errors import BudgetRefused

async def main():
    store = await open_store(url)
    await store.create("RUN", started())
    say("ready")
    await asyncio.to_thread(input)
    try:
        await store.append("RUN", [began("c1", tokens(60), shared={"all runs": tokens_at_most(100)})])
        say("fits")
    except BudgetRefused:
        say("refused")
    await asyncio.to_thread(input)

asyncio.run(main())
"""


WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%shared_accounts%'"


async def test_a_reservation_waits_for_the_one_of_another_transaction_and_sees_it(url: str, run_sql: RunSql) -> None:
    async with aclosing(await open_store(url)) as store:
        await store.create("run-1", started())
        await store.append("run-1", [began("c1", tokens(1), shared=MOST)])
        database = database_at(url)
        with closing(database.connect()) as other:
            other.begin()
            other.execute(f"SELECT scope FROM shared_accounts{database.dialect.for_update}")
            appending = asyncio.ensure_future(store.append("run-1", [began("c2", tokens(40), shared=MOST)]))
            if url.startswith("postgres"):
                await until(lambda: asyncio.to_thread(lambda: run_sql(url, WAITING) != [(0,)]))
            other.execute("UPDATE shared_accounts SET reserved_tokens = reserved_tokens + 60")
            other.commit()
        with refused(BudgetRefused, 39, scope="all runs", shared=True):
            await appending
        assert run_sql(url, ACCOUNT) == [(0, 61)]


async def orphaned(store: ContextStore, run_id: str) -> bool:
    return (await store.run(run_id)).orphan


async def test_two_processes_at_once_get_the_rest_of_a_budget_once_and_it_stays_spent_when_the_run_is_deleted(
    url: str, run_sql: RunSql
) -> None:
    async with AsyncExitStack() as stack, aclosing(await open_store(url)) as store:
        runs = ("run-1", "run-2")
        hosts = [await stack.enter_async_context(process(url, TAKES_SIXTY.replace("RUN", run))) for run in runs]
        for host in hosts:
            assert await host.heard() == ["ready"]
        for host in hosts:
            await host.tell()
        heard = [(await host.heard())[0] for host in hosts]
        assert sorted(heard) == ["fits", "refused"]

        async def may_fit(amount: int) -> bool:
            with refused(BudgetRefused, 40, scope="all runs", shared=True) as error:
                await store.append("run-3", [began("c1", tokens(amount), shared=MOST)])
            return error.value.may_fit

        winner = heard.index("fits")
        await store.create("run-3", started())
        assert await may_fit(41), "a living process may give back what it reserved"
        assert not await may_fit(101)
        await hosts[winner].kill()
        await until(partial(orphaned, store, runs[winner]))
        assert not await may_fit(41)
        assert run_sql(url, ACCOUNT) == [(0, 60)]

        await store.delete_runs([runs[winner]])

        assert run_sql(url, ACCOUNT) == [(60, 0)], "nothing stays reserved, and what may be paid stays spent"
        with pytest.raises(BudgetRefused):
            await store.append("run-3", [began("c1", tokens(41), shared=MOST)])
        await store.append("run-3", [began("c1", tokens(40), shared=MOST)])
