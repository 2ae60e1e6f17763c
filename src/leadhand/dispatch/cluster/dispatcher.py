"""Carries attempts out in this process and, by jobs, in others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from leadhand.core.errors import LeadhandError, StaleAttempt, StoreError
from leadhand.core.events import AttemptParked, AttemptReturned, AttemptStarted, Entry, StepSettled
from leadhand.core.limits import CONCURRENCY
from leadhand.core.run import AttemptStatus, RunDefinition, RunStatus
from leadhand.core.state import RunState
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.session.host import Host
from leadhand.ports import Clock, Work
from leadhand.ports.hosts import HostLine
from leadhand.stores.postgres.job_queue import CARRY_OUT, Job
from leadhand.stores.sql_store import SqlContextStore

LOGGER = logging.getLogger("leadhand.dispatch")
LOOK_S = 1.0
"""Seconds between two looks at who could take attempts, and at what is offered and not taken."""
TAKE_BACK_S = 1.0
"""Seconds after which an attempt that nobody has taken starts here, if there is a free slot."""
LARGEST_JOB = 25
"""The most attempts in one job: each job costs some milliseconds of the database's time."""
JOBS_PER_HOST = 4
"""Jobs for each host into which attempts are divided, so that no host has many left when the others are done."""


class DrivenRun:
    """The attempts of a run that is driven here: those that wait, are offered, or are carried out elsewhere."""

    def __init__(self, run_id: str, definition: RunDefinition) -> None:
        self.run_id = run_id
        self.definition = definition
        self._tools = frozenset(tool.name for tool in definition.tools)
        self.waiting: dict[str, Work] = {}
        self.offered: dict[str, tuple[float, Work]] = {}
        """What was offered to others, and when."""
        self.elsewhere: set[str] = set()
        """What others carry out."""

    def forget(self, attempt: str) -> None:
        """Forget an attempt that is over, or begins here."""
        self.waiting.pop(attempt, None)
        self.offered.pop(attempt, None)
        self.elsewhere.discard(attempt)

    def others(self, hosts: Iterable[HostLine]) -> list[HostLine]:
        """Return those of the hosts that can take attempts: none if hooks or objects of its program are only here."""
        run = self.definition
        return [] if run.hooks or run.own_deps else [line for line in hosts if line.has(run.flow, self._tools)]

    def divided(self, here: int, others: int, free: int) -> tuple[list[Work], list[Work]]:
        """Return which of the attempts that wait to start here and which to offer, as many as may run at once.

        Every host gets the same number. This one, which has ``here``, gets at most ``free`` more; all of them if there
        are no ``others``.
        """
        mine, theirs, away = list[Work](), list[Work](), len(self.elsewhere) + len(self.offered)
        for work in islice(self.waiting.values(), max(0, self.definition.limits.max_workers - here - away)):
            is_mine = not others or (len(mine) < free and (here + len(mine)) * others <= away + len(theirs))
            (mine if is_mine else theirs).append(work)
        return mine, theirs

    def jobs(self, works: Sequence[Work], others: Sequence[HostLine]) -> Iterator[Job]:
        """Divide attempts into jobs for ``others``."""
        smallest = min((line.concurrency for line in others), default=1)
        parts = -(-len(works) // max(1, JOBS_PER_HOST * len(others)))
        size = max(1, min(parts, LARGEST_JOB, smallest))
        for start in range(0, len(works), size):
            few = tuple(work.attempt.attempt for work in works[start : start + size])
            yield Job(task=CARRY_OUT, run_id=self.run_id, attempts=few)


class ClusterDispatcher(LocalDispatcher):
    """Carries out attempts here, as its base class does, and offers some to the other hosts of the store."""

    check_s: float | None = 1.0

    def __init__(
        self,
        host: Host,
        clock: Clock,
        store: SqlContextStore,
        ended: Callable[[str, str], None],
        concurrency: int = CONCURRENCY,
    ) -> None:
        """``ended`` is called with the run and the attempt whenever one is no longer carried out here."""
        super().__init__(host, clock, concurrency)
        self._store = store
        self._on_end = ended
        self._concurrency = concurrency
        self._driven: dict[str, DrivenRun] = {}
        self._others: list[HostLine] = []
        self._doing: dict[str, None] = {}
        """The attempts that have a slot here and that the log does not say are over."""
        self._looking: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self.draining = False
        """Whether runs that are no longer driven here keep the attempts that have begun here."""

    def doing(self) -> list[str]:
        """Return the attempts that this process carries out, as ``run/attempt``. May be called in any thread."""
        return list(self._doing)

    # --- of runs that are driven here -----------------------------------------------------------------------------

    async def carried_out(self, state: RunState, *, taking_over: bool) -> Collection[str]:
        attempts = (state.steps[key].attempt for key in state.live)
        running = [each for each in attempts if each is not None and each.status is AttemptStatus.RUNNING]
        here = self._store.host
        hosts = {each.host for each in running if each.host is not None and each.host != here}
        living = await self._store.living(hosts) if hosts else set[str]()
        # A task ends before the end of its attempt is read, so what this process began is only doubted at first.
        doing = self._tasks.get(state.run_id, {})
        found = {
            each.attempt
            for each in running
            if each.host in living or (each.host == here and (not taking_over or each.attempt in doing))
        }
        if taking_over:
            run = self._driven[state.run_id] = DrivenRun(state.run_id, state.definition)
            run.elsewhere |= found.difference(doing)
            if self._looking is None:
                await self._list_hosts()
                self._looking = asyncio.get_running_loop().create_task(self._look_on(), name="dispatcher")
        return found

    def start(self, run_id: str, works: Sequence[Work]) -> None:
        run, loop = self._driven[run_id], asyncio.get_running_loop()
        for work in works:
            not_before = work.attempt.not_before
            left = (not_before - self._clock.now()).total_seconds() if not_before is not None else 0.0
            if left > 0:
                loop.call_later(left, self._wait, run, work)
            else:
                run.waiting[work.attempt.attempt] = work
        self._fill(run)

    def _wait(self, run: DrivenRun, work: Work) -> None:
        run.waiting[work.attempt.attempt] = work
        self._fill(run)

    def note(self, state: RunState, entries: Sequence[Entry]) -> None:
        run = self._driven[state.run_id]
        for entry in entries:
            event = entry.event
            if isinstance(event, AttemptStarted):
                run.forget(event.attempt)
                if event.host != self._store.host:
                    run.elsewhere.add(event.attempt)
            elif isinstance(event, AttemptReturned | AttemptParked | StepSettled):
                run.forget(event.attempt)
        self._fill(run)

    def withdraw(self, run_id: str, attempt: str) -> None:
        if run_id in self._driven:
            self._driven[run_id].forget(attempt)
        self._doing.pop(f"{run_id}/{attempt}", None)
        super().withdraw(run_id, attempt)

    def cancel(self, state: RunState) -> None:
        run_id = state.run_id
        self._driven.pop(run_id, None)
        self._broken.pop(run_id, None)
        if state.finished is not None or state.status is not RunStatus.RUNNING:
            self.stop(run_id)
            return
        for attempt, task in self._tasks.get(run_id, {}).items():
            if not self.draining or f"{run_id}/{attempt}" not in self._doing:
                task.cancel()

    def stop(self, run_id: str) -> None:
        """Stop the attempts of a run that is over or paused: nobody waits for them."""
        for attempt in self._tasks.get(run_id, {}):
            self.withdraw(run_id, attempt)

    async def idle(self, within_s: float) -> None:
        """Wait until nothing is carried out here, or the time is up."""
        tasks = [task for tasks in self._tasks.values() for task in tasks.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)

    def _fill(self, run: DrivenRun) -> None:
        """Start here or offer what waits, if the run is still driven here."""
        if not run.waiting or self._driven.get(run.run_id) is not run:
            return
        others = run.others(self._others)
        mine, theirs = run.divided(len(self._tasks.get(run.run_id, ())), len(others), self._free)
        for work in mine:
            self._start_here(run, work)
        now = asyncio.get_running_loop().time()
        for work in theirs:
            run.offered[work.attempt.attempt] = now, run.waiting.pop(work.attempt.attempt)
        if theirs:
            self._in_background(self._offer(list(run.jobs(theirs, others))))

    def _start_here(self, run: DrivenRun, work: Work) -> None:
        run.forget(work.attempt.attempt)
        self._start(work)

    async def _offer(self, jobs: Sequence[Job]) -> None:
        try:
            await self._store.defer(jobs)
        except StoreError as error:  # what is offered to nobody starts here after a while
            LOGGER.warning("attempts cannot be offered to other hosts: %s", error.what)

    @property
    def _free(self) -> int:
        """How many attempts can begin here at once."""
        return self._concurrency - sum(map(len, self._tasks.values()))

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                if self._driven:
                    await self._list_hosts()
            except StoreError as error:
                LOGGER.debug("the hosts cannot be listed: %s", error.what)
            for run in self._driven.values():
                self._take_back(run)
                self._fill(run)

    async def _list_hosts(self) -> None:
        self._others = [line for line in await self._store.hosts() if line.takes_work and not line.here]

    def _take_back(self, run: DrivenRun) -> None:
        """Start here what was offered and not taken, the latest first, as far as slots are free."""
        others, before = run.others(self._others), asyncio.get_running_loop().time() - TAKE_BACK_S
        for at, work in reversed(list(run.offered.values())):
            if not others or (at < before and self._free > 0):
                self._start_here(run, work)

    # --- carrying out ---------------------------------------------------------------------------------------------

    async def wait_for_slot(self, run_id: str, run: RunDefinition) -> None:
        """Wait until attempts of a run could begin here: a host that did not would take more than its share."""
        async with self._slot(run_id, run):
            pass

    def accept(self, works: Iterable[Work]) -> None:
        """Carry out attempts of a run that is driven elsewhere; one may be given twice."""
        for work in works:
            self._start(work)

    async def take_offered(self, run_id: str, attempts: Collection[str]) -> bool:
        """Start those of the attempts that are still offered; return False if the run is driven elsewhere."""
        run = self._driven.get(run_id)
        if run is None:
            return False
        await self.wait_for_slot(run_id, run.definition)
        if self._driven.get(run_id) is run:
            for attempt in attempts:
                if attempt in run.offered:
                    self._start_here(run, run.offered[attempt][1])
        return True

    def is_busy_with(self, run_id: str) -> bool:
        """Whether attempts of a run are carried out here."""
        return run_id in self._tasks

    async def _with_slot(self, work: Work) -> None:
        key = f"{work.run_id}/{work.attempt.attempt}"
        self._doing[key] = None
        # A start that is being recorded is not interrupted: whether this process has the attempt must be known.
        beginning = self._in_background(self._host.begin(work))
        try:
            try:
                await asyncio.shield(beginning)
            except StaleAttempt:
                return  # another process has it, or it is over
            await self._host.finish(work)
        except asyncio.CancelledError:
            self._in_background(self._stopped(work, beginning, is_over=key not in self._doing))
            raise

    async def _stopped(self, work: Work, beginning: asyncio.Task[None], *, is_over: bool) -> None:
        """Give back an attempt that has begun here, unless the log says that it is over."""
        with contextlib.suppress(LeadhandError):  # it has not begun here
            await beginning
            if not is_over:
                self._host.give_back(work)

    def _ended(self, run_id: str, attempt: str, task: asyncio.Task[None]) -> None:
        self._doing.pop(f"{run_id}/{attempt}", None)
        self._on_end(run_id, attempt)
        super()._ended(run_id, attempt, task)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def aclose(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        await super().aclose()
        await asyncio.gather(*self._background, return_exceptions=True)
