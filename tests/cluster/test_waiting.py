"""What runs and steps wait for is visible, and those with a higher priority come first."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cluster.machines import Cluster, started_detached, until
from leadhand.app.runtime.membership import waiting_runs
from leadhand.core.evolve import replay
from leadhand.core.run import RunStatus

NEXT = str(Path(__file__).with_name("next_pieces.py"))


async def document_of(cluster: Cluster, run_id: str) -> dict[str, Any]:
    said = await cluster.said("runs", "show", "--json", run_id)
    return json.loads(said[: said.rindex("}") + 1])


async def queued(cluster: Cluster, *words: str, **options: object) -> str:
    """The id of a run that waits for a host: no process drives it."""
    async with cluster.lead() as lead:
        runtime = await lead.runtime()
        given = {"folder": str(cluster.folder), **options}
        priority = int(words[0]) if words else 0
        run = await runtime.start(
            "pieces", flow="pieces", options=given, detached=True, handed_over=True, priority=priority
        )
        return run.run_id


@pytest.mark.slow
async def test_runs_wait_in_the_order_of_their_priority_and_say_what_for(cluster: Cluster) -> None:
    last, first = await queued(cluster, "-1", count=1), await queued(cluster, "5", count=1)
    second = await queued(cluster, count=1)
    document = await document_of(cluster, second)
    assert (document["queue_position"], "`leadhand work`" in document["waits_for"]) == (2, True)
    async with cluster.process("serve", "--offline", "--port", "0", name="server") as server:
        address = await server.line()  # it does not know the flow
        async with httpx2.AsyncClient(base_url=address, verify=False) as client:

            async def waiting() -> list[dict[str, object]]:
                return (await client.get("/api/hosts")).json()["queue"]["waiting"]

            found = await until(waiting, lambda runs: all("the flow `pieces`" in str(run["reason"]) for run in runs))
            assert [(run["run_id"], run["position"], run["priority"]) for run in found] == [
                (first, 1, 5), (second, 2, 0), (last, 3, -1)
            ]  # fmt: skip
            document = (await client.get(f"/api/runs/{last}")).json()
            assert (document["priority"], document["queue_position"]) == (-1, 3)
            assert "the flow `pieces`" in document["waits_for"]
            listed = await cluster.said("hosts", "list")
            assert re.search(rf"1 +{first} +5 .*the flow `pieces`", listed)
            async with cluster.host("host"):
                await until(waiting, lambda runs: not runs)
                for run_id in (first, second, last):
                    await cluster.finished(run_id)
            document = (await client.get(f"/api/runs/{last}")).json()
            assert (document["waits_for"], document["queue_position"]) == ("", None)


async def test_a_host_that_is_free_again_takes_the_steps_of_the_highest_priority(cluster: Cluster) -> None:
    async with cluster.host("host", "--concurrency", "1"):
        blocking = await queued(cluster, count=1, held=0)
        await until(lambda: cluster.by_process("began").total() == 1)
        low, high = await queued(cluster, count=3), await queued(cluster, "7", count=3)
        async with cluster.store() as store:
            await until(lambda: store.read(low), lambda entries: len(replay(low, entries).live) == 3)
            await until(lambda: store.read(high), lambda entries: len(replay(high, entries).live) == 3)
        cluster.open_gate()
        for run_id in (blocking, low, high):
            await cluster.finished(run_id)
        async with cluster.store() as store:
            finished = {run.run_id: run.finished_at for run in await store.runs(status=RunStatus.SUCCEEDED)}
        assert finished[high] < finished[low]  # type: ignore[operator]


@pytest.mark.slow
async def test_a_host_leaves_a_log_of_a_later_release_to_later_hosts(cluster: Cluster) -> None:
    run_id = await queued(cluster, count=2)

    def change_version(by: int) -> None:
        with cluster.database() as connection:
            connection.execute("UPDATE events SET version = version + %s WHERE run_id = %s", (by, run_id))

    change_version(+50)
    async with cluster.host("earlier") as earlier:
        await until(lambda: run_id in earlier.log.read_text())
        async with cluster.store() as store:
            listing = await store.run(run_id)
            assert (listing.owner, listing.status) == (None, RunStatus.RUNNING)
            (waiting,) = await waiting_runs(store, await store.hosts())
            assert run_id in waiting.reason
        await earlier.kill()  # what follows is for the later host alone
    change_version(-50)  # so that this release can stand for a later one
    async with cluster.host("later") as later:
        await cluster.succeeded(run_id)
        assert cluster.by_process().keys() == {later.pid}


@pytest.mark.slow
async def test_a_host_leaves_a_run_of_a_flow_that_it_does_not_know(cluster: Cluster) -> None:
    words = ("work", "--offline", "--flows", NEXT, "--concurrency", "4")
    async with cluster.host("earlier") as earlier:
        async with cluster.process(*words, name="later") as later:
            later.host = await later.line()
            given = {"folder": str(cluster.folder), "count": 8, "held": 0}
            flags = [word for key, value in given.items() for word in ("--option", f"{key}={json.dumps(value)}")]
            start = ("run", "--offline", "--detach", "--flows", NEXT, "--flow", "later", *flags, "pieces")
            run_id = (await cluster.said(*start)).split()[0]
            await until(lambda: cluster.by_process("began")[later.pid] == 4)
            assert cluster.by_process("began").keys() == {later.pid}
            await later.kill()
            await until(lambda: document_of(cluster, run_id), lambda run: "the flow `later`" in run["waits_for"])
        cluster.open_gate()
        async with cluster.process(*words, name="later-again") as later:
            later.host = await later.line()
            await cluster.succeeded(run_id)
            assert earlier.pid not in cluster.by_process("began")
            first = await started_detached(cluster, count=2)  # a run of the other flow goes to the other host
            await cluster.succeeded(first)
            assert cluster.by_process()[earlier.pid] == 2
