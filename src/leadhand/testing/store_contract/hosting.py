"""Which processes are alive and drive which runs, and what a store reports to operators."""

from __future__ import annotations

from leadhand.domain.events import RunFinished
from leadhand.domain.listing import HostLine
from leadhand.domain.run import RunStatus
from leadhand.ports import ContextStore

from .fixtures import OneStore, TwoStores
from .samples import pauses, started


class HostingContract(OneStore):
    """A store knows its own process, and counts its runs."""

    async def test_this_process_is_a_host_whether_it_drives_a_run_or_not(self, store: ContextStore) -> None:
        assert await store.hosts() == [HostLine(host=store.host, here=True)]
        await store.create("run-1", started())
        await store.create("run-2", started())
        assert await store.hosts() == [HostLine(host=store.host, here=True, runs=("run-1", "run-2"))]
        await store.release("run-1", 1)
        assert await store.hosts() == [HostLine(host=store.host, here=True, runs=("run-2",))]

    async def test_runs_are_counted_by_status(self, store: ContextStore) -> None:
        assert (await store.about()).runs == {}
        for number in range(4):
            await store.create(f"run-{number}", started())
        await store.append("run-0", pauses("a"))
        await store.append("run-1", [RunFinished(status=RunStatus.SUCCEEDED, answer="a")])
        about = await store.about()
        assert about.runs == {RunStatus.PAUSED: 1, RunStatus.SUCCEEDED: 1, RunStatus.RUNNING: 2}
        assert about.kind
        assert about.name
        assert about.bytes is None or about.bytes > 0


class SharedHostingContract(TwoStores):
    """A process sees the others that are alive."""

    async def test_a_host_that_drives_runs_is_seen_until_it_is_gone(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        assert await store.hosts() == [HostLine(host=store.host, here=True)]
        await store.create("run-1", started())
        await second_store.create("run-2", started())
        assert await store.hosts() == [
            HostLine(host=store.host, here=True, runs=("run-1",)),
            HostLine(host=second_store.host, here=False, runs=("run-2",)),
        ]
        assert [(line.host, line.here) for line in await second_store.hosts()] == [
            (second_store.host, True),
            (store.host, False),
        ]
        await second_store.aclose()
        assert await store.hosts() == [HostLine(host=store.host, here=True, runs=("run-1",))]
