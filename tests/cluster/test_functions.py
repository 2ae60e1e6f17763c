"""A flow that is a function on two hosts: each carries out steps of it, whatever their kind and size."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.machines import Cluster, finished_by
from leadhand.core.errors import FailureClass
from leadhand.core.run import RunStatus

FILE = str(Path(__file__).with_name("functions.py"))


@pytest.mark.slow
async def test_the_steps_of_a_function_are_carried_out_by_two_hosts(cluster: Cluster) -> None:
    given = ("--flows", FILE, "--tools", FILE)
    few = ("--concurrency", "1", *given)
    async with cluster.host("one", *few) as one, cluster.host("two", *few) as two:
        command = ("run", "--offline", "--detach", "--flow", "everywhere", *given)
        async with cluster.process(*command, "Count them", name="client") as client:
            code, said = await client.rest()
            assert code == 0, client.log.read_text()
        state = await cluster.finished(said.strip())
        async with cluster.store() as store:
            hosts = {*finished_by(await store.read(state.run_id)).values()}
    assert state.finished is not None
    assert state.status is RunStatus.SUCCEEDED, state.finished
    assert state.finished.answer == " ".join([*(f"{n} rows" for n in range(6)), "200", "200"])
    assert hosts <= {one.host, two.host}
    assert not any(FailureClass.LOST in each.failures for each in state.steps.values())
