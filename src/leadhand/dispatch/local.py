"""Carries attempts out in this process: as many at once as their run and the process allow, and no more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from leadhand.core.events import Entry
from leadhand.core.limits import CONCURRENCY
from leadhand.core.run import RunDefinition
from leadhand.core.state import RunState
from leadhand.engine.calls.permits import Queue
from leadhand.engine.session.host import Host
from leadhand.ports import Clock, Work

LOGGER = logging.getLogger("leadhand.dispatch")


class LocalDispatcher:
    """A dispatcher that is this very process. Every attempt takes one of ``concurrency`` slots."""

    def __init__(self, host: Host, clock: Clock, concurrency: int = CONCURRENCY) -> None:
        self._host = host
        self._clock = clock
        self._tasks: dict[str, dict[str, asyncio.Task[None]]] = {}
        """The tasks of the attempts that are carried out here or wait for a slot, by run and attempt."""
        self._slots = Queue(concurrency)
        self._broken: dict[str, asyncio.Future[None]] = {}

    check_s: float | None = None

    def note(self, state: RunState, entries: Sequence[Entry]) -> None:
        pass

    def doing(self) -> Sequence[str]:
        return ()

    async def carried_out(self, state: RunState, *, taking_over: bool) -> Collection[str]:
        return ()

    def start(self, run_id: str, works: Sequence[Work]) -> None:
        for work in works:
            self._start(work)

    def _start(self, work: Work) -> None:
        attempt = work.attempt.attempt
        if attempt in self._tasks.get(work.run_id, ()):
            return  # its job came twice, or came before this process began to drive the run
        task = asyncio.get_running_loop().create_task(self._carry_out(work), name=attempt)
        self._tasks.setdefault(work.run_id, {})[attempt] = task
        task.add_done_callback(partial(self._ended, work.run_id, attempt))

    def _ended(self, run_id: str, attempt: str, task: asyncio.Task[None]) -> None:
        tasks = self._tasks[run_id]
        del tasks[attempt]
        if not tasks:
            del self._tasks[run_id]
        if task.cancelled() or (error := task.exception()) is None:
            return
        broken = self._broken.get(run_id)
        if broken is None:
            LOGGER.warning("%s of run %s cannot be recorded: %s", attempt, run_id, error)
        elif not broken.done():
            broken.set_exception(error)
            broken.exception()  # retrieved, since the driver of the run may already have failed with the same error

    def broken(self, run_id: str) -> asyncio.Future[None]:
        if run_id not in self._broken or self._broken[run_id].done():
            self._broken[run_id] = asyncio.get_running_loop().create_future()
        return self._broken[run_id]

    async def _carry_out(self, work: Work) -> None:
        not_before = work.attempt.not_before
        if not_before is not None:
            await self._clock.sleep((not_before - self._clock.now()).total_seconds())
        async with self._host.place(work), self._slot(work.run_id, work.definition):
            await self._with_slot(work)

    def _slot(self, run_id: str, run: RunDefinition) -> AbstractAsyncContextManager[None]:
        return self._slots.slot(run_id, run.limits.max_workers)

    async def _with_slot(self, work: Work) -> None:
        await self._host.carry_out(work)

    def cancel(self, state: RunState) -> None:
        self._broken.pop(state.run_id, None)
        for task in self._tasks.get(state.run_id, {}).values():
            task.cancel()

    def withdraw(self, run_id: str, attempt: str) -> None:
        task = self._tasks.get(run_id, {}).get(attempt)
        if task is not None and not task.cancelling():  # a second time would interrupt what it does to end
            task.cancel()

    async def aclose(self) -> None:
        tasks = [task for tasks in self._tasks.values() for task in tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._host.aclose()
