"""Carries attempts out in this process and, by jobs, in others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any

from leadhand.core.errors import LeadhandError, StaleAttempt, StoreError
from leadhand.core.events import (
    AnyEvent,
    AttemptParked,
    AttemptReturned,
    AttemptScheduled,
    AttemptStarted,
    Entry,
    StepSettled,
)
from leadhand.core.limits import CONCURRENCY
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.dispatch.local import LocalDispatcher
from leadhand.engine.attempts.host import Host
from leadhand.ports import Clock, DatabaseStore, Job, Work
from leadhand.ports.hosts import HostLine

from .sharing import DrivenRun, jobs_of

LOGGER = logging.getLogger("leadhand.dispatch")
LOOK_S = 0.25
"""Seconds between two looks at what is offered and not taken."""
HOSTS_EVERY = 4
"""Looks after which the hosts are listed again."""
TAKE_BACK_S = 1.5
"""Seconds after which an attempt that nobody has taken starts here, if there is a free slot."""
ENDED = (AttemptReturned, AttemptParked, StepSettled)


class ClusterDispatcher(LocalDispatcher):
    """Carries out attempts here, as its base class does, and offers some to the other hosts of the store."""

    check_s: float | None = 1.0

    def __init__(
        self,
        host: Host,
        clock: Clock,
        store: DatabaseStore,
        ended: Callable[[str, str], None],
        concurrency: int = CONCURRENCY,
    ) -> None:
        """``ended`` is called with the run and the attempt whenever one is no longer carried out here."""
        super().__init__(host, clock, concurrency)
        self._store = store
        self._ended = ended
        self._concurrency = concurrency
        self._driven: dict[str, DrivenRun] = {}
        self._others: list[HostLine] = []
        self._doing: dict[str, Work] = {}
        self._withdrawn: set[str] = set()
        """Attempts that are cancelled because the log says that they are over."""
        self._accepted: dict[str, asyncio.Future[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._filling: set[str] = set()
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
        doing = {task.get_name() for task in self._tasks.get(state.run_id, ())}
        found = {
            each.attempt
            for each in running
            if each.host in living or (each.host == here and (not taking_over or each.attempt in doing))
        }
        if taking_over:
            run = self._run(state)
            for attempt in found:
                run.began(attempt, here=attempt in doing)
            await self._look_on()
        return found

    def jobs(self, state: RunState, events: Sequence[AnyEvent]) -> Sequence[Job]:
        run = self._run(state)
        others = self._others_for(run)
        if not others:
            return ()
        over = {each.attempt for each in events if isinstance(each, ENDED)}
        scheduled = [each for each in events if isinstance(each, AttemptScheduled) and each.attempt not in over]
        due = [*run.waiting, *(each.attempt for each in scheduled if each.not_before is None)]
        _, offered = run.divided(due, len(others), self._free)
        now = asyncio.get_running_loop().time()
        for attempt in offered:
            run.offered[attempt] = now, run.waiting.pop(attempt, None)
        return list(jobs_of(run, offered, others))

    def start(self, work: Work) -> None:
        run = self._driven.get(work.run_id)
        if run is None:
            raise RuntimeError(f"run {work.run_id} is not driven here")
        attempt, not_before = work.attempt.attempt, work.attempt.not_before
        offered = run.offered.get(attempt)
        if offered is not None:
            run.offered[attempt] = offered[0], work
            return
        if not_before is not None and (left := (not_before - self._clock.now()).total_seconds()) > 0:
            self._in_background(self._later(work, left))
            return
        run.waiting[attempt] = work
        self._fill_soon(run)

    async def _later(self, work: Work, seconds: float) -> None:
        await self._clock.sleep(seconds)
        run = self._driven.get(work.run_id)
        if run is not None:
            run.waiting[work.attempt.attempt] = work
            self._fill(run)

    def note(self, state: RunState, entries: Sequence[Entry]) -> None:
        run = self._run(state)
        for entry in entries:
            event = entry.event
            if isinstance(event, AttemptStarted):
                run.began(event.attempt, here=event.host == self._store.host)
            elif isinstance(event, ENDED):
                run.ended(event.attempt)
        run.rests = state.finished is not None or state.status is not RunStatus.RUNNING
        if run.waiting:
            self._fill_soon(run)

    def withdraw(self, run_id: str, attempt: str) -> None:
        run = self._driven.get(run_id)
        if run is not None:
            run.ended(attempt)
        self._over(run_id, attempt)
        super().withdraw(run_id, attempt)

    def cancel(self, run_id: str) -> None:
        self._broken.pop(run_id, None)
        run = self._driven.pop(run_id, None)
        if run is None or run.rests:
            self.stop(run_id)
        for task in self._tasks.get(run_id, ()):
            if not self.draining or f"{run_id}/{task.get_name()}" not in self._doing:
                task.cancel()

    async def idle(self, within_s: float) -> None:
        """Wait until nothing is carried out here, or the time is up."""
        tasks = [task for tasks in self._tasks.values() for task in tasks]
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)

    def stop(self, run_id: str) -> None:
        """Stop the attempts of a run that is over or paused: nobody waits for them."""
        for task in self._tasks.get(run_id, ()):
            self._over(run_id, task.get_name())
        super().cancel(run_id)

    def _over(self, run_id: str, attempt: str) -> None:
        if any(task.get_name() == attempt for task in self._tasks.get(run_id, ())):
            self._withdrawn.add(f"{run_id}/{attempt}")

    def _run(self, state: RunState) -> DrivenRun:
        run = self._driven.get(state.run_id)
        if run is None:
            run = self._driven[state.run_id] = DrivenRun(state.run_id, state.definition)
        return run

    def _fill_soon(self, run: DrivenRun) -> None:
        """Divide what waits once everything that was committed together is known."""
        if run.run_id not in self._filling:
            self._filling.add(run.run_id)
            asyncio.get_running_loop().call_soon(self._fill_now, run.run_id)

    def _fill_now(self, run_id: str) -> None:
        self._filling.discard(run_id)
        if (run := self._driven.get(run_id)) is not None:
            self._fill(run)

    def _fill(self, run: DrivenRun) -> None:
        mine, theirs = run.divided(list(run.waiting), len(self._others_for(run)), self._free)
        for attempt in mine:
            self._start_here(run, attempt, run.waiting[attempt])
        now = asyncio.get_running_loop().time()
        for attempt in theirs:
            run.offered[attempt] = now, run.waiting.pop(attempt)
        self._offer(run, theirs)

    def _start_here(self, run: DrivenRun, attempt: str, work: Work) -> None:
        run.began(attempt, here=True)
        super().start(work)

    def _offer(self, run: DrivenRun, attempts: Sequence[str]) -> None:
        jobs = list(jobs_of(run, attempts, self._others_for(run)))
        if jobs:
            self._in_background(self._defer(jobs))

    async def _defer(self, jobs: Sequence[Job]) -> None:
        try:
            await self._store.defer(jobs)
        except StoreError as error:  # what is offered to nobody starts here after a while
            LOGGER.warning("attempts cannot be offered to other hosts: %s", error.what)

    @property
    def _free(self) -> int:
        """How many attempts can begin here at once."""
        return self._concurrency - sum(map(len, self._tasks.values()))

    def _others_for(self, run: DrivenRun) -> list[HostLine]:
        """Return the other hosts that take work, and have the flow and the tools of a run."""
        if run.alone:
            return []
        return [line for line in self._others if line.has(run.flow, run.tools)]

    # --- looking at what is offered, and at who could take it -----------------------------------------------------

    async def _look_on(self) -> None:
        if self._looking is None:
            await self._list_hosts()
            self._looking = asyncio.get_running_loop().create_task(self._look_again(), name="dispatcher")

    async def _look_again(self) -> None:
        looks = 0
        while True:
            await asyncio.sleep(LOOK_S)
            looks += 1
            try:
                if self._driven and looks % HOSTS_EVERY == 0:
                    await self._list_hosts()
                self._take_back()
            except StoreError as error:
                LOGGER.debug("the hosts cannot be listed: %s", error.what)

    async def _list_hosts(self) -> None:
        before = {line.host for line in self._others}
        hosts = await self._store.hosts()
        self._others = [line for line in hosts if line.takes_work and not line.here]
        died = before - {line.host for line in self._others}
        for run in sorted(self._driven.values(), key=lambda run: -run.priority):
            if died and self._others_for(run):
                self._offer(run, list(run.offered))  # the dead host may have had them
            if run.waiting:
                self._fill(run)

    def _take_back(self) -> None:
        """Start here what was offered and not taken, the latest first, as far as slots are free."""
        now = asyncio.get_running_loop().time()
        for run in sorted(self._driven.values(), key=lambda run: -run.priority):
            others = self._others_for(run)
            for attempt, (at, work) in reversed(list(run.offered.items())):
                if work is not None and (not others or (at < now - TAKE_BACK_S and self._free > 0)):
                    self._start_here(run, attempt, work)

    # --- carrying out ---------------------------------------------------------------------------------------------

    def accept(self, work: Work) -> asyncio.Future[None]:
        """Carry out an attempt that another process offers; the result is there once it waits for no slot."""
        key, taken = _key(work), asyncio.get_running_loop().create_future()
        if key in self._accepted or key in self._doing:
            taken.set_result(None)  # delivered twice
            return taken
        self._accepted[key] = taken
        super().start(work)
        return taken

    def is_busy_with(self, run_id: str) -> bool:
        """Whether attempts of a run are carried out here."""
        return bool(self._tasks.get(run_id))

    def take_offered(self, run_id: str, attempts: Collection[str]) -> list[asyncio.Future[None]] | None:
        """Start those of the attempts that are still offered, as :meth:`accept` does; None if others drive the run.

        The results matter: a driver that did not wait for its slots would take all that it offers to others.
        """
        run = self._driven.get(run_id)
        if run is None:
            return None
        taken: list[asyncio.Future[None]] = []
        for attempt in attempts:
            _, work = run.offered.get(attempt, (0.0, None))
            if work is not None:
                run.began(attempt, here=True)
                taken.append(self.accept(work))
        return taken

    async def _carry_out(self, work: Work) -> None:
        key = _key(work)
        if work.definition.concurrency.steps:
            self._taken(key)  # it may wait for others, and the host has room for more
        try:
            async with self._host.place(work), self.slot(work):
                if not await self._begin(work):
                    return
                self._doing[key] = work
                self._taken(key)
                try:
                    await self._host.finish(work)
                except asyncio.CancelledError:
                    if key not in self._withdrawn:
                        self._host.give_back(work)
                    raise
        finally:
            self._taken(key)
            self._ended(work.run_id, work.attempt.attempt)
            self._doing.pop(key, None)
            self._withdrawn.discard(key)

    def _taken(self, key: str) -> None:
        taken = self._accepted.pop(key, None)
        if taken is not None and not taken.done():
            taken.set_result(None)

    async def _begin(self, work: Work) -> bool:
        """Record the start of an attempt, unless another process has it or it is over."""
        beginning = self._in_background(self._host.begin(work))
        try:
            await asyncio.shield(beginning)
        except StaleAttempt:
            return False
        except asyncio.CancelledError:
            self._in_background(self._stopped(work, beginning, withdrawn=_key(work) in self._withdrawn))
            raise
        return True

    async def _stopped(self, work: Work, beginning: asyncio.Task[None], *, withdrawn: bool) -> None:
        """Give back an attempt that was stopped while its start was recorded, unless the log says that it is over."""
        with contextlib.suppress(LeadhandError):
            await beginning
            if not withdrawn:
                self._host.give_back(work)

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


def _key(work: Work) -> str:
    return f"{work.run_id}/{work.attempt.attempt}"
