"""``work_order.json``: the orders and states of a run in a file, for people and scripts. Leadhand never reads it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from pathlib import Path

from pydantic_core import to_json

from leadhand.core.state import RunState
from leadhand.ports.work_state import WorkState

LOGGER = logging.getLogger("leadhand")
INTERVAL_S = 0.2
"""Minimum seconds between two writes of the file, except for the final state."""
SHARE = 0.02
"""The share of the time that is spent on writing the file of a large order, at most."""


class WorkOrderFile:
    """Keeps ``<folder>/<run_id>/work_order.json`` up to date with the committed state of one run.

    If it cannot be written (a full disk), one warning is logged and the run continues: the log has everything.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self._path = folder / run_id / "work_order.json"
        self._latest: RunState | None = None
        self._written = -1
        self._task: asyncio.Task[None] | None = None
        self._writing = threading.Lock()
        self._failed = False

    def note(self, state: RunState) -> None:
        """Accept a committed state; it is written soon."""
        self._latest = state
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._soon())

    async def _soon(self) -> None:
        while self._latest is not None and self._latest.seq != self._written:
            began = time.monotonic()
            await asyncio.to_thread(self._write, self._latest)
            await asyncio.sleep(max(INTERVAL_S, (time.monotonic() - began) / SHARE))

    async def aclose(self) -> None:
        """Write the last state, if it is not written yet."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._latest is not None and self._latest.seq != self._written:
            self._write(self._latest)

    def _write(self, state: RunState) -> None:
        document = {
            "run_id": state.run_id,
            "status": state.status.value,
            "last_seq": state.seq,
            "work_orders": [each.order for each in state.orders.values()],
            "work_states": [WorkState.of(state, order) for order in state.orders.values()],
        }
        with self._writing:  # the last write may begin while an earlier one is still on its thread
            if state.seq <= self._written:
                return
            try:
                self._replace(to_json(document, indent=1))
            except OSError as error:
                if not self._failed:
                    LOGGER.warning("cannot write %s: %s; the run continues without it", self._path, error.strerror)
                self._failed = True
            self._written = state.seq

    def _replace(self, content: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".json.tmp")
        try:
            draft.write_bytes(content)
            os.replace(draft, self._path)
        except OSError:
            draft.unlink(missing_ok=True)  # half a file is of no use
            raise
