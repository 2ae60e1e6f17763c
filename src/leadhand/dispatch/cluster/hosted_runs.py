"""Runs that other processes drive and that have attempts here: their logs are followed, and say what to do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection

from leadhand.core.errors import FlowError, LeadhandError
from leadhand.core.events import Entry, StepSettled
from leadhand.core.evolve import fold
from leadhand.core.ids import split_attempt, step_of
from leadhand.core.relations import ended_by
from leadhand.core.run import AttemptStatus, RunStatus
from leadhand.core.state import RunState
from leadhand.core.value import Json
from leadhand.engine.work import work_of
from leadhand.flows.seam.run import FunctionRun
from leadhand.ports import ContextStore

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
        own = self._dispatcher.take_offered(run_id, attempts)
        if own is not None:
            await asyncio.gather(*own)
            return
        run = await self._run(run_id)
        await asyncio.gather(*[taken for attempt in attempts if (taken := await run.start(attempt)) is not None])

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
        self._news = asyncio.Condition()
        self._closed = closed
        self._following = asyncio.get_running_loop().create_task(self._follow(), name=state.run_id)

    async def start(self, attempt: str) -> asyncio.Future[None] | None:
        """Start an attempt, and return when it will have a slot; None if it must not start."""
        key = step_of(attempt)
        async with self._news:  # the job was committed with the attempt, which may not have been read yet
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait_for(lambda: self._knows(key, attempt)), KEPT_S)
        try:
            await self._advance()
        except KeyError:  # its data is gone: its driver says so
            return None
        step = self._state.steps.get(key)
        current = step.attempt if step is not None else None
        if current is None or current.attempt != attempt or current.status is not AttemptStatus.SCHEDULED:
            return None
        if not self._runs_on():
            return None
        try:
            work = work_of(self._state, self._policy, key)
        except FlowError:  # its driver gives the attempt up
            return None
        return self._dispatcher.accept(work)

    async def _advance(self) -> None:
        """Advance the flow, so that it has asked for every step of the state."""
        async with self._advancing:
            await self._policy.prepare(self._state, self._load)

    def _knows(self, key: str, attempt: str) -> bool:
        """Whether the state has an attempt, or a later one."""
        step = self._state.steps.get(key)
        if self._following.done() or not self._runs_on():
            return True
        if step is None or step.attempt is None:
            return False
        return step.attempt.number >= int(split_attempt(attempt)[1])

    def _runs_on(self) -> bool:
        return self._state.finished is None and self._state.status is RunStatus.RUNNING

    async def _follow(self) -> None:
        run_id = self._state.run_id
        reading: asyncio.Future[list[Entry]] | None = None
        try:
            async with contextlib.aclosing(self._store.follow(run_id, self._state.seq)) as batches:
                while True:
                    reading = reading or asyncio.ensure_future(anext(batches))
                    await asyncio.wait({reading}, timeout=KEPT_S)
                    if reading.done():
                        await self._take(reading.result())
                        reading = None
                    elif not self._dispatcher.is_busy_with(run_id):
                        reading.cancel()
                        await asyncio.gather(reading, return_exceptions=True)
                        return
        except LeadhandError as error:
            LOGGER.warning("run %s is no longer followed: %s", run_id, error)
            self._dispatcher.stop(run_id)
        finally:
            if reading is not None:
                reading.cancel()
            self._closed(run_id)
            async with self._news:
                self._news.notify_all()

    async def _take(self, entries: list[Entry]) -> None:
        before, run_id = self._state, self._state.run_id
        async with self._news:
            self._state = fold(before, entries)
            self._news.notify_all()
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
