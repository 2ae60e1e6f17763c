"""The state of one work order, as ``work_order.json`` and the run document have it."""

from __future__ import annotations

from leadhand.core.run import StepStatus
from leadhand.core.state import OrderState, RunState
from leadhand.core.value import Moment, Value


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
