"""The documents of a run, as scripts, the console and people read them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic_core import to_json

from leadhand.app.telemetry.tracing import warn_once
from leadhand.core.events import Entry
from leadhand.core.run import StepStatus
from leadhand.core.state import OrderState, RunState
from leadhand.core.value import Moment, Value, iso


class SubtaskProgress(Value):
    """The status of one subtask, and the ids of the context events that are its evidence."""

    name: str
    status: StepStatus
    event_ids: tuple[str, ...]


class WorkState(Value):
    """The state of one work order. ``subtask_state`` is keyed by the subtask's index in its order, a text in JSON."""

    work_order_id: str
    created_at: Moment
    subtask_state: dict[int, SubtaskProgress]
    completed: bool

    @classmethod
    def of(cls, state: RunState, order: OrderState) -> WorkState:
        """Return the state of an order of a run."""
        steps = [state.steps[key] for key in order.order.subtask_keys]
        return cls(
            work_order_id=order.order.work_order_id,
            created_at=order.at,
            subtask_state={
                each.position: SubtaskProgress(name=each.subtask.name, status=each.status, event_ids=each.event_ids)
                for each in steps
            },
            completed=all(each.ok for each in steps),
        )


class Document(Value):
    """The base of documents that are sent, printed or returned as JSON."""

    model_config = ConfigDict(serialize_by_alias=True)

    def as_json(self) -> dict[str, Any]:
        """Return the document as JSON data."""
        return self.model_dump(mode="json")


def event_line(entry: Entry) -> dict[str, Any]:
    """Return an entry of the log as one object: ``seq``, ``at``, ``epoch``, ``type`` and the event's own fields."""
    body: dict[str, Any] = entry.event.model_dump(mode="json", by_alias=True)
    return {"seq": entry.seq, "at": iso(entry.at), "epoch": entry.epoch, "type": body.pop("type"), **body}


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
