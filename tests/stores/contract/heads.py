"""The heads of runs: what lists show of the states that stores do not know."""

from __future__ import annotations

import pytest

from leadhand.core import events as ev
from leadhand.core.errors import Fenced
from leadhand.core.run import RunStatus
from leadhand.ports import ContextStore
from leadhand.ports.heads import RunHead

from .samples import Contract, asks, pauses, says, started

FIRST, SECOND = "wo-001.0/t0/c0", "wo-001.1/t0/c0"


async def shown(store: ContextStore, run_id: str = "run-1") -> tuple[int, ...]:
    listing = await store.run(run_id)
    return listing.subtasks, listing.completed, listing.failed, listing.asking


class HeadContract(Contract):
    """A store shows the head that comes with the events of a run, if whoever gives it knows the whole run."""

    async def test_a_run_is_listed_with_the_head_that_its_owner_gives(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        assert await shown(store) == (0, 0, 0, 0)
        await store.append("run-1", [asks(FIRST)])  # an event changes nothing by itself
        assert await shown(store) == (0, 0, 0, 0)
        await store.append("run-1", pauses("a"), epoch=1, head=RunHead(2, 3, 1, 1, 1))  # before the approval
        assert await shown(store) == (3, 1, 1, 1)
        await store.append("run-1", pauses("b"))
        assert await shown(store) == (3, 1, 1, 1)

    async def test_the_head_of_others_counts_if_they_have_seen_every_event(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST), asks(SECOND)], epoch=1, head=RunHead(3, asking=2))
        await store.append("run-1", [says(FIRST)], head=RunHead(4, asking=1))
        assert await shown(store) == (0, 0, 0, 1)
        await store.append("run-1", [says(SECOND)], head=RunHead(4, asking=0))
        assert await shown(store) == (0, 0, 0, 1)
        assert await store.append("run-1", [], head=RunHead(5, asking=0)) == []
        assert await shown(store) == (0, 0, 0, 0)

    async def test_a_head_that_was_refused_is_not_shown(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        with pytest.raises(Fenced):
            await store.append("run-1", [asks(FIRST)], epoch=9, head=RunHead(2, asking=1))
        await store.append("run-1", pauses("a"))
        assert await shown(store) == (0, 0, 0, 0)

    async def test_runs_that_ask_a_person_can_be_listed(self, store: ContextStore) -> None:
        for run_id in ("run-1", "run-2", "run-3"):
            await store.create(run_id, started())
        assert await store.runs(asking=True) == []
        for run_id, asking in (("run-1", 2), ("run-3", 1)):
            await store.append(run_id, [asks(FIRST)], epoch=1, head=RunHead(2, asking=asking))
        assert [(run.run_id, run.asking) for run in await store.runs()] == [("run-3", 1), ("run-2", 0), ("run-1", 2)]
        assert [run.run_id for run in await store.runs(asking=True)] == ["run-3", "run-1"]
        assert [run.run_id for run in await store.runs(asking=True, before="run-3")] == ["run-1"]
        finished = ev.RunFinished(status=RunStatus.CANCELLED, answer="")
        await store.append("run-3", [finished], epoch=1, head=RunHead(3))
        assert [run.run_id for run in await store.runs(asking=True)] == ["run-1"]


class SharedHeadContract(Contract):
    """A process sees the heads that another gives, and does not undo them."""

    async def test_a_head_alone_is_not_undone_by_what_another_process_writes_next(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [asks(FIRST)], epoch=1, head=RunHead(2, asking=1))
        await second_store.append("run-1", [], head=RunHead(2, asking=5))
        await store.append("run-1", pauses("a"))
        assert await shown(store) == await shown(second_store) == (0, 0, 0, 5)
        assert (await store.run("run-1")).owner == store.host
