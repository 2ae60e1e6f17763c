"""Lists of runs: counts, order, pages and searches."""

from __future__ import annotations

from typing import Any

from leadhand.domain.events import AttemptSettled, RunFinished, RunPaused, RunResumed, SubtaskBlocked, WorkOrderIssued
from leadhand.domain.run import RunStatus
from leadhand.domain.work_order import Subtask, WorkOrder
from leadhand.ports import ContextStore

from .fixtures import OneStore
from .samples import pauses, started


class ListingContract(OneStore):
    """A run has a line in lists that follows its log."""

    async def test_a_listing_follows_its_run(self, store: ContextStore) -> None:
        await store.create("run-1", started("x" * 300, detached=True))
        order = WorkOrder(work_order_id="wo-001", goal="g", subtasks=tuple(Subtask(name=f"s{n}") for n in range(3)))
        await store.append("run-1", [WorkOrderIssued(order=order)])
        await store.append(
            "run-1",
            [
                AttemptSettled(attempt="plan/a1", ok=True, final=True),  # a thought of the lead, not a subtask
                AttemptSettled(attempt="wo-001.0/a1", ok=False, final=False),
                AttemptSettled(attempt="wo-001.0/a2", ok=True, final=True),
                AttemptSettled(attempt="wo-001.1/a1", ok=False, final=True),
                SubtaskBlocked(subtask="wo-001.2", cause="wo-001.1"),
                RunPaused(),
            ],
        )
        listing = await store.run("run-1")
        assert (listing.flow, listing.model, listing.request) == ("work-order", "offline", "x" * 200)
        assert (listing.subtasks, listing.completed, listing.failed) == (3, 1, 2)
        assert (listing.status, listing.head_seq, listing.detached) == (RunStatus.PAUSED, 8, True)
        assert listing.finished_at is None
        await store.append("run-1", [RunResumed()])
        assert (await store.run("run-1")).status is RunStatus.RUNNING
        (entry,) = await store.append("run-1", [RunFinished(status=RunStatus.FAILED, answer="")])
        listing = await store.run("run-1")
        assert (listing.status, listing.finished_at) == (RunStatus.FAILED, entry.at)
        assert listing.created_at == (await store.read("run-1"))[0].at
        assert await store.runs() == [listing]

    async def test_runs_come_newest_first_in_pages(self, store: ContextStore) -> None:
        for number in (3, 1, 2, 5, 4):
            await store.create(f"run-{number}", started())
        names = ["run-4", "run-5", "run-2", "run-1", "run-3"]
        assert [run.run_id for run in await store.runs()] == names
        assert [run.run_id for run in await store.runs(limit=2)] == names[:2]
        assert [run.run_id for run in await store.runs(limit=2, before="run-5")] == names[2:4]
        assert await store.runs(before="run-3") == []

    async def test_runs_can_be_looked_for(self, store: ContextStore) -> None:
        await store.create("run-1", started("Weather in Paris"))
        await store.create("run-2", started("100% of the weather_in Oslo"))
        await store.create("run-3", started("HÔTELS"))
        await store.append("run-3", pauses("a"))

        async def found(**query: Any) -> list[str]:
            return [run.run_id for run in await store.runs(**query)]

        assert await found(status=RunStatus.PAUSED) == ["run-3"]
        assert await found(status=RunStatus.RUNNING) == ["run-2", "run-1"]
        assert await found(text="WEATHER") == ["run-2", "run-1"]
        assert await found(text="hôtel") == ["run-3"]
        assert await found(text="0%") == ["run-2"]
        assert await found(text="1%O") == []
        assert await found(text="r_i") == ["run-2"]
        assert await found(text="'; DROP TABLE runs") == []
        assert await found(text="weather", status=RunStatus.RUNNING, before="run-2") == ["run-1"]

    async def test_a_run_that_nobody_drives_is_an_orphan_while_it_should_be_driven(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        assert not (await store.run("run-1")).orphan
        await store.release("run-1", 1)
        assert (await store.run("run-1")).orphan
        await store.append("run-1", [RunPaused()])
        assert not (await store.run("run-1")).orphan
