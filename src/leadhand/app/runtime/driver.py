"""Background tasks of a process that many runs come and go in, a server or a host: they drive runs, and resume them.

Paused runs, and runs left in a terminal, stay as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import ClassVar

from leadhand.app.runtime.listings import all_runs
from leadhand.app.runtime.membership import note_refusal
from leadhand.app.runtime.runtime import Runtime
from leadhand.core.approval import ApprovalStatus
from leadhand.core.decide import due
from leadhand.core.errors import Fenced, LeadhandError, RunOwned, StoreError, UnreadableRun
from leadhand.core.run import RunStatus
from leadhand.core.state import RunState
from leadhand.engine.controller import OnState
from leadhand.ports.runs import RunListing

LOGGER = logging.getLogger("leadhand")
EVERY_S = 1.0
LONGEST_REST_S = 300.0
"""The longest wait, in seconds, before driving a run again after errors. Waits double from 1 s."""


class Driver:
    """Drives runs of a runtime until they rest or end."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.driving: dict[str, asyncio.Task[RunState]] = {}
        """The runs that are driven here."""
        self._failed: dict[str, tuple[int, float]] = {}

    def drive(self, state: RunState, on_state: OnState | None = None) -> asyncio.Task[RunState]:
        """Drive a run that this process owns in the background until it rests or ends."""
        task = self.runtime.driving(state, on_state)
        self.driving[state.run_id] = task

        def ended(done: asyncio.Task[RunState]) -> None:
            if self.driving.get(state.run_id) is done:
                del self.driving[state.run_id]
            if done.cancelled():
                return
            error = done.exception()
            if error is None:
                self._failed.pop(state.run_id, None)
            elif isinstance(error, Fenced):
                LOGGER.info("another process has taken over run %s", state.run_id)
            else:
                LOGGER.error("run %s is no longer driven here: %s", state.run_id, error, exc_info=error)
                times = self._failed.get(state.run_id, (0, 0.0))[0]
                rest = min(2.0**times, LONGEST_REST_S)
                self._failed[state.run_id] = (times + 1, asyncio.get_running_loop().time() + rest)

        task.add_done_callback(ended)
        return task

    def may_resume(self, run_id: str) -> bool:
        """Whether a run may be resumed automatically now, which is not the case right after an error."""
        return self._failed.get(run_id, (0, 0.0))[1] <= asyncio.get_running_loop().time()


class Periodic(ABC):
    """Looks for work every ``every_s`` seconds. Logs once that the database does not answer, until it answers again."""

    name: ClassVar[str]
    stopped: ClassVar[str]
    """What is not done while the database does not answer."""
    logger: ClassVar[logging.Logger]

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def look(self) -> None:
        """Do what there is to do. Raises StoreError."""

    def start(self) -> None:
        """Start the task."""
        self._task = asyncio.get_running_loop().create_task(self._look_on(), name=self.name)

    async def aclose(self) -> None:
        """Stop the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _look_on(self) -> None:
        failed = False
        while True:
            try:
                await self.look()
                failed = False
            except StoreError as error:
                if not failed:
                    self.logger.warning("%s while the database does not answer: %s", self.stopped, error.what)
                failed = True
            await asyncio.sleep(self._every_s)


class Resumer(Periodic):
    """Checks once a second, with one or two queries, regardless of the number of finished runs.

    A run that cannot be resumed is logged once and does not affect other runs.
    """

    name = "resumer"
    stopped = "runs are not resumed"
    logger = LOGGER

    def __init__(self, driver: Driver, *, every_s: float = EVERY_S) -> None:
        super().__init__(every_s)
        self._driver = driver
        self._runtime = driver.runtime
        self._resting: dict[str, tuple[int, datetime | None]] = {}
        self._refused: dict[str, int] = {}
        """Runs that cannot be resumed here, and the head of their log at that time: retried when the log grows."""
        self._warned: dict[str, str] = {}

    async def look(self) -> None:
        """Resume every run that should continue and that no process drives. Raises StoreError."""
        store = self._runtime.store
        for status in (RunStatus.QUEUED, RunStatus.RUNNING):
            async for listing in all_runs(store, status=status, detached=True):
                if listing.orphan and self._may_be_tried(listing):
                    await self._keep(listing, self._take_orphan)
        waiting = [listing async for listing in all_runs(store, status=RunStatus.WAITING, detached=True)]
        for listing in waiting:
            if listing.owner is None and self._may_be_tried(listing):
                await self._keep(listing, self._take_answered)
        self._resting = {each.run_id: self._resting[each.run_id] for each in waiting if each.run_id in self._resting}

    def _may_be_tried(self, listing: RunListing) -> bool:
        return self._refused.get(listing.run_id) != listing.head_seq and self._driver.may_resume(listing.run_id)

    async def _keep(self, listing: RunListing, go_on: Callable[[RunListing], Awaitable[None]]) -> None:
        run_id = listing.run_id
        try:
            await go_on(listing)
            self._warned.pop(run_id, None)
        except RunOwned:
            return  # another process was faster
        except LeadhandError as error:
            if not isinstance(error, StoreError) or isinstance(error, UnreadableRun):  # else it may be there again soon
                self._refused[run_id] = listing.head_seq
                with contextlib.suppress(StoreError):
                    await note_refusal(self._runtime.store, run_id, error.what)
            self._warn(run_id, f"cannot be resumed here: {error.what}. {error.how}")
        except Exception:
            self._refused[run_id] = listing.head_seq
            LOGGER.exception("run %s cannot be resumed", run_id)

    def _warn(self, run_id: str, what: str) -> None:
        if self._warned.get(run_id) != what:
            self._warned[run_id] = what
            LOGGER.warning("run %s %s", run_id, what)

    async def _take_orphan(self, listing: RunListing) -> None:
        if self._runtime.cluster is not None:  # the next process that is free gets it
            await self._runtime.cluster.hand_over(listing.run_id)
            return
        state = await self._runtime.take_over(listing.run_id)
        LOGGER.info("resuming run %s, whose process died", listing.run_id)
        self._driver.drive(state)

    async def _take_answered(self, listing: RunListing) -> None:
        """Resume a waiting run if its requests are answered or expired. Reads its log only if it has changed."""
        known = self._resting.get(listing.run_id)
        if known is not None and known[0] == listing.head_seq:
            if known[1] is None or known[1] > datetime.now(UTC):
                return
        else:
            state = await self._runtime.load(listing.run_id)
            if not due(state):
                pending = [each for each in state.approvals.values() if each.status is ApprovalStatus.PENDING]
                ends = [*(each.expires_at for each in pending), *state.unanswered.values()]
                first_end = min((each for each in ends if each is not None), default=None)
                self._resting[listing.run_id] = (listing.head_seq, first_end)
                return
        self._driver.drive(await self._runtime.take_over(listing.run_id))
