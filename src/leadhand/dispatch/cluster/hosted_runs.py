"""Runs that other processes drive and that have attempts here: their logs are followed, and say what to do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from leadhand.core.errors import FlowError, LeadhandError
from leadhand.core.events import Entry, StepSettled
from leadhand.core.evolve import fold
from leadhand.core.ids import step_of
from leadhand.core.relations import ended_by
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.core.value import Json
from leadhand.engine.loading import Batches
from leadhand.engine.work import work_of
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports import ContextStore, Work

from .dispatcher import ClusterDispatcher

LOGGER = logging.getLogger("leadhand.dispatch")
KEPT_S = 10.0
"""Seconds that a run without attempts here is followed, in case that there will be more."""


@dataclass(eq=False)
class HostedRun:
    """A run that another process drives, as far as its log has been read here. ``load`` loads its large data."""

    state: RunState
    policy: FunctionRun
    load: Callable[[Json], Awaitable[Json]]
    advancing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def runs_on(self) -> bool:
        """Whether attempts may start."""
        return self.state.finished is None and self.state.status is RunStatus.RUNNING

    def work(self, attempt: str) -> Work | None:
        """Return the work of an attempt; None if it must not start."""
        key = step_of(attempt)
        step = self.state.steps.get(key)
        current = step.attempt if step is not None else None
        if current is None or current.attempt != attempt or current.status is not AttemptStatus.SCHEDULED:
            return None
        try:
            return work_of(self.state, self.policy, key) if self.runs_on else None
        except FlowError:  # its driver gives the attempt up
            return None


OpenRun = Callable[[str], Awaitable[HostedRun]]
"""Loads a run. Raises LeadhandError if this process lacks something that the run needs."""


class HostedRuns:
    """Carries out attempts that the drivers of runs offer, and stops them when their runs no longer need them."""

    def __init__(
        self, store: ContextStore, dispatcher: ClusterDispatcher, open_run: OpenRun, forget: Callable[[str], None]
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._open_run = open_run
        self._forget = forget
        self._runs: dict[str, asyncio.Task[HostedRun]] = {}
        self._following: set[asyncio.Task[None]] = set()

    async def carry_out(self, run_id: str, attempts: Collection[str]) -> None:
        """Start attempts once there is a slot, unless they have begun elsewhere or are over.

        Raises LeadhandError for a run that this process cannot carry out.
        """
        if not await self._dispatcher.take_offered(run_id, attempts):
            run = await self.follow(run_id)
            await self._dispatcher.wait_for_slot(run_id, run.state.definition)
            self._take(run, await self._store.read(run_id, run.state.seq))  # what is due may not have been read yet
            async with run.advancing:
                try:
                    await run.policy.prepare(run.state, run.load)
                except KeyError:  # its data is gone: its driver says so
                    return
            self._dispatcher.accept(work for each in attempts if (work := run.work(each)) is not None)
            await self.follow(run_id)  # while it had no attempts here, it may have been closed

    async def follow(self, run_id: str) -> HostedRun:
        """Follow a run that has attempts here, so that they are stopped when it no longer needs them."""
        if run_id not in self._runs:
            self._runs[run_id] = asyncio.ensure_future(self._opened(run_id))
        try:
            return await asyncio.shield(self._runs[run_id])
        except LeadhandError:
            self._runs.pop(run_id, None)
            raise

    async def _opened(self, run_id: str) -> HostedRun:
        run = await self._open_run(run_id)
        following = asyncio.get_running_loop().create_task(self._follow(run), name=run_id)
        self._following.add(following)
        following.add_done_callback(self._following.discard)
        return run

    async def _follow(self, run: HostedRun) -> None:
        run_id = run.state.run_id
        try:
            async with contextlib.aclosing(Batches(self._store.follow(run_id, run.state.seq))) as batches:
                while (entries := await batches.next(KEPT_S)) or self._dispatcher.is_busy_with(run_id):
                    self._take(run, entries)
        except LeadhandError as error:
            LOGGER.warning("run %s is no longer followed: %s", run_id, error)
            self._dispatcher.stop(run_id)
        finally:
            self._runs.pop(run_id, None)
            self._forget(run_id)

    def _take(self, run: HostedRun, entries: list[Entry]) -> None:
        before, run_id = run.state, run.state.run_id
        run.state = fold(before, entries)
        if not run.runs_on:
            self._dispatcher.stop(run_id)
            return
        for entry in entries:
            settled = (entry.event.attempt,) if isinstance(entry.event, StepSettled) else ()
            for attempt in (*settled, *ended_by(before, entry.event)):
                self._dispatcher.withdraw(run_id, attempt)

    async def aclose(self) -> None:
        """Stop following runs."""
        await asyncio.gather(*self._runs.values(), return_exceptions=True)
        for following in self._following:
            following.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
