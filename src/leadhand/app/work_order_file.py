"""``runs/ID/work_order.json``: the orders and states of a run, for people and scripts. Leadhand never reads it."""

import os
from contextlib import suppress
from pathlib import Path

from pydantic_core import to_json

from leadhand.app.tracing import warn_once
from leadhand.core.state import RunState
from leadhand.ports.work_state import WorkState


def write_work_order(home: Path, state: RunState) -> None:
    """Write the file of a run. If it cannot be written (a full disk), the run continues: the log has everything."""
    path = home / "runs" / state.run_id / "work_order.json"
    draft, orders = path.with_suffix(".json.tmp"), state.orders.values()
    head = {"run_id": state.run_id, "status": state.status.value, "last_seq": state.seq}
    parts = {"work_orders": [each.order for each in orders], "work_states": [WorkState.of(state, o) for o in orders]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(to_json({**head, **parts}, indent=1))
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()  # half a file is of no use
        warn_once(f"cannot write {path}: {error.strerror}; the run continues without it")
