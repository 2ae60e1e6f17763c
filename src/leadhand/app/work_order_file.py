"""``work_order.json``: the orders and states of a run in a file, for people and scripts. Leadhand never reads it."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from pathlib import Path

from pydantic_core import to_json

from leadhand.core.state import RunState
from leadhand.ports.work_state import WorkState

LOGGER = logging.getLogger("leadhand")


class WorkOrderFile:
    """Writes ``<folder>/<run_id>/work_order.json`` when an order is issued and when it ends.

    If it cannot be written (a full disk), one warning is logged and the run continues: the log has everything.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        self._path = folder / run_id / "work_order.json"
        self._written: tuple[int, int] = (0, 0)
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._failed = False

    def note(self, state: RunState) -> None:
        """Write the file soon if an order was issued or has ended since the last time."""
        known = len(state.orders), sum(not order.open for order in state.orders.values())
        if known != self._written:
            self._written = known
            self._task = asyncio.create_task(self.write(state))  # those before wait for their turn

    async def write(self, state: RunState) -> None:
        """Write the file after what is being written; a large order does not hold up other runs."""
        async with self._turn:
            await asyncio.to_thread(self._write, state)

    def _write(self, state: RunState) -> None:
        head = {"run_id": state.run_id, "status": state.status.value, "last_seq": state.seq}
        orders = [order.order for order in state.orders.values()]
        states = [WorkState.of(state, order) for order in state.orders.values()]
        draft = self._path.with_suffix(".json.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(to_json({**head, "work_orders": orders, "work_states": states}, indent=1))
            os.replace(draft, self._path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()  # half a file is of no use
            if not self._failed:
                LOGGER.warning("cannot write %s: %s; the run continues without it", self._path, error.strerror)
            self._failed = True
