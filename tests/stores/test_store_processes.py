"""Several processes on one database: who is alive, who may decide, and what a killed one leaves behind."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from store_processes import is_orphan, process, until
from stores.contract import pauses, reasons, started

from leadhand.core.errors import Fenced, RunOwned
from leadhand.core.events import RunRequested
from leadhand.stores.opening import open_store

RunSql = Callable[..., list[tuple[Any, ...]]]

OWNER = """
async def main():
    store = await open_store(url)
    await store.create("run-1", started())
    say(store.host)
    await asyncio.to_thread(input)

asyncio.run(main())
"""


async def test_a_run_is_claimed_at_the_moment_its_owner_dies(url: str) -> None:
    async with process(url, OWNER) as owner:
        (host,) = await owner.heard()
        async with aclosing(await open_store(url)) as store:
            listing = await store.run("run-1")
            assert (listing.owner, listing.orphan) == (host, False)
            with pytest.raises(RunOwned, match=host):
                await store.claim("run-1")
            await store.append("run-1", [RunRequested(what="cancel")])  # a request may come from anywhere

            await owner.kill()

            await until(partial(is_orphan, store))  # PostgreSQL notices a closed socket in a moment, not at once
            assert await store.claim("run-1") == 2
            with pytest.raises(Fenced):
                await store.append("run-1", pauses("a decision of the dead, under its old epoch"), epoch=1)
            await store.append("run-1", pauses("mine"), epoch=2)
            assert [entry.epoch for entry in await store.read("run-1")] == [1, 1, 2, 2]


async def test_a_suspended_owner_is_alive_and_when_it_wakes_too_late_it_is_fenced(url: str) -> None:
    """Liveness is the lock, safety the epoch: the second holds where the first was mistaken."""
    program = """
    async def main():
        store = await open_store(url)
        await store.create("run-1", started())
        say(store.host)
        await asyncio.to_thread(input)
        try:
            await store.append("run-1", pauses("late"), epoch=1)
        except Exception as error:
            say(type(error).__name__)
        await store.aclose()

    asyncio.run(main())
    """
    async with process(url, program) as owner, aclosing(await open_store(url)) as store:
        await owner.heard()
        await store.release("run-1", 1)  # does nothing: it is not ours
        with pytest.raises(RunOwned):
            await store.claim("run-1")
        # As if its lock had been lost: nobody can take the row's word for it any more.
        async with aclosing(await open_store(url)) as other:
            other._hold.living = lambda hosts, connection: set()  # type: ignore[method-assign]
            assert await other.claim("run-1") == 2
            await owner.tell()
            assert await owner.heard() == ["Fenced"]
            assert reasons(await store.read("run-1")) == []


async def test_a_forked_child_neither_keeps_its_parent_alive_nor_uses_its_store(url: str) -> None:
    program = """
    import time, warnings
    warnings.simplefilter("ignore")  # later Pythons warn of forking beside threads

    async def parent():
        store = await open_store(url, heartbeat_limit_s=1.0)
        await store.create("run-1", started())
        await store.read("run-1")
        await anext(store.follow("run-1"))
        return store

    async def child(store):
        async def append():
            await store.append("run-1", pauses("a"))
        for call in (append(), store.read("run-1"), anext(store.follow("run-1"))):
            try:
                await call
            except Exception as error:
                say(type(error).__name__, str(error).replace(chr(10), " "))
        await store.aclose()

    loop = asyncio.new_event_loop()
    store = loop.run_until_complete(parent())
    if child_id := os.fork():
        say(child_id)
        input()
    else:
        asyncio.run(child(store))
        say("closed")
        os.closerange(0, 3)  # or our test would wait for us
        time.sleep(60)  # its parent's death must be noticed while it lives
    """
    async with process(url, program) as owner, aclosing(await open_store(url)) as store:
        heard = [" ".join(await owner.heard()) for _ in range(5)]
        child = next(int(line) for line in heard if line.isdigit())
        refusal = "StoreError this store was opened by the process that forked this one open another with open_store()"
        assert Counter(heard) == Counter([f"{child}", refusal, refusal, refusal, "closed"])
        assert not (await store.run("run-1")).orphan  # its parent is as well as ever
        try:
            await owner.kill()
            await until(partial(is_orphan, store))
        finally:
            os.kill(child, 9)


async def test_a_program_that_was_started_does_not_keep_its_starter_alive(url: str) -> None:
    program = """
    import subprocess

    async def main():
        store = await open_store(url)
        await store.create("run-1", started())
        sleeper = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, close_fds=False)
        say(sleeper.pid)
        await asyncio.to_thread(input)

    asyncio.run(main())
    """
    async with process(url, program) as owner, aclosing(await open_store(url)) as store:
        (sleeper,) = await owner.heard()
        await owner.kill()
        try:
            await until(partial(is_orphan, store))
        finally:
            os.kill(int(sleeper), 9)


async def test_stale_lock_files_are_swept_away(sqlite_url: str, tmp_path: Path) -> None:
    async with process(sqlite_url, OWNER) as owner:
        (host,) = await owner.heard()
        locks = tmp_path / "leadhand.db.hosts"
        assert (locks / f"{host}.lock").exists()
        await owner.kill()
    async with aclosing(await open_store(sqlite_url)) as store:
        assert [path.name for path in locks.iterdir()] == [f"{store.host}.lock"]
    assert list(locks.iterdir()) == []


async def test_two_who_look_at_a_stale_lock_do_not_take_each_other_for_its_owner(
    sqlite_url: str, tmp_path: Path
) -> None:
    async with aclosing(await open_store(sqlite_url)) as store:
        stale = tmp_path / "leadhand.db.hosts" / "dead.lock"
        stale.touch()
        with stale.open() as other:
            fcntl.flock(other, fcntl.LOCK_SH)  # as another process holds it while it looks
            assert store._hold.living({"dead"}, None) == set()  # type: ignore[arg-type]
        assert not stale.exists()


async def test_nothing_acknowledged_is_lost_when_a_process_is_killed(url: str) -> None:
    program = """
    async def main():
        store = await open_store(url)
        await store.create("run-1", started())
        async def write(worker):
            number = 0
            while True:
                (entry,) = await store.append("run-1", pauses(f"{worker}-{number}"))
                say(entry.seq, f"{worker}-{number}")
                number += 1
        await asyncio.gather(*map(write, range(8)))

    asyncio.run(main())
    """
    async with process(url, program) as writer:
        said = [await writer.heard() for _ in range(200)]
        await writer.kill()
        said += [words for line in await writer.rest() if len(words := line.split()) == 2]
    async with aclosing(await open_store(url)) as store:
        entries = await store.read("run-1")
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        # The last line may have been cut off in the middle; what came through whole was acknowledged.
        acknowledged = {int(seq): reason for seq, reason in said[:-1]}
        logged = {entry.seq: reason for entry in entries for reason in reasons([entry])}
        assert acknowledged.items() <= logged.items()
        assert (await store.run("run-1")).head_seq == len(entries)


@pytest.mark.slow
async def test_many_processes_may_write_at_once(url: str) -> None:
    """No "database is locked", no gap, no repeat."""
    program = """
    async def main():
        store = await open_store(url)
        say("ready")
        await asyncio.to_thread(input)
        async def write(worker):
            for number in range(50):
                await store.append("run-1", pauses(f"{os.getpid()}-{worker}-{number}"))
        await asyncio.gather(*map(write, range(8)))
        await store.aclose()
        say("done")

    asyncio.run(main())
    """
    async with aclosing(await open_store(url)) as store, AsyncExitStack() as stack:
        await store.create("run-1", started())
        writers = [await stack.enter_async_context(process(url, program)) for _ in range(3)]
        for writer in writers:
            assert await writer.heard() == ["ready"]
        for writer in writers:
            await writer.tell()
        for writer in writers:
            assert await writer.rest() == ["done"]
        entries = await store.read("run-1")
        assert [entry.seq for entry in entries] == list(range(1, 1 + 1 + 3 * 8 * 50))
        assert len(set(reasons(entries))) == 3 * 8 * 50
        # Each worker's own appends are in its order.
        for worker in {reason.rpartition("-")[0] for reason in reasons(entries)}:
            own = [int(reason.rpartition("-")[2]) for reason in reasons(entries) if reason.startswith(f"{worker}-")]
            assert own == list(range(50))


async def test_many_processes_may_open_a_new_database_at_once(new_url: str) -> None:
    program = """
    async def main():
        await asyncio.to_thread(input)
        store = await open_store(url)
        await store.create(store.host, started())
        await store.aclose()
        say("done")

    say("ready")
    asyncio.run(main())
    """
    async with AsyncExitStack() as stack:
        openers = [await stack.enter_async_context(process(new_url, program)) for _ in range(4)]
        for opener in openers:
            assert await opener.heard() == ["ready"]
        for opener in openers:
            await opener.tell()
        for opener in openers:
            assert await opener.rest() == ["done"]
    async with aclosing(await open_store(new_url)) as store:
        assert len(await store.runs()) == 4


def test_two_threads_may_each_have_a_store(url: str) -> None:
    async def create() -> None:
        async with aclosing(await open_store(url)) as store:
            await store.create("run-1", started())

    asyncio.run(create())
    errors: list[BaseException] = []

    async def write(name: str) -> None:
        async with aclosing(await open_store(url)) as store:
            await asyncio.gather(*(store.append("run-1", pauses(f"{name}-{number}")) for number in range(100)))

    def work(name: str) -> None:
        try:
            asyncio.run(write(name))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []

    async def read() -> None:
        async with aclosing(await open_store(url)) as store:
            entries = await store.read("run-1")
            assert [entry.seq for entry in entries] == list(range(1, 202))

    asyncio.run(read())


SPENDER = """
from leadhand.core.limits import Usage
from leadhand.core.errors import BudgetRefused

async def spend(store, name, number):
    within = {"a": tokens_at_most(100)} if number % 3 else {"a/1": tokens_at_most(40), "a": tokens_at_most(100)}
    call = f"{name}-{number}"
    try:
        await store.append("run-1", [began(call, tokens(9), within=within)])
    except BudgetRefused as refused:
        return refused.scope
    if number % 2:
        await store.append("run-1", [returned(call, Usage(input_tokens=5))])
    return "begun"

async def main():
    store = await open_store(url)
    say("ready")
    name = await asyncio.to_thread(input)
    say(*await asyncio.gather(*(spend(store, name, number) for number in range(60))))
    await store.aclose()

asyncio.run(main())
"""


async def test_two_processes_together_stay_below_the_ceiling_of_every_scope(url: str, run_sql: RunSql) -> None:
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(aclosing(await open_store(url)))
        await store.create("run-1", started())
        spenders = [await stack.enter_async_context(process(url, SPENDER)) for _ in range(2)]
        for spender in spenders:
            assert await spender.heard() == ["ready"]
        for number, spender in enumerate(spenders):
            await spender.tell(f"p{number}")
        outcomes: Counter[str] = Counter()
        for spender in spenders:
            outcomes.update(await spender.heard())
        columns = "scope, ceiling_tokens, spent_tokens, reserved_tokens"
        rows = run_sql(url, f"SELECT {columns} FROM allowances ORDER BY scope")
        ((reserved,),) = run_sql(url, "SELECT sum(tokens) FROM reservations")
    assert set(outcomes) == {"begun", "a", "a/1"}
    assert [row[:2] for row in rows] == [("a", 100), ("a/1", 40)]
    assert all(spent + still_reserved <= ceiling for _, ceiling, spent, still_reserved in rows)
    spent, still_reserved = rows[0][2:]
    assert still_reserved == reserved, "every call is within this scope"
    assert outcomes["begun"] == spent // 5 + still_reserved // 9 >= 100 // 9
