"""A limit at once binds on all hosts, and what a dead host held is free for the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cluster.machines import Cluster, until
from leadhand.core.limits import Concurrency, SharedLimit
from leadhand.core.run import RunStatus

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
