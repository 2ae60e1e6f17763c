"""The work orders of a run and the state of each, as ``work_order.json`` and the run document have them."""

from typing import Any

from pydantic import ConfigDict, Field

from leadhand.core.lifecycle import StepStatus
from leadhand.core.state import OrderState, RunState
from leadhand.core.value import Json, Value, unset

from .event_line import Moment


class Document(Value):
    """The base of documents that are sent, printed or returned as JSON."""

    model_config = ConfigDict(serialize_by_alias=True)

    def as_json(self) -> dict[str, Any]:
        """Return the document as JSON data."""
        return self.model_dump(mode="json")


class ResultCheck(Document):
    """A condition on the value at ``path`` (a JSON pointer) of a result."""

    path: str
    exists: bool | None = Field(default=None, exclude_if=unset)
    equals: Json = Field(default=None, exclude_if=unset)
    contains: str | None = Field(default=None, exclude_if=unset)
    at_least: float | None = Field(default=None, exclude_if=unset)
    at_most: float | None = Field(default=None, exclude_if=unset)


class OrderedSubtask(Document):
    """A subtask of a work order. Optional fields are left out when they are not set."""

    name: str
    args: dict[str, Json] = {}
    tool: str | None = None
    needs: tuple[str, ...] = Field(
        default=(), exclude_if=unset, description="Keys of the subtasks whose results it uses."
    )
    expected_output: str | dict[str, Json] | None = Field(
        default=None, exclude_if=unset, description="What the result has to be: a sentence, or a JSON schema."
    )
    checks: tuple[ResultCheck, ...] = Field(default=(), exclude_if=unset)
    worker: str | None = Field(default=None, exclude_if=unset, description="The name of a worker file.")
    repairs_subtask: str | None = Field(
        default=None, exclude_if=unset, description="The key of the subtask that it repairs."
    )


class IssuedOrder(Document):
    """A work order as it was issued. ``repairs`` names the order that a repair order repairs."""

    work_order_id: str
    goal: str
    subtasks: tuple[OrderedSubtask, ...]
    repairs: str | None = Field(default=None, exclude_if=unset)


class SubtaskProgress(Document):
    """The status of one subtask, and the ids of the context events that are its evidence."""

    name: str
    status: StepStatus
    event_ids: tuple[str, ...]


class WorkState(Document):
    """The state of one work order. ``subtask_state`` is keyed by the subtask's index in its order, a text in JSON."""

    work_order_id: str
    created_at: Moment
    subtask_state: dict[int, SubtaskProgress]
    completed: bool = Field(description="Whether every subtask completed.")


def work_order(order: OrderState) -> IssuedOrder:
    """A work order as it was issued."""
    return IssuedOrder.model_validate(order.order.model_dump())


def work_state(state: RunState, order: OrderState) -> WorkState:
    """The state of one work order."""
    subtasks = [state.steps[key] for key in order.order.subtask_keys()]
    return WorkState(
        work_order_id=order.order.work_order_id,
        created_at=order.at,
        subtask_state={
            each.position: SubtaskProgress(name=each.subtask.name, status=each.status, event_ids=each.event_ids)
            for each in subtasks
        },
        completed=all(each.status is StepStatus.COMPLETED for each in subtasks),
    )
