"""Runs: which process drives each of them, their lines in lists, and what a store reports to operators."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from leadhand.core import events as ev
from leadhand.core.errors import RunOwned, UsageError
from leadhand.core.limits import Usage
from leadhand.core.run import Follows, RunStatus
from leadhand.ports import ContextStore
from leadhand.ports.hosts import HostLine

from .samples import Contract, began, pauses, returned, started, tokens


class RunsContract(Contract):
    """A run is claimed, driven and released, and has a line in lists that follows its log."""

    async def test_a_run_that_is_driven_cannot_be_claimed_again(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        with pytest.raises(RunOwned, match=store.host):
            await store.claim("run-1")  # not even by its owner: one controller is enough
        assert len(await store.read("run-1")) == 1

    async def test_a_claim_is_written_down_under_the_new_epoch(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        listing = await store.run("run-1")
        assert (listing.owner, listing.epoch) == (None, 1)
        assert await second_store.claim("run-1") == 2
        entry = (await store.read("run-1"))[-1]
        assert (entry.seq, entry.epoch, entry.event) == (2, 2, ev.RunClaimed(owner=second_store.host))
        listing = await store.run("run-1")
        assert (listing.owner, listing.epoch, listing.head_seq) == (second_store.host, 2, 2)

    async def test_a_release_under_an_old_epoch_does_nothing(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        assert await store.claim("run-1") == 2
        await store.release("run-1", 1)
        assert (await store.run("run-1")).owner == store.host

    async def test_a_finished_run_can_be_claimed_only_in_order_to_reopen_it(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [ev.RunFinished(status=RunStatus.PARTIAL, answer="so far")], epoch=1)
        await store.release("run-1", 1)
        with pytest.raises(UsageError, match="run-1 is finished"):
            await store.claim("run-1")
        assert await store.claim("run-1", ended=True) == 2
        await store.append("run-1", [ev.RunStatusSet(status=RunStatus.RUNNING, by="me")], epoch=2)
        listing = await store.run("run-1")
        assert (listing.status, listing.finished_at, listing.owner) == (RunStatus.RUNNING, None, store.host)

    async def test_a_listing_follows_its_run(self, store: ContextStore) -> None:
        await store.create("run-1", started("x" * 300, detached=True))
        await store.append("run-1", [ev.RunStatusSet(status=RunStatus.PAUSED)])
        listing = await store.run("run-1")
        assert (listing.flow, listing.model, listing.request) == ("work-order", "offline", "x" * 200)
        assert (listing.status, listing.head_seq, listing.detached) == (RunStatus.PAUSED, 2, True)
        assert listing.finished_at is None
        await store.append("run-1", [ev.RunStatusSet(status=RunStatus.RUNNING)])
        assert (await store.run("run-1")).status is RunStatus.RUNNING
        (entry,) = await store.append("run-1", [ev.RunFinished(status=RunStatus.FAILED, answer="")])
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

    async def test_runs_can_be_looked_for_by_when_they_were_made(self, store: ContextStore) -> None:
        for number in range(4):
            await store.create(f"run-{number}", started())
        every = await store.runs()
        made = every[1].created_at
        since, until = await store.runs(since=made), await store.runs(until=made)
        assert since == [run for run in every if run.created_at >= made]
        assert until == [run for run in every if run.created_at < made]
        assert every[1] in since, "since is a moment within"
        assert every[1] not in until, "until is the first moment without"
        assert await store.runs(since=made, until=made) == []
        assert await store.runs(since=every[-1].created_at, limit=2, before="run-2") == every[2:4]

    async def test_runs_can_be_looked_for_by_how_they_are_driven_and_what_they_follow(
        self, store: ContextStore
    ) -> None:
        await store.create("run-1", started("a"))
        await store.create("run-2", started("b", detached=True, follows=Follows(run_id="run-1", request="a")))
        assert [(run.run_id, run.follows) for run in await store.runs()] == [("run-2", "run-1"), ("run-1", "")]
        for query, found in (
            ({"detached": True}, ["run-2"]),
            ({"detached": False}, ["run-1"]),
            ({"detached": None}, ["run-2", "run-1"]),
            ({"detached": True, "text": "a"}, []),
            ({"follows": "run-1"}, ["run-2"]),
            ({"follows": "run-2"}, []),
        ):
            assert [run.run_id for run in await store.runs(**query)] == found, query

    async def test_runs_can_be_looked_for_by_their_tags(self, store: ContextStore) -> None:
        odd = {"a:b/c.d-e_f": ':"\n["k", "v"]\n\\,é%_\x00 ', "k": ""}
        await store.create("run-1", started("a", tags={"team": "Data", "env": "prod"}, name="Nightly"))
        await store.create("run-2", started("b", tags={"team": "data"}))
        await store.create("run-3", started("c", tags=odd))
        await store.create("run-4", started("d"))

        async def found(**tags: str) -> list[str]:
            return [run.run_id for run in await store.runs(tags=tags)]

        lines = [(run.name, run.tags) for run in await store.runs()]
        assert lines == [("", {}), ("", odd), ("", {"team": "data"}), ("Nightly", {"team": "Data", "env": "prod"})]
        assert await found() == ["run-4", "run-3", "run-2", "run-1"]
        assert await found(team="data") == ["run-2"]
        assert await found(team="Data", env="prod") == ["run-1"]
        assert await found(**odd) == await found(k="") == ["run-3"]
        for other in ({"team": "dat"}, {"eam": "data"}, {"k": "v"}, {"team": "Data", "env": "p"}, {"team": "_ata"}):
            assert await found(**other) == [], other
        assert [run.run_id for run in await store.runs(tags={"team": "data"}, text="b", limit=1)] == ["run-2"]
        assert await store.runs(tags={"team": "data"}, before="run-2") == []

    async def test_a_listing_says_what_was_spent_and_not_what_is_reserved(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.append("run-1", [began("a", tokens(500)), began("b", tokens(900))])
        listing = await store.run("run-1")
        assert (listing.requests, listing.tokens, listing.nanousd) == (0, 0, 0)
        await store.append("run-1", [returned("a", Usage(input_tokens=40, output_tokens=2, nanousd=7))])
        (listing,) = await store.runs()
        assert (listing.requests, listing.tokens, listing.nanousd) == (1, 42, 7)

    async def test_a_run_that_nobody_drives_is_an_orphan_while_it_should_be_driven(self, store: ContextStore) -> None:
        await store.create("run-1", started())
        assert not (await store.run("run-1")).orphan
        await store.release("run-1", 1)
        assert (await store.run("run-1")).orphan
        await store.append("run-1", [ev.RunStatusSet(status=RunStatus.PAUSED)])
        assert not (await store.run("run-1")).orphan

    async def test_this_process_is_a_host_whether_it_drives_a_run_or_not(self, store: ContextStore) -> None:
        assert await store.hosts() == [HostLine(host=store.host, here=True)]
        await store.create("run-1", started())
        await store.create("run-2", started())
        assert await store.hosts() == [HostLine(host=store.host, here=True, runs=("run-1", "run-2"))]
        await store.release("run-1", 1)
        assert await store.hosts() == [HostLine(host=store.host, here=True, runs=("run-2",))]


class SharedRunsContract(Contract):
    """Of all processes, one drives a run at a time, and each sees the others that are alive."""

    async def test_of_two_who_claim_at_once_one_succeeds(self, store: ContextStore, second_store: ContextStore) -> None:
        await store.create("run-1", started())
        await store.release("run-1", 1)
        outcomes = await asyncio.gather(store.claim("run-1"), second_store.claim("run-1"), return_exceptions=True)
        assert sorted(map(str, map(type, outcomes))) == sorted(map(str, [int, RunOwned]))

    async def test_releasing_a_run_of_another_does_nothing(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await second_store.release("run-1", 1)
        assert (await store.run("run-1")).owner == store.host
        await store.release("run-1", 1)
        await second_store.claim("run-1")
        await store.release("run-1", 1)
        await second_store.release("run-1", 1)
        assert (await store.run("run-1")).owner == second_store.host

    async def test_closing_commits_pending_writes_and_releases_every_run(
        self, store: ContextStore, second_store: ContextStore
    ) -> None:
        await store.create("run-1", started())
        await store.create("run-2", started())
        call = store.append("run-1", pauses("last words"))
        await store.aclose()
        await store.aclose()
        (entry,) = await call
        assert (await second_store.read("run-1"))[-1] == entry
        for run_id in ("run-1", "run-2"):
            assert (await second_store.run(run_id)).owner is None
            assert await second_store.claim(run_id) == 2

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
