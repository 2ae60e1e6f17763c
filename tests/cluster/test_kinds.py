"""Every kind of run on two hosts, and a server whose runs continue on a host when it is killed."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import httpx2
import pytest

from cluster.machines import FLOWS, Cluster, finished_by, until
from leadhand.core.errors import FailureClass
from leadhand.core.run import RunStatus

EXAMPLE = Path(__file__).parents[2] / "examples" / "pitchdeck_eval"
CITIES = "Paris, Lyon, Nice, Rome, Oslo, Bern, Vienna and Graz"


async def shared_by(cluster: Cluster, run_id: str) -> set[str | None]:
    async with cluster.store() as store:
        return {*finished_by(await store.read(run_id)).values()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("run", f"What is the weather in {CITIES} tomorrow?"),
        ("report", "Heat pumps in old houses"),
        ("research", "What does a heat pump cost? How does it perform in winter? Which grants are there?"),
    ],
    ids=["work-order", "report", "research"],
)
async def test_a_run_of_each_kind_is_shared_by_two_hosts(cluster: Cluster, words: tuple[str, str]) -> None:
    few = ("--concurrency", "1")
    async with cluster.host("one", *few) as one, cluster.host("two", *few) as two:
        async with cluster.process(words[0], "--offline", "--detach", words[1], name="client") as client:
            code, said = await client.rest()
            assert code == 0, client.log.read_text()
        state = await cluster.finished(said.strip())
        assert state.status in (RunStatus.SUCCEEDED, RunStatus.PARTIAL)
        hosts = await shared_by(cluster, state.run_id)
        assert hosts
        assert hosts <= {one.host, two.host}  # short work may all be done before the other host takes any
        assert not any(FailureClass.LOST in each.failures for each in state.steps.values())


@pytest.mark.slow
async def test_workers_that_a_run_makes_work_on_two_hosts(cluster: Cluster) -> None:
    left = shutil.ignore_patterns("generated", "__pycache__")
    manifest = str(shutil.copytree(EXAMPLE, cluster.folder / "project", ignore=left) / "leadhand.toml")
    project = ("--project", manifest)
    few = ("--concurrency", "1", *project)
    async with cluster.host("one", *few) as one, cluster.host("two", *few) as two:
        command = ("run", "--offline", "--approve", "auto", "--detach", "--worker", "orchestrator", *project)
        async with cluster.process(*command, "Evaluate the pitch decks", name="client") as client:
            code, said = await client.rest()
            assert code == 0, client.log.read_text()
        state = await cluster.finished(said.strip())
    assert state.finished is not None
    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert "decks/solar.md" in state.finished.answer
    made = [each for each in state.steps.values() if each.step.worker == "deck_evaluator"]
    assert len(made) == 6, "three decks, twice"
    hosts = await shared_by(cluster, state.run_id)
    assert hosts
    assert hosts <= {one.host, two.host}
    assert not any(FailureClass.LOST in each.failures for each in state.steps.values())


@pytest.mark.slow
async def test_a_killed_server_leaves_its_runs_to_a_host(cluster: Cluster) -> None:
    command = ("serve", "--offline", "--port", "0", "--flows", FLOWS)
    async with cluster.process(*command, name="server") as server:
        address = await server.line()
        options = {"folder": str(cluster.folder), "count": 4, "held": 0}
        async with httpx2.AsyncClient(base_url=address, verify=False) as client:
            started = await client.post("/api/runs", json={"request": "pieces", "flow": "pieces", "options": options})
            run_id = started.json()["run_id"]
            await until(lambda: cluster.by_process("began").total() == 4)
            async with cluster.host("host") as host:
                hosts = (await client.get("/api/hosts")).json()
                kinds = {line["kind"]: len(line["attempts"]) for line in hosts["hosts"]}
                assert kinds.keys() == {"server", "host"}
                assert hosts["queue"]["depth"] == 0
                assert '{kind="host"} 1.0' in (await client.get("/metrics")).text
                server.signal(signal.SIGKILL)
                await until(lambda: cluster.by_process("began")[host.pid] == 4)
                cluster.open_gate()
                state = await cluster.finished(run_id)
        assert state.status is RunStatus.SUCCEEDED
        assert cluster.by_process() == {host.pid: 4}
