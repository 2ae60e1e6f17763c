"""Runs that other processes drive and that have attempts here: their logs are followed, and say what to do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable

from leadhand.core.errors import FlowError, LeadhandError
from leadhand.core.events import Entry, StepSettled
from leadhand.core.evolve import fold
from leadhand.core.ids import step_of
from leadhand.core.relations import ended_by
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.core.value import Json
from leadhand.engine.batches import Batches
from leadhand.engine.work import work_of
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports import ContextStore, Work

from .dispatcher import ClusterDispatcher

LOGGER = logging.getLogger("leadhand.dispatch")
KEPT_S = 10.0
"""Seconds that a run without attempts here is followed, in case that there will be more."""

Load = Callable[[Json], Awaitable[Json]]
"""Loads large data of a run."""
OpenRun = Callable[[str], Awaitable[tuple[RunState, FunctionRun, Load]]]
"""Loads a run, and its policy. Raises LeadhandError if this process lacks something that the run needs."""


class HostedRuns:
    """Carries out attempts that the drivers of runs offer, and stops them when their runs no longer need them."""

    def __init__(
        self,
        store: ContextStore,
        dispatcher: ClusterDispatcher,
        open_run: OpenRun,
        forget: Callable[[str], None],
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._open_run = open_run
        self._forget = forget
        self._runs: dict[str, asyncio.Task[_HostedRun]] = {}

    async def carry_out(self, run_id: str, attempts: Collection[str]) -> None:
        """Start attempts, unless they have begun elsewhere or are over; returns once none waits for a slot.

        Raises LeadhandError for a run that this process cannot carry out.
        """
        taken = self._dispatcher.take_offered(run_id, attempts)
        if taken is None:
            run = await self._run(run_id)
            taken = [self._dispatcher.accept(work) for work in await run.works(attempts)]
            await self.follow(run_id)  # it may have been closed meanwhile, since it had no attempts here
        await asyncio.gather(*taken)

    async def follow(self, run_id: str) -> None:
        """Follow a run that has attempts here, so that they are stopped when it no longer needs them."""
        await self._run(run_id)

    async def _run(self, run_id: str) -> _HostedRun:
        if run_id not in self._runs:
            self._runs[run_id] = asyncio.ensure_future(self._opened(run_id))
        try:
            return await asyncio.shield(self._runs[run_id])
        except LeadhandError:
            self._runs.pop(run_id, None)
            raise

    async def _opened(self, run_id: str) -> _HostedRun:
        state, policy, load = await self._open_run(run_id)
        return _HostedRun(state, policy, load, self._store, self._dispatcher, self._closed)

    def _closed(self, run_id: str) -> None:
        self._runs.pop(run_id, None)
        self._forget(run_id)

    async def aclose(self) -> None:
        """Stop following runs."""
        runs = await asyncio.gather(*self._runs.values(), return_exceptions=True)
        for run in runs:
            if isinstance(run, _HostedRun):
                await run.aclose()


class _HostedRun:
    """One run: its state, kept up to date while it has attempts here."""

    def __init__(
        self,
        state: RunState,
        policy: FunctionRun,
        load: Load,
        store: ContextStore,
        dispatcher: ClusterDispatcher,
        closed: Callable[[str], None],
    ) -> None:
        self._state = state
        self._policy, self._load = policy, load
        self._advancing = asyncio.Lock()
        self._store = store
        self._dispatcher = dispatcher
        self._closed = closed
        self._following = asyncio.get_running_loop().create_task(self._follow(), name=state.run_id)

    async def works(self, attempts: Iterable[str]) -> list[Work]:
        """Return the work of those of the attempts that may start. Raises StoreError."""
        self._take(await self._store.read(self._state.run_id, self._state.seq))  # they may not have been read yet
        async with self._advancing:
            try:
                await self._policy.prepare(self._state, self._load)
            except KeyError:  # its data is gone: its driver says so
                return []
        return [work for attempt in attempts if (work := self._work(attempt)) is not None]

    def _work(self, attempt: str) -> Work | None:
        key = step_of(attempt)
        step = self._state.steps.get(key)
        current = step.attempt if step is not None else None
        if current is None or current.attempt != attempt or current.status is not AttemptStatus.SCHEDULED:
            return None
        try:
            return work_of(self._state, self._policy, key) if self._runs_on() else None
        except FlowError:  # its driver gives the attempt up
            return None

    def _runs_on(self) -> bool:
        return self._state.finished is None and self._state.status is RunStatus.RUNNING

    async def _follow(self) -> None:
        run_id = self._state.run_id
        batches = Batches(self._store.follow(run_id, self._state.seq))
        try:
            async with contextlib.aclosing(batches):
                while (entries := await batches.next(KEPT_S)) or self._dispatcher.is_busy_with(run_id):
                    self._take(entries)
        except LeadhandError as error:
            LOGGER.warning("run %s is no longer followed: %s", run_id, error)
            self._dispatcher.stop(run_id)
        finally:
            self._closed(run_id)

    def _take(self, entries: list[Entry]) -> None:
        before, run_id = self._state, self._state.run_id
        self._state = fold(before, entries)
        if not self._runs_on():
            self._dispatcher.stop(run_id)
            return
        for entry in entries:
            settled = (entry.event.attempt,) if isinstance(entry.event, StepSettled) else ()
            for attempt in (*settled, *ended_by(before, entry.event)):
                self._dispatcher.withdraw(run_id, attempt)

    async def aclose(self) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
