"""A driver divides the attempts of a run between itself and the hosts that can take them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.machines import until
from leadhand.app.runtime.clock import SystemClock
from leadhand.core.errors import StaleAttempt
from leadhand.core.events import AttemptReturned, AttemptStarted, Entry
from leadhand.core.limits import Limits
from leadhand.core.run import ModelChoice, RunDefinition, RunStatus
from leadhand.dispatch.cluster import dispatcher as module
from leadhand.dispatch.cluster.dispatcher import ClusterDispatcher
from leadhand.ports import Work
from leadhand.ports.hosts import HostKind, HostLine
from leadhand.stores.postgres.job_queue import Job

RUN = RunDefinition(
    request="work", flow="pieces", workers=(), models=ModelChoice(default="m"), tools=(), limits=Limits(max_workers=100)
)


class Store:
    """Who is alive, and what was offered to them."""

    host = "here"

    def __init__(self, others: int) -> None:
        self.lines = [
            HostLine(host=f"host-{n}", here=False, kind=HostKind.HOST, concurrency=4, flows=("pieces",))
            for n in range(others)
        ]
        self.jobs: list[Job] = []

    async def hosts(self) -> list[HostLine]:
        return self.lines

    async def living(self, hosts: Any) -> set[str]:
        return set(hosts)

    async def defer(self, jobs: Sequence[Job]) -> None:
        self.jobs += jobs

    @property
    def offered(self) -> list[str]:
        return [attempt for job in self.jobs for attempt in job.attempts]


class Hand:
    """Carries out attempts until it is let go: ``began`` lists them, ``given_back`` those that it was stopped in."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.given_back: list[str] = []
        self.recorded, self.go = asyncio.Event(), asyncio.Event()
        self.recorded.set()
        self.taken: set[str] = set()

    def place(self, _work: Work) -> Any:
        return contextlib.nullcontext()

    async def begin(self, work: Work) -> None:
        await self.recorded.wait()
        if work.attempt.attempt in self.taken:
            raise StaleAttempt("another process has it")
        self.began.append(work.attempt.attempt)

    async def finish(self, work: Work) -> None:
        await self.go.wait()

    def give_back(self, work: Work) -> None:
        self.given_back.append(work.attempt.attempt)

    async def aclose(self) -> None:
        pass


def state_of(definition: RunDefinition = RUN, status: RunStatus = RunStatus.RUNNING) -> Any:
    return SimpleNamespace(run_id="run", definition=definition, live=(), steps={}, status=status, finished=None)


def works(count: int, definition: RunDefinition = RUN, later_s: float = 0.0) -> list[Work]:
    not_before = SystemClock().now() + timedelta(seconds=later_s) if later_s else None
    attempts = [SimpleNamespace(attempt=f"s{n}/a1", not_before=not_before) for n in range(count)]
    return [cast("Work", SimpleNamespace(run_id="run", attempt=each, definition=definition)) for each in attempts]


class Site:
    def __init__(self, others: int) -> None:
        self.store, self.hand = Store(others), Hand()
        host, store = cast("Any", self.hand), cast("Any", self.store)
        self.dispatcher = ClusterDispatcher(host, SystemClock(), store, lambda *_: None, concurrency=10)

    async def drive(self, given: Sequence[Work], definition: RunDefinition = RUN) -> None:
        await self.dispatcher.carried_out(state_of(definition), taking_over=True)
        self.dispatcher.start("run", given)
        await asyncio.sleep(0.01)

    def note(self, *events: Any) -> None:
        at = SystemClock().now()
        self.dispatcher.note(state_of(), [Entry(seq=n, at=at, epoch=1, event=each) for n, each in enumerate(events)])


@pytest.fixture
async def site(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    monkeypatch.setattr(module, "LOOK_S", 0.02)
    monkeypatch.setattr(module, "TAKE_BACK_S", 0.3)
    site = Site(request.param)
    yield site
    await site.dispatcher.aclose()


@pytest.mark.parametrize("site", [1], indirect=True)
async def test_a_driver_keeps_its_share_and_starts_the_rest_if_nobody_takes_it(site: Site) -> None:
    await site.drive(works(8))
    assert (len(site.hand.began), len(site.store.offered)) == (4, 4)
    site.note(AttemptStarted(attempt=site.store.offered[0], host="host-0"))
    await until(lambda: len(site.hand.began) == 7)
    assert site.store.offered[0] not in site.hand.began
    site.hand.go.set()
    await until(lambda: not site.dispatcher.doing())


@pytest.mark.parametrize("site", [1], indirect=True)
async def test_no_more_is_offered_than_may_run_at_once(site: Site) -> None:
    few = RUN.evolve(limits=Limits(max_workers=6))
    await site.drive(works(20, few), few)
    assert len(site.hand.began) + len(site.store.offered) == 6
    ended = site.store.offered[0]
    site.note(AttemptStarted(attempt=ended, host="host-0"))
    site.note(AttemptReturned(attempt=ended))
    await asyncio.sleep(0.01)
    assert len({*site.hand.began, *site.store.offered}) == 7


@pytest.mark.parametrize("site", [2], indirect=True)
async def test_a_run_stays_on_the_process_that_has_its_hooks(site: Site) -> None:
    hooked = RUN.evolve(hooks=("mine",))
    await site.drive(works(20, hooked), hooked)
    assert (len(site.hand.began), site.store.jobs) == (10, [])
    site.hand.go.set()
    await until(lambda: len(site.hand.began) == 20)


@pytest.mark.parametrize("site", [0], indirect=True)
async def test_without_other_hosts_nothing_goes_through_the_queue(site: Site) -> None:
    await site.drive(works(20))
    assert (len(site.hand.began), site.store.jobs) == (10, [])


@pytest.mark.parametrize("site", [1], indirect=True)
async def test_an_attempt_that_has_to_wait_is_shared_when_it_is_due(site: Site) -> None:
    await site.drive(works(8, later_s=0.2))
    assert site.hand.began == site.store.offered == []
    await until(lambda: len({*site.hand.began, *site.store.offered}) == 8)
    assert len(site.store.offered) >= 2


@pytest.mark.parametrize("site", [1], indirect=True)
async def test_a_job_that_comes_twice_or_late_starts_nothing_twice(site: Site) -> None:
    site.hand.taken.add("s0/a1")
    site.dispatcher.accept([*works(2), *works(2)])
    await until(lambda: site.hand.began == ["s1/a1"] and site.dispatcher.doing() == ["run/s1/a1"])
    assert await site.dispatcher.take_offered("run", ["s1/a1"]) is False, "it is driven elsewhere"


@pytest.mark.parametrize("site", [0], indirect=True)
async def test_a_process_that_begins_to_drive_a_run_keeps_what_it_was_about_to_begin_for_another(site: Site) -> None:
    site.hand.recorded.clear()
    site.dispatcher.accept(works(1))
    await asyncio.sleep(0.01)
    await site.drive(works(1))  # the start of the attempt has not been read
    site.hand.recorded.set()
    await until(lambda: site.hand.began == ["s0/a1"])
    assert site.dispatcher.doing() == ["run/s0/a1"]
    site.dispatcher.withdraw("run", "s0/a1")
    await until(lambda: not site.dispatcher._tasks)


@pytest.mark.parametrize("site", [0], indirect=True)
@pytest.mark.parametrize("is_over", [False, True])
async def test_an_attempt_that_is_stopped_while_its_start_is_recorded_is_given_back(site: Site, is_over: bool) -> None:
    site.hand.recorded.clear()
    await site.drive(works(1))
    if is_over:
        site.dispatcher.withdraw("run", "s0/a1")  # the log says so
    else:
        site.dispatcher.cancel(state_of())
    await asyncio.sleep(0.01)
    site.hand.recorded.set()
    await until(lambda: site.hand.began == ["s0/a1"] and not site.dispatcher._background)
    assert site.hand.given_back == ([] if is_over else ["s0/a1"])


@pytest.mark.parametrize("site", [1], indirect=True)
@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.PAUSED])
async def test_nothing_is_kept_of_a_run_that_is_no_longer_driven(site: Site, status: RunStatus) -> None:
    site.dispatcher.broken("run")
    await site.drive([*works(8), *works(9, later_s=0.05)[8:]])
    begun = list(site.hand.began)
    site.dispatcher.cancel(state_of(status=status))
    await until(lambda: not site.dispatcher._tasks)
    await asyncio.sleep(0.1)
    kept = site.dispatcher
    assert not any((kept._driven, kept._tasks, kept._broken, kept._doing, kept._background))
    assert site.hand.given_back == (begun if status is RunStatus.RUNNING else [])
