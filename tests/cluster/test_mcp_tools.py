"""Tools of MCP servers on several hosts: each has a connection of its own, and its server ends with it."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from cluster.machines import Cluster, Machine, lost, until
from leadhand.core.run import RunStatus

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
FLOWS, SERVER = str(HERE / "lookers.py"), HERE.parent / "mcp" / "rare_server.py"


def calls(cluster: Cluster, tool: str) -> Counter[int]:
    """How many calls of a tool each host has begun."""
    path = cluster.folder / "notes"
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter(int(line.split()[-1]) for line in lines if line.startswith(tool))


def tools_of(cluster: Cluster, *words: str) -> tuple[str, ...]:
    return ("--flows", FLOWS, "--mcp", f"{sys.executable} {SERVER} {cluster.folder} {' '.join(words)}")


async def started(cluster: Cluster, *words: str) -> str:
    command = ("run", "--offline", "--detach", *tools_of(cluster), "--flow", "lookers", "--approve", "auto", *words)
    return (await cluster.said(*command, "look around")).split()[0]


async def killed(machine: Machine) -> None:
    """Kill a host, and wait until its servers have ended: also those that ignore the end of their input."""
    servers = psutil.Process(machine.pid).children(recursive=True)
    assert servers
    await machine.kill()
    await until(lambda: not [each for each in servers if each.is_running() and each.status() != "zombie"])


async def test_hosts_call_a_tool_on_connections_of_their_own_and_one_that_dies_is_replaced(cluster: Cluster) -> None:
    words = tools_of(cluster, "stubborn")
    async with cluster.host("one", *words) as one, cluster.host("two", *words) as two:
        run_id = await started(cluster, "--option", "looks=12")
        await until(lambda: calls(cluster, "look").total() == 12)
        mine = calls(cluster, "look")
        assert mine.keys() == {one.pid, two.pid}
        await killed(one)
        await until(lambda: calls(cluster, "look")[two.pid] == 12)
        cluster.open_gate()
        await cluster.succeeded(run_id)
        assert lost(await cluster.entries(run_id)) == mine[one.pid]


async def test_a_call_that_acts_once_is_not_repeated_when_its_host_dies(cluster: Cluster) -> None:
    words = tools_of(cluster)
    async with cluster.host("one", *words) as one, cluster.host("two", *words) as two:
        machines = {one.pid: one, two.pid: two}
        run_id = await started(cluster, "--option", "payments=1")
        ((pid, _),) = (await until(lambda: calls(cluster, "pay"))).items()
        await killed(machines[pid])
        cluster.open_gate()
        state = await until(lambda: cluster.state(run_id), lambda state: bool(state.approvals))
        ((asked),) = state.approvals.values()
        assert (asked.kind, asked.tool) == ("effect", "pay")
        async with cluster.lead() as lead:
            (pending,) = await lead.approvals()
            await (await lead.get(run_id)).settle_effect(pending, happened=True)
        state = await cluster.finished(run_id)
        assert state.status is RunStatus.SUCCEEDED
        assert calls(cluster, "pay").total() == 1
