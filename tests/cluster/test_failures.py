"""Any process may die or stop at any time: its work continues elsewhere, and what it still says changes nothing."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crashes.restarting import Server

from cluster.machines import Cluster, Machine, finished_by, lost, started_detached, until
from leadhand.core.events import AttemptReturned, AttemptStarted, Entry, RunClaimed
from leadhand.core.run import RunStatus


def count(entries: list[Entry], kind: type[Any]) -> int:
    return sum(isinstance(entry.event, kind) for entry in entries)


async def test_the_work_of_a_killed_host_goes_elsewhere(cluster: Cluster) -> None:
    async with cluster.host("one") as one, cluster.host("two"), cluster.run(count=12, held=0) as driver:
        await until(lambda: cluster.by_process("began").total() == 12)
        mine = cluster.by_process("began")[one.pid]
        assert mine > 0
        await one.kill()
        await until(lambda: cluster.by_process("began").total() == 12 + mine)
        cluster.open_gate()
        code, said = await driver.rest()
        assert code == 0, driver.log.read_text()
        assert json.loads(said)["status"] == "succeeded"
        entries = await cluster.entries(json.loads(said)["run_id"])
        assert lost(entries) == mine
        assert count(entries, AttemptReturned) == 12 + mine
        assert Counter(n for _, what, n in cluster.notes if what == "ended") == Counter(range(12))


def jobs(cluster: Cluster) -> Counter[str]:
    """How many jobs are in the queue, by their status."""
    with cluster.database() as connection:
        return Counter(status for (status,) in connection.execute("SELECT status FROM procrastinate_jobs").fetchall())


@pytest.mark.slow
async def test_the_jobs_that_a_killed_host_had_taken_leave_the_queue(cluster: Cluster) -> None:
    words = ("--concurrency", "2")
    async with cluster.host("one", *words) as one, cluster.host("two", *words) as two:
        run_id = await started_detached(cluster, "--max-workers", "20", count=20, held=0)
        await until(lambda: cluster.by_process("began") == {one.pid: 2, two.pid: 2})
        await until(lambda: jobs(cluster)["doing"] == 2)  # each host has one, whose steps wait for its slots
        owner = await driver_of(cluster, run_id, one.host, two.host)
        await next(machine for machine in (one, two) if machine.host != owner).kill()
        cluster.open_gate()
        await cluster.succeeded(run_id)
        await until(lambda: not jobs(cluster))


@pytest.mark.slow
async def test_a_host_that_was_stopped_finds_its_jobs_put_back_and_takes_others(cluster: Cluster) -> None:
    words = ("--concurrency", "2")
    async with cluster.host("one", *words) as one, cluster.host("two", *words) as two:
        run_id = await started_detached(cluster, "--max-workers", "20", count=20, held=0)
        await until(lambda: cluster.by_process("began") == {one.pid: 2, two.pid: 2})
        await until(lambda: jobs(cluster)["doing"] == 2)
        owner = await driver_of(cluster, run_id, one.host, two.host)
        stopped, other = (two, one) if one.host == owner else (one, two)
        stopped.signal(signal.SIGSTOP)
        await until(lambda: cluster.entries(run_id), lambda entries: lost(entries) == 2)
        await until(lambda: jobs(cluster)["doing"] == 1)
        stopped.signal(signal.SIGCONT)
        await until(lambda: cluster.by_process("began")[stopped.pid] == 4)
        cluster.open_gate()
        await cluster.succeeded(run_id)
        await until(lambda: not jobs(cluster))
        assert "Traceback" not in stopped.log.read_text() + other.log.read_text(), stopped.log.read_text()


@pytest.mark.slow
async def test_a_host_that_was_stopped_finds_its_work_done_by_others(cluster: Cluster) -> None:
    async with cluster.host("one") as one, cluster.run(count=6, held=0) as driver:
        await until(lambda: cluster.by_process("began").total() == 6)
        mine = cluster.by_process("began")[one.pid]
        assert mine > 0
        one.signal(signal.SIGSTOP)
        await until(lambda: cluster.by_process("began")[driver.pid] == 6)
        cluster.open_gate()
        one.signal(signal.SIGCONT)
        code, said = await driver.rest()
        assert code == 0, driver.log.read_text()
        run_id = json.loads(said)["run_id"]
        entries = await cluster.entries(run_id)
        assert lost(entries) == mine
        assert count(entries, AttemptStarted) == 6 + mine
        state = await cluster.state(run_id)
        assert state.status is RunStatus.SUCCEEDED
        assert [each.attempts for each in state.steps.values()].count(2) == mine
        assert one.host not in finished_by(entries).values()


async def driver_of(cluster: Cluster, run_id: str, *wanted: str) -> str:
    """The host that drives a run, once it is one of these."""
    async with cluster.store() as store:
        run = await until(lambda: store.run(run_id), lambda run: run.owner in wanted)
        return run.owner


@pytest.mark.slow
async def test_a_detached_run_goes_on_when_the_host_that_drives_it_is_killed(cluster: Cluster) -> None:
    async with cluster.host("one") as one, cluster.host("two") as two:
        machines: dict[str, Machine] = {one.host: one, two.host: two}
        run_id = await started_detached(cluster, count=8, held=2)
        await until(lambda: cluster.by_process("began").total() == 8)
        first = machines.pop(await driver_of(cluster, run_id, *machines))
        mine = Counter(n for pid, what, n in cluster.notes if pid == first.pid and what == "began")
        await first.kill()
        (other,) = machines.values()
        await driver_of(cluster, run_id, other.host)
        cluster.open_gate()
        await cluster.succeeded(run_id)
        entries = await cluster.entries(run_id)
        assert count(entries, RunClaimed) == 2
        assert 0 < lost(entries) <= len(mine)
        assert Counter(n for _, what, n in cluster.notes if what == "ended") == Counter(range(8))


async def test_a_run_is_cancelled_on_every_host_at_once(cluster: Cluster) -> None:
    async with cluster.host("one") as one, cluster.host("two") as two:
        run_id = await started_detached(cluster, count=8, held=0)
        await until(lambda: cluster.by_process("began").total() == 8)
        assert cluster.by_process("began").keys() == {one.pid, two.pid}
        await cluster.said("runs", "cancel", run_id)
        async with cluster.store() as store:
            await until(store.hosts, lambda hosts: not any(line.attempts for line in hosts))
        assert (await cluster.state(run_id)).status is RunStatus.CANCELLED
        assert cluster.by_process("ended").total() == 0


@pytest.mark.slow
async def test_a_host_that_is_drained_finishes_what_it_has_and_hands_its_runs_over(cluster: Cluster) -> None:
    async with cluster.host("one") as one, cluster.host("two") as two:
        machines: dict[str, Machine] = {one.host: one, two.host: two}
        run_id = await started_detached(cluster, count=6, held=0)
        await until(lambda: cluster.by_process("began").total() == 6)
        first = machines.pop(await driver_of(cluster, run_id, *machines))
        (other,) = machines.values()
        first.signal(signal.SIGTERM)
        await driver_of(cluster, run_id, other.host)
        async with cluster.store() as store:
            await until(store.hosts, lambda hosts: any(line.draining for line in hosts if line.host == first.host))
        cluster.open_gate()
        assert (await first.rest())[0] == 0, first.log.read_text()
        state = await cluster.succeeded(run_id)
        assert {each.attempts for each in state.steps.values()} == {1}, "a piece was carried out twice"
        assert first.pid in cluster.by_process("ended")


@pytest.mark.slow
async def test_what_a_drained_host_cannot_finish_continues_elsewhere(cluster: Cluster) -> None:
    async with cluster.host("one", "--grace", "0") as one, cluster.host("two") as two:
        run_id = await started_detached(cluster, count=6, held=0)
        await until(lambda: cluster.by_process("began").total() == 6)
        mine = cluster.by_process("began")[one.pid]
        one.signal(signal.SIGTERM)
        assert (await one.rest())[0] == 0, one.log.read_text()
        await until(lambda: cluster.by_process("began")[two.pid] == 6)
        cluster.open_gate()
        state = await cluster.succeeded(run_id)
        assert [each.attempts for each in state.steps.values()].count(2) == mine
        assert not any(each.failures for each in state.steps.values()), "a host that leaves is no failure"


@pytest.mark.slow
async def test_a_pause_of_postgresql_is_a_pause_of_the_run(server: Server, tmp_path: Path) -> None:
    cluster = Cluster(server.url, tmp_path)
    async with cluster.host("one"), cluster.host("two"):
        run_id = await started_detached(cluster, count=8, held=2)
        await until(lambda: cluster.by_process("began").total() == 8)
        await asyncio.to_thread(server.stop)
        cluster.open_gate()
        await until(lambda: cluster.by_process("ended").total() == 8)
        await asyncio.to_thread(server.restart)
        await cluster.succeeded(run_id)
        entries = await cluster.entries(run_id)
        assert (lost(entries), count(entries, RunClaimed)) == (0, 1)
        await until(lambda: not jobs(cluster))
        second = await started_detached(cluster, count=8)  # the hosts take work again
        await cluster.succeeded(second)
