"""Drive runs in the background of a process that many runs come and go in: a server, or a host."""

from __future__ import annotations

import asyncio
import logging

from leadhand.app.runtime import Runtime
from leadhand.core.errors import Fenced
from leadhand.core.state import RunState
from leadhand.engine.controller import OnState

LOGGER = logging.getLogger("leadhand")
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
