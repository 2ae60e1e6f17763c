"""What runs wait for is visible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cluster.machines import Cluster, started_detached, until
from leadhand.core.run import RunStatus

NEXT = str(Path(__file__).with_name("next_pieces.py"))


async def document_of(cluster: Cluster, run_id: str) -> dict[str, Any]:
    said = await cluster.said("runs", "show", "--json", run_id)
    return json.loads(said[: said.rindex("}") + 1])


async def queued(cluster: Cluster, **options: object) -> str:
    """The id of a run that waits for a host: no process drives it."""
    async with cluster.lead() as lead:
        runtime = await lead.runtime()
        given = {"folder": str(cluster.folder), **options}
        run = await runtime.start("pieces", flow="pieces", options=given, detached=True, handed_over=True)
        return run.run_id


@pytest.mark.slow
async def test_a_run_that_waits_for_a_host_says_what_for(cluster: Cluster) -> None:
    run_id = await queued(cluster, count=1)
    assert "`leadhand work`" in (await document_of(cluster, run_id))["waits_for"]
    async with cluster.process("serve", "--offline", "--port", "0", name="server") as server:
        address = await server.line()  # it does not know the flow
        async with httpx2.AsyncClient(base_url=address, verify=False) as client:

            async def waits_for() -> str:
                return (await client.get(f"/api/runs/{run_id}")).json()["waits_for"]

            await until(waits_for, lambda reason: "the flow `pieces`" in reason)
            async with cluster.host("host"):
                await cluster.finished(run_id)
            assert await waits_for() == ""


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
