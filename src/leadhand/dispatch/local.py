"""Carries attempts out in this process: as many at once as their run and the process allow, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

from leadhand.core.events import AnyEvent, Entry
from leadhand.core.limits import CONCURRENCY
from leadhand.core.state import RunState
from leadhand.engine.attempts.host import Host
from leadhand.engine.calls.slots import Slots
from leadhand.ports import Clock, Job, Work


class LocalDispatcher:
    """A dispatcher that is this very process. Every attempt takes one of ``concurrency`` slots."""

    def __init__(self, host: Host, clock: Clock, concurrency: int = CONCURRENCY) -> None:
        self._host = host
        self._clock = clock
        self._tasks: dict[str, set[asyncio.Task[None]]] = {}
        self._slots = Slots(concurrency)
        self._broken: dict[str, asyncio.Future[None]] = {}

    check_s: float | None = None

    def jobs(self, state: RunState, events: Sequence[AnyEvent]) -> Sequence[Job]:
        return ()

    def note(self, state: RunState, entries: Sequence[Entry]) -> None:
        pass

    def doing(self) -> Sequence[str]:
        return ()

    async def carried_out(self, state: RunState, *, taking_over: bool) -> Collection[str]:
        return ()

    def start(self, work: Work) -> None:
        task = asyncio.get_running_loop().create_task(self._carry_out(work), name=work.attempt.attempt)
        self._tasks.setdefault(work.run_id, set()).add(task)
        task.add_done_callback(partial(self._note, work.run_id))

    def _note(self, run_id: str, task: asyncio.Task[None]) -> None:
        tasks = self._tasks[run_id]
        tasks.discard(task)
        if not tasks:
            del self._tasks[run_id]
        if task.cancelled() or (error := task.exception()) is None:
            return
        broken = self._broken.get(run_id)
        if broken is not None and not broken.done():
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
        async with self._host.place(work), self.slot(work):
            await self._host.carry_out(work)

    def slot(self, work: Work) -> AbstractAsyncContextManager[None]:
        """Return what holds a slot for an attempt."""
        definition = work.definition
        return self._slots.taken(work.run_id, definition.limits.max_workers, definition.priority)

    def cancel(self, run_id: str) -> None:
        self._broken.pop(run_id, None)
        for task in self._tasks.get(run_id, ()):
            task.cancel()

    def withdraw(self, run_id: str, attempt: str) -> None:
        for task in self._tasks.get(run_id, ()):
            if task.get_name() == attempt:
                task.cancel()

    async def aclose(self) -> None:
        tasks = [task for tasks in self._tasks.values() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._host.aclose()
