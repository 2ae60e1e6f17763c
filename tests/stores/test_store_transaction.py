"""One transaction of the log, on a database in memory: fences of attempts, and a commit whose answer was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, aclosing, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from refusals import refused
from store_memory import OnlyHost, memory, transact
from store_processes import process, until
from stores.contract import began, pauses, started, tokens, tokens_at_most
from stores.contract.samples import ATTEMPT, lost

from leadhand.core.errors import BudgetRefused, StaleAttempt
from leadhand.core.events import AnyEvent, AttemptStarted, RunFinished, RunStatusSet
from leadhand.core.run import RunStatus
from leadhand.ports import ContextStore
from leadhand.stores.codec import encode, read_entries
from leadhand.stores.opening import database_at, open_store
from leadhand.stores.sqlite.database import DIALECT, SqliteConnection
from leadhand.stores.transaction import Append, Create, LogTransaction, Release

NOW = datetime(2031, 2, 3, tzinfo=UTC)
BEGINS = "step-1/a1"


@pytest.fixture
def connection() -> Iterator[SqliteConnection]:
    with closing(memory()) as connection:
        transact(connection, Create("run-1", encode(started())))
        yield connection


def append(*events: AnyEvent, begins: str | None = None, current: str | None = None) -> Append:
    return Append("run-1", [encode(event) for event in events], begins=begins, current=current)


def begin(attempt: str = BEGINS) -> Append:
    return append(AttemptStarted(attempt=attempt, host="host"), begins=attempt)


def written(connection: SqliteConnection, now: datetime, *operations: Append | Release) -> LogTransaction:
    """A transaction that is written but neither committed nor undone."""
    connection.begin()
    transaction = LogTransaction(connection, DIALECT, OnlyHost(), now, operations)  # type: ignore[arg-type]
    for operation in operations:
        transaction.apply(operation)
    transaction.write()
    return transaction


def numbers(connection: SqliteConnection) -> list[int]:
    return [entry.seq for entry in read_entries(connection, "run-1")]


# --- an attempt begins once, and only in a run that is running ---


def test_an_attempt_begins_once_in_one_transaction_and_in_two(connection: SqliteConnection) -> None:
    outcomes = [*transact(connection, begin(), begin(), begin("step-2/a1")), *transact(connection, begin())]
    assert [isinstance(outcome, StaleAttempt) for outcome in outcomes] == [False, True, False, True]
    assert numbers(connection) == [1, 2, 3]


@pytest.mark.parametrize("together", [True, False], ids=["in one transaction", "in two"])
def test_an_attempt_that_is_over_does_not_begin(connection: SqliteConnection, together: bool) -> None:
    if together:
        outcomes = transact(connection, append(lost()), begin(ATTEMPT))
    else:
        outcomes = [*transact(connection, append(lost())), *transact(connection, begin(ATTEMPT))]
    assert isinstance(outcomes[0], list)
    assert isinstance(outcomes[1], StaleAttempt)


@pytest.mark.parametrize(
    "event",
    [
        RunStatusSet(status=RunStatus.PAUSED),
        RunStatusSet(status=RunStatus.WAITING),
        RunFinished(status=RunStatus.SUCCEEDED, answer=""),
    ],
    ids=["paused", "waiting", "finished"],
)
@pytest.mark.parametrize("together", [True, False], ids=["in one transaction", "in two"])
def test_no_attempt_begins_in_a_run_that_is_not_running(
    connection: SqliteConnection, event: AnyEvent, together: bool
) -> None:
    if together:
        outcome = transact(connection, append(event), begin())[1]
    else:
        transact(connection, append(event))
        (outcome,) = transact(connection, begin())
    assert isinstance(outcome, StaleAttempt)
    assert numbers(connection) == [1, 2]


def test_attempts_begin_again_once_the_run_runs_again(connection: SqliteConnection) -> None:
    transact(connection, append(RunStatusSet(status=RunStatus.PAUSED)))
    transact(connection, append(RunStatusSet(status=RunStatus.RUNNING)))
    assert isinstance(transact(connection, begin())[0], list)


# --- a commit whose answer was lost ---


def test_a_transaction_that_was_committed_is_known_by_its_first_event(connection: SqliteConnection) -> None:
    transaction = written(connection, NOW, append(*pauses("a", "b")))
    connection.rollback()
    assert not transaction.is_committed(connection)
    transaction = written(connection, NOW, append(*pauses("a", "b")))
    connection.commit()
    assert transaction.is_committed(connection)


@pytest.mark.parametrize(
    ("now", "theirs"),
    [
        (NOW, append(*pauses("theirs"))),
        (NOW + timedelta(microseconds=1), append(*pauses("ours"))),
        (NOW, begin()),
    ],
    ids=["another text", "another time", "another type"],
)
def test_an_event_of_another_process_with_the_same_number_is_not_taken_for_ours(
    connection: SqliteConnection, now: datetime, theirs: Append
) -> None:
    ours = written(connection, NOW, append(*pauses("ours")))
    connection.rollback()
    written(connection, now, theirs)
    connection.commit()
    assert numbers(connection) == [1, 2]
    assert not ours.is_committed(connection)


def test_a_transaction_without_events_is_made_again(connection: SqliteConnection) -> None:
    transaction = written(connection, NOW, Release("run-1", 1))
    connection.commit()
    assert not transaction.is_committed(connection)


# --- a budget that runs share ---


def test_only_reservations_of_the_same_budget_in_runs_that_are_driven_are_waited_for(
    connection: SqliteConnection,
) -> None:
    def refused() -> BudgetRefused:
        (outcome,) = transact(connection, append(began("c9", tokens(41), shared=most)))
        assert isinstance(outcome, BudgetRefused)
        return outcome

    most, others = {"all runs": tokens_at_most(100)}, {"other runs": tokens_at_most(100)}
    transact(connection, Create("run-2", encode(started())))
    transact(connection, Append("run-2", [encode(began("c1", tokens(60), shared=most))]))
    assert refused().may_fit
    transact(connection, Release("run-2", 1), append(began("c2", tokens(60), shared=others)))
    assert not refused().may_fit


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
