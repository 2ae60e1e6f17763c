"""Processes on many machines share the work of runs, and their limits."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from cluster.machines import Cluster, started_detached, until
from leadhand.core.events import AttemptStarted
from leadhand.core.limits import Concurrency, SharedLimit
from leadhand.core.run import RunStatus


async def test_a_host_shares_the_work_of_a_run_with_its_driver(cluster: Cluster) -> None:
    async with cluster.host("host") as host, cluster.run(count=20, held=0) as driver:
        await until(lambda: cluster.by_process("began").total() == 20)
        async with cluster.store() as store:
            hosts = {line.host: line for line in await until(store.hosts, lambda hosts: sum_of(hosts) == 20)}
        assert len(hosts.pop(host.host).attempts) == 10
        assert {str(line.kind): len(line.attempts) for line in hosts.values() if not line.here} == {"run": 10}
        cluster.open_gate()
        code, said = await driver.rest()
        assert code == 0, driver.log.read_text()
        assert json.loads(said)["status"] == "succeeded"
        assert cluster.by_process() == {host.pid: 10, driver.pid: 10}
        assert sorted(n for _, what, n in cluster.notes if what == "began") == list(range(20))
        assert host.log.read_text().count("\n") == 4, host.log.read_text()


async def test_a_host_carries_out_steps_that_follow_from_earlier_ones(cluster: Cluster) -> None:
    """It knows the flow as far as the run has come, not as it was when the host was given its first step."""
    async with cluster.host("host") as host, cluster.run(count=20, rounds=3, held=40) as driver:
        await until(lambda: cluster.by_process("began").total() == 60)
        began = {n: pid for pid, what, n in cluster.notes if what == "began"}
        assert [began[n] for n in range(40, 60)].count(host.pid) == 10
        cluster.open_gate()
        code, said = await driver.rest()
        assert code == 0, driver.log.read_text()
        assert json.loads(said)["answer"] == "60 pieces"
        assert sorted(n for _, what, n in cluster.notes if what == "began") == list(range(60))


def sum_of(hosts: list[object]) -> int:
    return sum(len(line.attempts) for line in hosts)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
async def test_hosts_share_a_run_of_200(cluster: Cluster, count: int) -> None:
    async with AsyncExitStack() as stack:
        words = ("--concurrency", "10")
        hosts = [await stack.enter_async_context(cluster.host(f"host-{n}", *words)) for n in range(count)]
        most = 10 * count
        run_id = await started_detached(cluster, "--max-workers", str(most), count=200, held=most)
        await until(lambda: cluster.by_process("began").total() >= most)
        cluster.open_gate()
        await cluster.succeeded(run_id)
        assert Counter(n for _, what, n in cluster.notes if what == "ended") == Counter(range(200))
        assert cluster.by_process().keys() == {host.pid for host in hosts}
        async with cluster.store() as store:
            entries = await store.read(run_id)
        began = [entry.event.attempt for entry in entries if isinstance(entry.event, AttemptStarted)]
        assert Counter(began).most_common(1)[0][1] == 1, "an attempt began twice"
        assert await store_queue(cluster) == 0


@pytest.mark.slow
async def test_a_host_that_drives_a_run_leaves_the_others_their_share_of_what_it_offers(cluster: Cluster) -> None:
    """It takes jobs from the queue, too: of its own run no more than it has slots for."""
    words = ("--concurrency", "4")
    async with cluster.host("one", *words) as one, cluster.host("two", *words) as two:
        run_id = await started_detached(cluster, "--max-workers", "80", count=80, seconds=0.05, held=0)
        await until(lambda: cluster.by_process("began") == {one.pid: 4, two.pid: 4})
        async with cluster.store() as store:
            for _ in range(10):  # each has at most two jobs of four waiting for slots, and has begun another one
                await asyncio.sleep(0.1)
                assert (await store.queue()).steps >= 80 - 2 * (4 + 2 * 4)
        cluster.open_gate()
        state = await until(lambda: cluster.state(run_id), lambda state: state.finished is not None)
        assert state.status is RunStatus.SUCCEEDED
        shares = cluster.by_process()
        assert shares.total() == 80
        assert min(shares.values()) >= 24, shares


async def store_queue(cluster: Cluster) -> int:
    async with cluster.store() as store:
        return (await until(store.queue, lambda queue: queue.depth == 0)).depth


@pytest.mark.slow
async def test_no_more_attempts_run_on_all_hosts_than_the_run_allows(cluster: Cluster) -> None:
    async with cluster.host("one"), cluster.host("two"):
        run_id = await started_detached(cluster, "--max-workers", "5", count=40, seconds=0.02)
        await cluster.succeeded(run_id)
        under_way, most = 0, 0
        for _, what, _ in cluster.notes:
            under_way += 1 if what == "began" else -1
            most = max(most, under_way)
        assert most <= 5
        assert len(cluster.by_process()) == 2


@pytest.mark.slow
async def test_many_runs_at_once_need_few_connections(cluster: Cluster) -> None:
    async with cluster.host("one") as one, cluster.host("two") as two:
        async with cluster.lead() as lead:
            runtime = await lead.runtime()
            options = {"folder": str(cluster.folder), "count": 4}
            ids = [
                (await runtime.start("pieces", flow="pieces", options=options, detached=True, handed_over=True)).run_id
                for _ in range(50)
            ]
            store = runtime.store
            done = await until(
                lambda: store.runs(status=RunStatus.SUCCEEDED, limit=100), lambda runs: len(runs) == len(ids)
            )
        assert {run.run_id for run in done} == set(ids)
        assert cluster.by_process().total() == 200
        assert cluster.by_process().keys() == {one.pid, two.pid}
        assert cluster.most_connections() <= 2 * 12


@pytest.mark.slow
async def test_a_host_without_the_flow_of_a_run_leaves_it_to_others(cluster: Cluster) -> None:
    async with cluster.process("work", "--offline", name="other") as other:
        await other.line()
        run_id = await started_detached(cluster, count=4)
        await until(lambda: "is left to other hosts" in other.log.read_text())
        async with cluster.store() as store:
            assert (await store.run(run_id)).owner is None
        async with cluster.host("host") as host:
            state = await cluster.succeeded(run_id)
            assert cluster.by_process() == {host.pid: 4}
            assert not any(each.failures for each in state.steps.values())


async def test_a_job_of_a_newer_release_is_left_to_its_own_processes(cluster: Cluster) -> None:
    async with cluster.host("host") as host:
        with cluster.database() as connection:
            connection.execute(
                "SELECT procrastinate_defer_jobs_v1(ARRAY[ROW('carry_out', 'carry_out', 0, NULL, NULL,"
                """ '{"version": 99, "run_id": "run_x", "shards": []}', NULL)::procrastinate_job_to_defer_v1])"""
            )
        assert await store_queue(cluster) == 0
        run_id = await started_detached(cluster, count=2)
        await cluster.succeeded(run_id)
        assert host.log.read_text().count("\n") == 4, host.log.read_text()


@pytest.mark.slow
async def test_requests_are_counted_over_all_hosts(cluster: Cluster) -> None:
    async with AsyncExitStack() as stack:
        for n in range(4):
            await stack.enter_async_context(cluster.host(f"host-{n}"))
        run_id = await started_detached(cluster, "--max-requests", "25", count=80, held=0, asks=True)
        await until(lambda: cluster.by_process("began").total() == 32)
        assert len(cluster.by_process("began")) > 1
        cluster.open_gate()
        state = await cluster.finished(run_id)
        kept = state.definition.held_back.requests
        assert state.spent.requests == 25 - kept
        assert {each.failure.type for each in state.steps.values() if each.failure} == {"allowance"}


THREE = Concurrency(steps=(SharedLimit(scope="the key `k`", most=3),))


async def started(cluster: Cluster, runs: int, **options: object) -> list[str]:
    """Start detached runs that share a limit of three steps at once, and return their ids."""
    async with cluster.lead() as lead:
        runtime = await lead.runtime()
        given = {"folder": str(cluster.folder), **options}
        asked = replace(runtime.settings, shared=THREE)
        return [
            (
                await runtime.start(
                    "pieces", flow="pieces", options=given, detached=True, handed_over=True, asked=asked
                )
            ).run_id
            for _ in range(runs)
        ]


def most_at_once(notes: list[tuple[int, str, int]]) -> int:
    now = most = 0
    for _, what, _ in notes:
        now += 1 if what == "began" else -1
        most = max(most, now)
    return most


@pytest.mark.slow
async def test_the_runs_of_a_key_share_its_limit_on_two_hosts(cluster: Cluster) -> None:
    async with cluster.host("one"), cluster.host("two"):
        ids = await started(cluster, 3, count=12, seconds=0.05)
        assert [(await cluster.finished(run_id)).status for run_id in ids] == [RunStatus.SUCCEEDED] * 3
        assert cluster.by_process().total() == 36
        assert most_at_once(cluster.notes) == 3


async def test_a_killed_host_frees_the_places_that_it_held(cluster: Cluster) -> None:
    async with cluster.host("one") as one:
        ids = await started(cluster, 1, count=8, held=0)
        await until(lambda: cluster.by_process("began").total() == 3)
        async with cluster.host("two") as two:
            await one.kill()
            await until(lambda: cluster.by_process("began")[two.pid] == 3)
            cluster.open_gate()
            assert (await cluster.finished(ids[0])).status is RunStatus.SUCCEEDED
            assert cluster.by_process() == Counter({two.pid: 8})
            assert most_at_once([note for note in cluster.notes if note[0] == two.pid]) == 3
