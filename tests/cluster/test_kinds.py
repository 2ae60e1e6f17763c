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
from leadhand.core.state import RunState

EXAMPLE = Path(__file__).parents[2] / "examples" / "pitchdeck_eval"
CITIES = "Paris, Lyon, Nice, Rome, Oslo, Bern, Vienna and Graz"
FUNCTIONS = str(Path(__file__).with_name("functions.py"))


async def shared_by_two(cluster: Cluster, *words: str, given: tuple[str, ...] = ()) -> RunState:
    """The end of a run that two hosts, which know what is ``given``, have carried out; nothing of it was lost."""
    few = ("--concurrency", "1", *given)
    async with cluster.host("one", *few) as one, cluster.host("two", *few) as two:
        said = await cluster.said(words[0], "--offline", "--detach", *given, *words[1:])
        state = await cluster.finished(said.split()[0])
    hosts = {*finished_by(await cluster.entries(state.run_id)).values()}
    assert hosts
    assert hosts <= {one.host, two.host}  # short work may all be done before the other host takes any
    assert not any(FailureClass.LOST in each.failures for each in state.steps.values())
    return state


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
    state = await shared_by_two(cluster, *words)
    assert state.status in (RunStatus.SUCCEEDED, RunStatus.PARTIAL)


@pytest.mark.slow
async def test_the_steps_of_a_function_are_carried_out_by_two_hosts(cluster: Cluster) -> None:
    given = ("--flows", FUNCTIONS, "--tools", FUNCTIONS)
    state = await shared_by_two(cluster, "run", "--flow", "everywhere", "Count them", given=given)
    assert state.finished is not None
    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert state.finished.answer == " ".join([*(f"{n} rows" for n in range(6)), "200", "200"])


@pytest.mark.slow
async def test_workers_that_a_run_makes_work_on_two_hosts(cluster: Cluster) -> None:
    left = shutil.ignore_patterns("generated", "__pycache__")
    manifest = str(shutil.copytree(EXAMPLE, cluster.folder / "project", ignore=left) / "leadhand.toml")
    words = ("--approve", "auto", "--worker", "orchestrator", "Evaluate the pitch decks")
    state = await shared_by_two(cluster, "run", *words, given=("--project", manifest))
    assert state.finished is not None
    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert "decks/solar.md" in state.finished.answer
    made = [each for each in state.steps.values() if each.step.worker == "deck_evaluator"]
    assert len(made) == 6, "three decks, twice"


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
                counted = (await client.get("/metrics")).text
                assert all(f'{{kind="{kind}"}} 1.0' in counted for kind in ("server", "host"))
                assert "leadhand_queue_depth 0.0" in counted
                server.signal(signal.SIGKILL)
                await until(lambda: cluster.by_process("began")[host.pid] == 4)
                cluster.open_gate()
                await cluster.succeeded(run_id)
        assert cluster.by_process() == {host.pid: 4}
